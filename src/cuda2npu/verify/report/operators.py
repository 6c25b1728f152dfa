"""The operators of a side as the page shows them: those that the target lacks come first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cuda2npu.verify.comparison import Side

CLASSES = ("none", "cpu", "unknown", "composite", "kernel")  # the worst first


@dataclass(frozen=True)
class Operator:
    """A row of the table.

    :param kind: one of :data:`CLASSES`.
    :param note: what else is to be known of it on the target, in English and Chinese.
    :param dtypes: those of inputs and outputs.
    :param shapes: those of the inputs, one text for each call that differs.
    :param more_shapes: how many others there were.
    """

    name: str
    kind: str
    note: tuple[str, str]
    calls: int
    dtypes: list[str]
    shapes: list[str]
    more_shapes: int
    source: str


@dataclass(frozen=True)
class Place:
    """A line at which something happens that slows an NPU down."""

    what: str
    source: str
    count: int


@dataclass(frozen=True)
class OperatorTable:
    """Everything of the section.

    :param target: torch and chip for which the operators were classed; None if they weren't.
    :param places: ``transfers``, ``syncs`` and ``dynamic``, the most frequent first; on the CPU there are no
        transfers that could be seen.
    """

    target: tuple[str, str] | None
    counts: Mapping[str, int]
    rows: list[Operator]
    places: Mapping[str, list[Place]]


def operator_table(side: Side) -> OperatorTable | None:
    """Return the table of a side, None if its capture took no inventory.

    The inventory is that of :mod:`cuda2npu.verify.operators.inventory`; what ran beside the device that
    computed is left out. Once classed for a target it has ``target`` with ``torch`` and ``soc``, and each of
    its operators has a ``class`` and may have a ``note`` in English and Chinese.
    """
    found = side.inventory
    if not found:
        return None
    device = found.get("device")
    operators, syncs, dynamic = (
        [entry for entry in found.get(name, ()) if entry.get("device", device) == device]
        for name in ("operators", "syncs", "dynamic")
    )
    rows = sorted(map(_operator, operators), key=_worst_first)
    counts = Counter(row.kind for row in rows)
    target = found.get("target")
    places = {
        "transfers": _places(found.get("transfers", ()), "{from} → {to}"),
        "syncs": _places(syncs, "{operator}"),
        "dynamic": _places(dynamic, "{operator}"),
    }
    if device == "cpu":
        del places["transfers"]
    return OperatorTable(
        target=(str(target["torch"]), str(target["soc"])) if target else None,
        counts={name: counts[name] for name in CLASSES if counts[name]},
        rows=rows,
        places=places,
    )


def _operator(found: Mapping[str, Any]) -> Operator:
    overload = found.get("overload")
    kind = str(found.get("class", "unknown"))
    english, chinese = found.get("note") or ("", "")
    return Operator(
        name=f"{found['name']}.{overload}" if overload else str(found["name"]),
        kind=kind if kind in CLASSES else "unknown",
        note=(str(english), str(chinese)),
        calls=int(found.get("calls", 0)),
        dtypes=[str(name) for name in found.get("dtypes", ())],
        shapes=[_shapes(shapes) for shapes in found.get("shapes", ())],
        more_shapes=int(found.get("more_shapes", 0)),
        source=str(found.get("source", "")),
    )


def _shapes(shapes: Any) -> str:
    return ", ".join("×".join(map(str, shape)) if shape else "()" for shape in shapes) or "–"


def _worst_first(operator: Operator) -> tuple[int, int]:
    return CLASSES.index(operator.kind), -operator.calls


def _places(found: Any, what: str) -> list[Place]:
    """Return the places, with calls at the same one added up; of changing shapes their number."""
    counts: Counter[tuple[str, str]] = Counter()
    for entry in found:
        number = entry["calls"] if "calls" in entry else len(entry["shapes"]) + entry.get("more_shapes", 0)
        counts[what.format(**entry), str(entry.get("source", ""))] += number
    return [Place(*place, count=count) for place, count in counts.most_common()]
