"""Where in a JSON text its values stand, so that strings in it can be edited and nothing else changes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Union

_BLANK = re.compile(r"[ \t\n\r]*")
_ATOM = re.compile(r"[-+.\w]+")  # a number, true, false, null
# One character of a string: an escaped surrogate pair, another escape, or itself.
_UNIT = re.compile(r"\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|\\u\w{4}|\\.|[^\\]", re.S)


@dataclass(frozen=True)
class String:
    """A string: its value, and where it stands between its quotes."""

    value: str
    start: int
    end: int

    def offset(self, text: str, index: int) -> int:
        """Return where the character ``index`` of the value stands in ``text``."""
        at = self.start
        for _ in range(index):
            unit = _UNIT.match(text, at)
            at = unit.end() if unit else at
        return at


class Object(dict[str, "Node"]):
    """An object: its members, of which the last wins where a key stands twice, and all of them in order."""

    def __init__(self, pairs: Sequence[tuple[String, Node]]) -> None:
        super().__init__((key.value, value) for key, value in pairs)
        self.pairs = pairs


Node = Union[String, Sequence["Node"], Mapping[str, "Node"], None]


def parse(text: str) -> Node:
    """Return the values of a JSON text that is known to be valid; None stands for what is no string."""
    return _Parser(text).value(0)[0]


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text

    def skip(self, at: int) -> int:
        blank = _BLANK.match(self.text, at)
        return blank.end() if blank else at

    def value(self, at: int) -> tuple[Node, int]:
        """Return the value that begins at ``at`` or behind the blanks there, and where it ends."""
        at = self.skip(at)
        first = self.text[at]
        if first == '"':
            value, end = scanstring(self.text, at + 1, True)
            return String(value, at + 1, end - 1), end
        if first == "[":
            return self.array(at + 1)
        if first == "{":
            return self.object(at + 1)
        atom = _ATOM.match(self.text, at)
        return None, atom.end() if atom else at + 1

    def array(self, at: int) -> tuple[list[Node], int]:
        items: list[Node] = []
        at = self.skip(at)
        while self.text[at] != "]":
            item, at = self.value(at + 1 if self.text[at] == "," else at)
            items.append(item)
            at = self.skip(at)
        return items, at + 1

    def object(self, at: int) -> tuple[Object, int]:
        pairs: list[tuple[String, Node]] = []
        at = self.skip(at)
        while self.text[at] != "}":
            key, at = self.value(at + 1 if self.text[at] == "," else at)
            assert isinstance(key, String)
            value, at = self.value(self.skip(at) + 1)  # behind the colon
            pairs.append((key, value))
            at = self.skip(at)
        return Object(pairs), at + 1
