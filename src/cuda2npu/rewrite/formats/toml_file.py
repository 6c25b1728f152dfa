"""TOML: the standard parser says whether a text is valid and what it means, a scanner where strings stand."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence

from cuda2npu.rewrite.formats.comments import Comments
from cuda2npu.rewrite.formats.configuration import Format, UnreadableError, Value

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_TOKEN = re.compile(
    r"""(?P<blank>[ \t]+|\#[^\n]*)|(?P<newline>\r?\n)"""
    r'''|(?P<long>"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5})'''
    r"""|"(?P<basic>(?:\\.|[^"\\\n])*)"|'(?P<literal>[^'\n]*)'"""
    r"""|(?P<bare>[^\s=\[\]{},"'#.]+)|(?P<mark>.)""",
    re.S,
)


class Toml(Format):
    """A TOML document."""

    comments = Comments(behind="")

    def values(self, text: str) -> Iterator[Value]:
        _load(text)
        return _Scanner(text).values()

    def outline(self, text: str) -> Sequence[object]:
        out: list[object] = []
        _flatten(_load(text), out)
        return out


def _load(text: str) -> object:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UnreadableError(str(error)) from None


def _flatten(item: object, out: list[object]) -> None:
    if isinstance(item, dict):
        out.append(("table", len(item)))
        for key, value in item.items():
            out.append(key)
            _flatten(value, out)
    elif isinstance(item, list):
        out.append(("array", len(item)))
        for value in item:
            _flatten(value, out)
    else:
        out.append(item if isinstance(item, str) else repr(item))


class _Scanner:
    """Goes through the tokens of a text that is known to be valid."""

    def __init__(self, text: str) -> None:
        self.tokens = [match for match in _TOKEN.finditer(text) if not match["blank"]]
        self.at = 0
        self.tables = 0

    def values(self) -> Iterator[Value]:
        table: tuple[str, ...] = ()
        while self.at < len(self.tokens):
            if self._next("newline"):
                continue
            if self._mark("["):
                self._mark("[")
                table = tuple(name for name, _ in self._key())
                self._mark("]")
                self._mark("]")
                self.tables += 1
                continue
            yield from self._pair(table, self.tables)

    def _pair(self, table: tuple[str, ...], group: int) -> Iterator[Value]:
        parts = self._key()
        if not parts or not self._mark("="):
            self.at += 1  # can't be: the text is valid
            return
        keys = (*table, *(name for name, _ in parts))
        yield from self._value(keys, parts[-1][1], group)

    def _key(self) -> list[tuple[str, int]]:
        """Return the parts of a dotted key, and where each of them stands."""
        parts: list[tuple[str, int]] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            kind = token.lastgroup
            if kind in ("bare", "basic", "literal"):
                parts.append((token[kind], token.start(kind)))
            elif token[0] != ".":
                break
            self.at += 1
        return parts

    def _value(self, keys: tuple[str, ...], key_start: int, group: int) -> Iterator[Value]:
        if self._mark("["):
            while self.at < len(self.tokens) and not self._mark("]"):
                if not self._next("newline") and not self._mark(","):
                    yield from self._value(keys, -1, 0)
        elif self._mark("{"):
            self.tables += 1
            inside = self.tables
            while self.at < len(self.tokens) and not self._mark("}"):
                if not self._next("newline") and not self._mark(","):
                    yield from self._pair(keys, inside)
        else:
            yield from self._scalar(keys, key_start, group)

    def _scalar(self, keys: tuple[str, ...], key_start: int, group: int) -> Iterator[Value]:
        token = self.tokens[self.at]
        kind = token.lastgroup or ""
        self.at += 1
        if kind in ("basic", "literal"):
            if kind == "literal" or "\\" not in token[kind]:
                yield Value(keys, token[kind], token.start(kind), token.end(kind), key_start, group)
        elif kind == "bare":  # a number, a date, true; it may go on behind a dot
            while self.at < len(self.tokens) and (
                self.tokens[self.at][0] == "." or self.tokens[self.at].lastgroup == "bare"
            ):
                token = self.tokens[self.at]
                self.at += 1

    def _mark(self, mark: str) -> bool:
        found = self.at < len(self.tokens) and self.tokens[self.at]["mark"] == mark
        self.at += found
        return found

    def _next(self, kind: str) -> bool:
        found = self.at < len(self.tokens) and self.tokens[self.at].lastgroup == kind
        self.at += found
        return found
