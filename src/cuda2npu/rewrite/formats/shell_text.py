"""Reads a shell script in one pass, and tells its code from quotes, here-documents and comments."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from cuda2npu.rewrite.formats.text_file import blank

# What begins something else, or ends what is open; all between is passed over.
_SPECIAL = re.compile(r"[\\'\"`$(){}#<\n]")
_HERE = re.compile(
    r"<<(?P<tabs>-?)[ \t]*(?P<word>(?:\\[^\n]|'[^'\n]*'|\"[^\"\n]*\"|[^\s;&|<>()'\"\\`])+)", re.S
)
_ANSI = re.compile(r"\$'(?:\\.|[^'\\])*'", re.S)
_VALUE = re.compile(r"(?:\w=|--[\w-]+[= ])\Z")
_VALUE_WIDTH = 80  # characters before a quote in which the name of its option is looked for
_DIRECTIVE = re.compile(r"#(?:SBATCH|PBS|BSUB)\b")  # a comment for the shell, but not for the queue
_CODE = ("", "(", "$(", "`")  # in these contexts there are commands


class ShellText(NamedTuple):
    """Views of a script, each of its length and with its lines.

    :param code: its commands, with quoted words that are values of ``NAME=`` or ``--option``.
    :param expanded: all that the shell expands variables in: code, double quotes, and here-documents whose
        end isn't quoted.
    :param uncommented: all but comments.
    :param outside: the code that isn't in brackets or in a command substitution.
    """

    code: str
    expanded: str
    uncommented: str
    outside: str


def read(text: str) -> ShellText:
    """Read a script. One that ends inside of a quote or a document isn't understood: it has no code then."""
    reader = _Reader(text)
    if not reader.read():
        nothing = blank(text)
        return ShellText(nothing, nothing, text, nothing)
    return ShellText(*map("".join, (reader.code, reader.expanded, reader.uncommented, reader.outside)))


def documents(text: str) -> list[str]:
    """Return patterns for the lines that end the here-documents which a command without them asks for."""
    reader = _Reader(text)
    reader.read()
    return [_end_pattern(here) for here in reader.waiting]


def _end_pattern(here: _Here) -> str:
    tabs = r"\t*" if here.has_tabs else ""
    return rf"^{tabs}{re.escape(here.end)}\r?$"


class _Open(NamedTuple):
    """A quote, substitution or bracket that has begun: ``((`` is arithmetic, ``(n`` a bracket in it."""

    context: str
    start: int
    is_quoted: bool


class _Here(NamedTuple):
    """A here-document that begins on the next line."""

    end: str
    is_quoted: bool
    has_tabs: bool


@dataclass
class _Reader:
    text: str
    code: list[str] = field(init=False)
    expanded: list[str] = field(init=False)
    uncommented: list[str] = field(init=False)
    outside: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.code = list(self.text)
        self.expanded = list(self.text)
        self.uncommented = list(self.text)
        self.outside = list(self.text)
        self.open: list[_Open] = []
        self.waiting: list[_Here] = []

    @property
    def context(self) -> str:
        return self.open[-1].context if self.open else ""

    def read(self) -> bool:
        """Read it all; whether everything that begins has an end."""
        at = 0
        while at >= 0 and (match := _SPECIAL.search(self.text, at)) is not None:
            self._shade(at, match.start())
            at = self._step(match[0], match.start())
        if at >= 0:
            self._shade(at, len(self.text))
        return at >= 0 and not self.open and not self.waiting

    def _shade(self, start: int, end: int) -> None:
        """Blank out in the code what stands in double quotes, be it in ``${}`` there."""
        if start == end or not self.open:
            return
        self._hide(self.outside, start, end)
        if self._in_quotes():
            self._hide(self.code, start, end)

    def _in_quotes(self) -> bool:
        """Whether the innermost context, but for ``${}``, is a double quote."""
        return bool(self.open) and self.open[-1].is_quoted

    def _hide(self, view: list[str], start: int, end: int) -> None:
        view[start:end] = blank(self.text[start:end])

    def _step(self, character: str, at: int) -> int:
        """Deal with a special character; return where to go on, or -1 if the end of something is missing."""
        text, context = self.text, self.context
        if character == "\\":
            self._shade(at, at + 2)
            return min(at + 2, len(text))
        if character == "\n":
            return self._documents(at + 1) if self.waiting else at + 1
        if character == '"':
            return self._close_quote(at) if context == '"' else self._push('"', at, 1)
        if character == "$":
            return self._dollar(at)
        if character == "`":
            return self._pop(at, 1) if context == "`" else self._push("`", at, 1)
        if character == "}" and context == "${":
            return self._pop(at, 1)
        if self._in_quotes():
            self._shade(at, at + 1)
            return at + 1
        if character == "'":
            return self._single(at)
        if context in ("((", "(n"):
            return self._arithmetic(character, at, context)
        if context in _CODE and character == "(":
            return self._push("((", at, 2) if text.startswith("((", at) else self._push("(", at, 1)
        if character == ")" and context in ("(", "$("):
            return self._pop(at, 1)
        if context in _CODE and character == "#":
            return self._comment(at)
        if context in _CODE and character == "<":
            return self._here(at)
        return at + 1

    def _push(self, context: str, at: int, width: int) -> int:
        self._shade(at, at + width)
        is_quoted = context == '"' or (context == "${" and self._in_quotes())
        self.open.append(_Open(context, at, is_quoted))
        return at + width

    def _pop(self, at: int, width: int) -> int:
        self.open.pop()
        self._shade(at, at + width)
        return at + width

    def _dollar(self, at: int) -> int:
        text = self.text
        if text.startswith("$((", at):
            return self._push("((", at, 3)
        if text.startswith("$(", at):
            return self._push("$(", at, 2)
        if text.startswith("${", at):
            return self._push("${", at, 2)
        ansi = _ANSI.match(text, at) if not self._in_quotes() else None
        if ansi is not None:
            for view in (self.code, self.expanded, self.outside):
                self._hide(view, at, ansi.end())
            return ansi.end()
        self._shade(at, at + 1)
        return at + 1

    def _arithmetic(self, character: str, at: int, context: str) -> int:
        if character == "(":
            return self._push("(n", at, 1)
        if character == ")" and context == "(n":
            return self._pop(at, 1)
        return self._pop(at, 2) if self.text.startswith("))", at) else at + 1

    def _comment(self, at: int) -> int:
        before = self.text[at - 1] if at else "\n"
        if not before.isspace() and before not in ";&|()":
            return at + 1
        if before == "\n" and _DIRECTIVE.match(self.text, at):
            return at + 1
        end = self.text.find("\n", at)
        end = len(self.text) if end < 0 else end
        for view in (self.code, self.expanded, self.uncommented, self.outside):
            self._hide(view, at, end)
        return end

    # Quotes

    def _is_value(self, start: int, end: int) -> bool:
        """Whether a quoted word is a value: it is one line, or options that a variable holds."""
        if not _VALUE.search(self.text[max(0, start - _VALUE_WIDTH) : start]):
            return False
        value = self.text[start + 1 : end - 1]
        return "\n" not in value or value.lstrip(" \t\r\n\\").startswith("-")

    def _single(self, at: int) -> int:
        end = self.text.find("'", at + 1) + 1
        if not end:
            return -1
        if not self._is_value(at, end):
            self._hide(self.code, at, end)
        self._hide(self.expanded, at, end)
        self._hide(self.outside, at, end)
        return end

    def _close_quote(self, at: int) -> int:
        start = self.open.pop().start
        if self._is_value(start, at + 1) and not self._in_quotes():
            self.code[start : at + 1] = self.text[start : at + 1]
        else:
            self._hide(self.code, start, start + 1)
            self._hide(self.code, at, at + 1)
        return at + 1

    # Here-documents

    def _here(self, at: int) -> int:
        if self.text.startswith("<<<", at):
            return at + 3
        match = _HERE.match(self.text, at)
        if match is None:
            return at + 1
        word = match["word"]
        end = re.sub(r"\\(.)|['\"]", r"\1", word)
        self.waiting.append(_Here(end, end != word, bool(match["tabs"])))
        return match.end()

    def _documents(self, at: int) -> int:
        """Pass over the documents that begin here."""
        while self.waiting:
            here = self.waiting[0]
            end = re.compile(_end_pattern(here), re.M).search(self.text, at)
            if end is None:
                return -1
            stop = min(end.end() + 1, len(self.text))
            self._hide(self.code, at, stop)
            self._hide(self.outside, at, stop)
            if here.is_quoted:
                self._hide(self.expanded, at, stop)
            at = stop
            self.waiting.pop(0)
        return at
