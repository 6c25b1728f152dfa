"""Where a new statement goes: right after another one, in the same block, in the file's own style."""

from __future__ import annotations

import re
from typing import NamedTuple

import libcst as cst

from cuda2npu.rewrite.unit import Unit

_BLANK = re.compile(r"(?:[ \t\f]|\\(?:\r\n|\r|\n))*")  # behind a statement, with continued lines
_LINE_LENGTH = 100  # columns, as most formatters have it


class Place(NamedTuple):
    """An offset, and what must stand around a statement that is inserted there."""

    offset: int
    prefix: str
    suffix: str
    inline: bool
    break_line: str  # what parts two statements here: a line break with its indentation, or "; "

    def wrap(self, statement: str, comment: str = "") -> str:
        """Return the text to insert for ``statement``; ``comment`` is dropped inside a line."""
        return f"{self.prefix}{statement}{'' if self.inline else comment}{self.suffix}"


def place_after(unit: Unit, statement: cst.BaseSmallStatement) -> Place:
    """Return where a statement goes that has to run right after ``statement``.

    On a line of its own where ``statement`` ends its line; within the line (``a; b``) where more
    follows on it, or where the line is a whole suite (``try: import torch``).
    """
    line = unit.names.parents[statement]
    end = unit.spans.whole(statement).end
    alone = isinstance(line, cst.SimpleStatementLine) and line.body[-1] is statement
    if not alone:
        last = unit.spans[statement].end
        return Place(last, "; ", "", True, "; ")
    text = unit.text
    start_of_next = _line_end(text, end)
    newline = _newline(text, end, start_of_next) or _newline_before(text, end)
    indent = _indent(text, unit.spans[line].start)
    if start_of_next == len(text) and not text.endswith(("\n", "\r")):
        return Place(len(text), newline + indent, "", False, newline + indent)
    return Place(start_of_next, indent, newline, False, newline + indent)


def space_before_argument(unit: Unit, call: cst.Call, argument: str) -> str:
    """Return the white space for a new last argument: a line of its own where that is the call's style.

    So it is where the last argument has one, or where the line would grow too long; then the new one
    stands under the call's first argument.
    """
    text = unit.text
    first, last = unit.spans[call.args[0]].start, unit.spans[call.args[-1]]
    indent = _indent(text, last.start)
    newline = _newline_before(text, last.start)
    if _line_start(text, last.start) + len(indent) == last.start:
        return newline + indent
    if last.end - _line_start(text, last.end) + len(argument) <= _LINE_LENGTH:
        return " "
    indent = _indent(text, first)
    return newline + indent + " " * (first - _line_start(text, first) - len(indent))


def _line_start(text: str, offset: int) -> int:
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def _line_end(text: str, offset: int) -> int:
    """Return the offset behind the line break that ends the logical line of ``offset``."""
    blank = _BLANK.match(text, offset)
    offset = blank.end() if blank else offset
    ends = [end for end in (text.find("\n", offset), text.find("\r", offset)) if end >= 0]
    if not ends:
        return len(text)
    end = min(ends)
    return end + (2 if text.startswith("\r\n", end) else 1)


def _newline(text: str, offset: int, end: int) -> str:
    line = text[offset:end]
    for newline in ("\r\n", "\n", "\r"):
        if line.endswith(newline):
            return newline
    return ""


def _newline_before(text: str, offset: int) -> str:
    """Return the line break used before ``offset``, for a last line that has none itself."""
    before = text.rfind("\n", 0, offset)
    if before < 0:
        return "\n"
    return "\r\n" if text[before - 1 : before] == "\r" else "\n"


def _indent(text: str, offset: int) -> str:
    line = text[_line_start(text, offset) : offset]
    return line[: len(line) - len(line.lstrip())]
