"""Text on a terminal or in a pipe: lines that are never broken, and paragraphs that are."""

from __future__ import annotations

import re
from typing import TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console

_WIDE = r"[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]"
_OPENS, _CLOSES = r"[（《“【]", r"[，。；：、！？）》”】]"
# What stays together: blanks with the word behind them, or one wide character, with its marks.
_PIECE = re.compile(
    rf"\s*{_OPENS}*(?:{_WIDE}|(?:(?!{_WIDE}|{_OPENS}|{_CLOSES})\S)+){_CLOSES}*|\s*{_OPENS}+|\s*{_CLOSES}+|\s+"
)


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
        for wrapped in wrap(text, self._console.width - indent):
            self.line(set_cell_size(label, indent) + wrapped)
            label = ""


def wrap(text: str, width: int) -> list[str]:
    """Break a text into lines of at most ``width`` cells: at blanks, and beside any wide character.

    No line begins with a mark that ends something, or ends with one that begins something. What has no
    such place and is longer than a line, as a path, stands on a line of its own.
    """
    lines = []
    for part in text.splitlines() or [""]:
        line = ""
        for piece in _PIECE.findall(part):
            if line.strip() and cell_len(line + piece.rstrip()) > width:
                lines.append(line.rstrip())
                line = piece.lstrip()
            else:
                line += piece
        lines.append(line.rstrip())
    return lines


def pad(texts: list[str]) -> list[str]:
    """Return the texts, all as wide as the widest of them."""
    width = max(map(cell_len, texts), default=0)
    return [set_cell_size(text, width) for text in texts]
