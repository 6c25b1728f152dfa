"""A text in parts, and its two forms: lines on a terminal, and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Union

from rich.cells import cell_len

from cuda2npu.report.page import Page, pad

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")
_TICKS = re.compile(r"`+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True)
class Heading:
    """The title of what follows; level 1 is the whole text's."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Text that is broken between words."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows of short cells below a head; numbers stand to the right.

    :param code: whether the last cell of a row is a path or a piece of code.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str | int]]
    code: bool = False


@dataclass(frozen=True)
class Item:
    """One thing with its explanation and the places where it is found."""

    title: str
    texts: Sequence[str] = ()
    places: Sequence[str] = ()


@dataclass(frozen=True)
class Command:
    """A command to type, and what it is for."""

    command: str
    what: str


Block = Union[Heading, Paragraph, Table, Item, Command]


def print_text(blocks: Iterable[Block], page: Page) -> None:
    """Print the blocks; paths and code are never broken, so that they can be copied."""
    for number, block in enumerate(blocks):
        if isinstance(block, Heading):
            if number:
                page.line()
            page.line(visible(block.text), style="bold")
        elif isinstance(block, Paragraph):
            page.paragraph(visible(block.text))
        elif isinstance(block, Table):
            for line in _aligned(block):
                page.line(line, indent=2)
        elif isinstance(block, Command):
            page.line(block.command, indent=2, style="bold")
            page.paragraph(block.what, indent=6)
        else:
            page.paragraph(visible(block.title), indent=4, label="  - ")
            for line, is_code in _lines(block):
                if is_code:
                    page.line(line, indent=6)
                else:
                    page.paragraph(line, indent=6)
            for place in block.places:
                page.line(visible(place), indent=6)


def _lines(item: Item) -> Iterator[tuple[str, bool]]:
    """Yield the lines of the texts, and whether each is code: rules indent it by four."""
    for text in item.texts:
        for line in filter(str.strip, text.split("\n")):
            yield visible(line), line.startswith("    ")


def _aligned(table: Table) -> Iterator[str]:
    rows = [[visible(str(cell)) for cell in row] for row in (table.head, *table.rows)]
    columns = []
    for number, column in enumerate(zip(*rows)):
        cells = list(column)
        if table.rows and isinstance(table.rows[0][number], int):
            width = max(map(cell_len, cells))
            cells = [" " * (width - cell_len(cell)) + cell for cell in cells]
        columns.append(pad(cells))
    yield from ("  ".join(row).rstrip() for row in zip(*columns))


def markdown(blocks: Iterable[Block]) -> str:
    """Return the blocks as Markdown, as GitHub shows it; no name in them can break its form."""
    parts: list[str] = []
    before: Block | None = None
    for block in blocks:
        tight = isinstance(block, Item) and isinstance(before, Item)
        parts.append(("" if tight or before is None else "\n") + "\n".join(_markdown(block)) + "\n")
        before = block
    return "".join(parts)


def _markdown(block: Block) -> Iterator[str]:
    if isinstance(block, Heading):
        yield f"{'#' * block.level} {_escaped(block.text)}"
    elif isinstance(block, Paragraph):
        yield _escaped(block.text)
    elif isinstance(block, Table):
        numbers = [bool(block.rows) and isinstance(cell, int) for cell in block.rows[0]] if block.rows else []
        yield _row(map(_escaped, block.head))
        yield _row("---:" if number else "---" for number in numbers)
        for row in block.rows:
            cells = [_escaped(str(cell)) for cell in row]
            if block.code:
                cells[-1] = code(str(row[-1])).replace("|", "\\|")
            yield _row(cells)
    elif isinstance(block, Command):
        yield f"{_escaped(block.what)}\n\n```sh\n{visible(block.command)}\n```"
    else:
        yield f"- **{_escaped(block.title)}**"
        before = False
        for line, is_code in _lines(block):
            if is_code is not before:
                yield "\n  ```python" if is_code else "  ```"
            yield f"  {line[4:]}" if is_code else f"\n  {_escaped(line)}"
            before = is_code
        if before:
            yield "  ```"
        if block.places:
            yield ""
        for place in block.places:
            yield f"  - {code(place)}"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def visible(text: str) -> str:
    """Return ``text`` without what would break a line or steer a terminal: file names may hold anything."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def code(text: str) -> str:
    """Return ``text`` as code in Markdown: between more backticks than it holds in a row."""
    text = visible(text)
    ticks = "`" * (max((len(run) for run in _TICKS.findall(text)), default=0) + 1)
    blank = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{blank}{text}{blank}{ticks}"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", visible(text))
