"""How far a run is, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from typing import TypeVar

Item = TypeVar("Item")


def progress(items: Iterable[Item], total: int, what: str, quiet: bool) -> Generator[Item, None, None]:
    """Yield ``items``, and show on stderr how many of ``total`` are done, if that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    # Files are counted. A percentage would look like a share of the CUDA uses that were converted.
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield from bar.track(items, total, description=what)
