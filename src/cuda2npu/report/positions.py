"""Offsets in a text as lines and columns, as Python's tokenizer counts them."""

from __future__ import annotations

import re
from bisect import bisect_right

# Not str.splitlines(): to Python, a form feed or U+2028 ends no line.
_NEWLINE = re.compile(r"\r\n|\r|\n")


class Positions:
    """Lines and columns of one text, both from 1, columns in characters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in _NEWLINE.finditer(text))]

    def start(self, offset: int) -> tuple[int, int]:
        """Return line and column of the character at ``offset``."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def end(self, start: int, end: int) -> tuple[int, int]:
        """Return the line of the last character of the span, and the column after it.

        A span that ends with a newline thus ends on the line that the newline ends. An empty span
        ends where it starts.
        """
        if start == end:
            return self.start(start)
        line, column = self.start(end - 1)
        return line, column + 1

    def line(self, number: int) -> str:
        """Return the text of a line, without white space around it."""
        starts = self._starts
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].strip()
