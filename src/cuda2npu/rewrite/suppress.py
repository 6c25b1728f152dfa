"""Comments by which a person switches rules off: ``# cuda2npu: ignore[NPU101]`` and ``skip-file``."""

from __future__ import annotations

import bisect
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_COMMENT = re.compile(r"#\s*cuda2npu:\s*(ignore|skip-file)\s*(?:\[([^\]\n]*)\])?")
_NO_CODE = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT})


class Suppression(NamedTuple):
    """One comment: where it stands, and the codes or prefixes of the rules that it is about; none: of all."""

    start: int
    end: int
    codes: tuple[str, ...]


class Suppressions:
    """The suppressing comments of one file.

    A comment behind code is about its own line; one that stands alone is about the next line of code.
    """

    def __init__(self, text: str) -> None:
        self.skip_file = False
        self._lines: dict[int, Suppression] = {}
        self.unused: list[Suppression] = []
        self._starts: Sequence[int] = ()
        if "cuda2npu:" not in text:
            return
        self._starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]
        waiting: Suppression | None = None
        for token in _tokens(text):
            if token.type not in _NO_CODE:
                if waiting is not None:
                    self._lines[token.start[0] - 1] = waiting
                    waiting = None
                continue
            match = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
            if match is None:
                continue
            if match[1] == "skip-file":
                self.skip_file = True
                continue
            codes = tuple(code.strip() for code in (match[2] or "").split(",") if code.strip())
            row, column = token.start
            start = self._starts[row - 1] + column
            suppression = Suppression(start, start + len(token.string), codes)
            self.unused.append(suppression)
            if token.line[:column].strip():
                self._lines[row - 1] = suppression
            else:
                waiting = suppression

    def covers(self, code: str, start: int) -> bool:
        """Whether the rule ``code`` is switched off at the character ``start``."""
        if not self._lines:
            return False
        found = self._lines.get(self._line(start))
        if found is None or (found.codes and not any(code.startswith(prefix) for prefix in found.codes)):
            return False
        if found in self.unused:
            self.unused.remove(found)
        return True

    def _line(self, offset: int) -> int:
        return bisect.bisect_right(self._starts, offset) - 1


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """The tokens, as far as the text can be cut into them: a file with a syntax error may be skipped, too."""
    try:
        yield from tokenize.generate_tokens(io.StringIO(text, newline="").readline)
    except (tokenize.TokenError, SyntaxError):
        return
