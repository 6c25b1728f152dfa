"""JSON without comments."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from cuda2npu.rewrite.formats.comments import NONE
from cuda2npu.rewrite.formats.configuration import Format, UnreadableError, Value
from cuda2npu.rewrite.formats.json_spans import Node, Object, String, parse

# A string with so many blanks is a text for people, unless it looks like a command.
_BLANKS_IN_PROSE = 5
_TECHNICAL = re.compile(r"[=/\\{}<>|`_]|&&|\$[A-Za-z({]|(?<!\S)--?\w")


class Json(Format):
    """One JSON value. A list at the top is data, and no configuration."""

    comments = NONE

    def values(self, text: str) -> Iterator[Value]:
        _load(text)
        document = parse(text)
        if isinstance(document, Mapping):
            yield from _values(text, document, (), -1, 0, False)

    def records(self, text: str) -> Sequence[tuple[int, int]]:
        try:
            _load(text)
        except UnreadableError:
            return [(0, len(text))] if _is_lines(text) else []
        document = parse(text)
        return list(_prose(document)) if isinstance(document, Mapping) else [(0, len(text))]

    def outline(self, text: str) -> Sequence[object]:
        out: list[object] = []
        pending = [_load(text)]
        while pending:
            item = pending.pop()
            if isinstance(item, (list, tuple)):
                out.append((type(item).__name__, len(item)))
                pending.extend(reversed(item))
            else:
                out.append(item if isinstance(item, str) else repr(item))  # NaN isn't equal to itself
        return out


def _load(text: str) -> object:
    """Return the document, with a tuple of pairs for each object, so that no key is lost."""
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: tuple(pairs))
    except ValueError as error:
        raise UnreadableError(str(error)) from None


def _is_lines(text: str) -> bool:
    """Whether each line is a JSON object of its own: JSON Lines, the format of data sets."""
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        return len(lines) > 1 and all(isinstance(json.loads(line), dict) for line in lines)
    except ValueError:
        return False


def _prose(node: Node) -> Iterator[tuple[int, int]]:
    """Yield where the values are that are sentences."""
    if isinstance(node, String):
        if node.value.count(" ") >= _BLANKS_IN_PROSE and not _TECHNICAL.search(node.value):
            yield node.start, node.end
        return
    children = [value for _, value in node.pairs] if isinstance(node, Object) else node or ()
    for child in children:
        yield from _prose(child)


def _values(
    text: str, node: Node, keys: tuple[str, ...], key_start: int, group: int, twice: bool
) -> Iterator[Value]:
    if isinstance(node, String):
        if text[node.start : node.end] == node.value:  # no escapes
            yield Value(keys, node.value, node.start, node.end, key_start, group, twice)
    elif isinstance(node, Object):
        counts = Counter(key.value for key, _ in node.pairs)
        for key, value in node.pairs:
            start = key.start if text[key.start : key.end] == key.value else -1
            again = twice or counts[key.value] > 1
            yield from _values(text, value, (*keys, key.value), start, id(node), again)
    elif isinstance(node, Sequence):
        for item in node:
            yield from _values(text, item, keys, -1, 0, twice)
