"""Numbers by step, as the loss."""

from __future__ import annotations

from collections.abc import Sequence

from cuda2npu.verify.comparison import Curve, Row
from cuda2npu.verify.records import Key, Kind

_KINDS = (Kind.LOSS, Kind.LEARNING_RATE, Kind.METRIC)


def curves(rows: Sequence[Row]) -> list[Curve]:
    """Return the curves of both sides over the steps that were compared."""
    steps = sorted({row.step for row in rows})
    values: dict[Key, dict[int, tuple[float | None, float | None]]] = {}
    for row in rows:
        if row.key.kind in _KINDS:
            values.setdefault(row.key, {})[row.step] = (_number(row.value[0]), _number(row.value[1]))
    pairs = {key: [found.get(step, (None, None)) for step in steps] for key, found in values.items()}
    return [
        Curve(_name(key), [one for one, _ in found], [other for _, other in found])
        for key, found in pairs.items()
    ]


def _name(key: Key) -> str:
    parts = [key.kind.value.replace("_", " "), key.name, str(key.call) if key.call else ""]
    return " ".join(part for part in parts if part)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
