"""Text on a terminal or in a pipe: lines that are never broken, and paragraphs that are."""

from __future__ import annotations

from typing import TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text


class Page:
    """Prints on one stream, with colours if it is a terminal; nothing in a text is read as markup."""

    def __init__(self, file: TextIO) -> None:
        self._console = Console(file=file, highlight=False, markup=False, emoji=False)

    def line(self, text: str = "", style: str = "", indent: int = 0) -> None:
        """Print one line that is never broken, so that a path or code in it can be copied."""
        self._console.print(" " * indent + text, style=style, soft_wrap=True)

    def paragraph(self, text: str, indent: int = 0, label: str = "") -> None:
        """Print text that is broken between words; all of it is indented.

        :param label: stands before the first line, in the indentation.
        """
        for wrapped in Text(text).wrap(self._console, self._console.width - indent):
            self.line(set_cell_size(label, indent) + wrapped.plain.rstrip())
            label = ""


def pad(texts: list[str]) -> list[str]:
    """Return the texts, all as wide as the widest of them."""
    width = max(map(cell_len, texts), default=0)
    return [set_cell_size(text, width) for text in texts]
