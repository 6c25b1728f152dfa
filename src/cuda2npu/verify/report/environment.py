"""The environments of the captures beside each other, with what differs marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cuda2npu.verify.comparison import Comparison, Side
from cuda2npu.verify.report.strict import strict


class Entry(NamedTuple):
    """One entry, with a cell for each side."""

    name: str
    values: list[str]
    differs: bool


def environment_table(comparison: Comparison) -> list[Entry]:
    """Return the entries of reference, candidate and benchmark, if there is one, by name."""
    sides = [comparison.reference, comparison.candidate, comparison.benchmark]
    flat = [_flat(side) for side in sides if side is not None]
    names = sorted({name for side in flat for name in side}, key=str.casefold)
    table = []
    for name in names:
        values = [side.get(name, "") for side in flat]
        table.append(Entry(name, values, len(set(values)) > 1))
    return table


def _flat(side: Side) -> dict[str, str]:
    return dict(_leaves("", side.environment))


def _leaves(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the leaves of nested mappings with dotted names."""
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _leaves(f"{prefix}.{name}" if prefix else str(name), inner)
    elif prefix:
        yield prefix, str(strict(value))
