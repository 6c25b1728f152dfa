"""What the page's script draws: records and curves, no larger than it must be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from cuda2npu.verify.comparison import Comparison, Metrics, Row, Verdict
from cuda2npu.verify.records import Statistics

DIGITS = 7  # of a number on the page; comparison.json holds them all
# What is compared line by line; quantiles and the worst element are shown apart.
METRICS = tuple(field.name for field in fields(Metrics) if field.name not in ("quantiles", "worst"))
_FAILED = {Verdict.FAIL}
_NOT_PASSED = set(Verdict) - {Verdict.PASS}
STATISTICS = tuple(field.name for field in fields(Statistics))


def page_data(comparison: Comparison) -> dict[str, Any]:
    """Return rows in the order of execution, curves, and which row is the first divergence."""
    return {
        "metrics": METRICS,
        "statistics": STATISTICS,
        "verdicts": [verdict.value for verdict in Verdict],
        "rows": [_row(row) for row in comparison.rows],
        "first": _first_row(comparison),
        "firstName": comparison.first.name if comparison.first else "",
        "curves": [_rounded(asdict(curve)) for curve in comparison.curves],
    }


def _first_row(comparison: Comparison) -> int | None:
    """Return the index of the row that shows the first divergence.

    It is the first row within the blamed module that failed: what a module computes in its own code shows
    at what it gives to the modules inside. Without such a row it is the first of the step that failed.
    """
    first = comparison.first
    if first is None:
        return None
    step = [(i, row) for i, row in enumerate(comparison.rows) if row.step == first.step]
    inside = [(i, row) for i, row in step if f"{row.key.name}.".startswith(f"{first.name}.")]
    for rows, verdicts in ((inside, _FAILED), (inside, _NOT_PASSED), (step, _FAILED), (inside, set(Verdict))):
        for index, row in rows:
            if row.verdict in verdicts:
                return index
    return None


def _row(row: Row) -> dict[str, Any]:
    """Return a row without what is empty."""
    found = {
        **asdict(row.key),
        "step": row.step,
        "verdict": row.verdict,
        "rule": row.rule,
        "message": row.message,
        "module": row.module,
        "source": row.source,
        "dtype": row.dtype if any(row.dtype) else None,
        "shape": None if row.shape == (None, None) else row.shape,
        "value": None if row.value == (None, None) else row.value,
        "metrics": _values(row.metrics, METRICS),
        "benchmark": _values(row.benchmark, METRICS),
        "quantiles": row.metrics.quantiles if row.metrics else None,
        "worst": asdict(row.metrics.worst) if row.metrics and row.metrics.worst else None,
        "noise": row.noise,
        "added": row.added,
        "statistics": [_values(side, STATISTICS) for side in row.statistics] if any(row.statistics) else None,
    }
    return {name: _rounded(value) for name, value in found.items() if value not in (None, "", ())}


def _values(of: Metrics | Statistics | None, names: tuple[str, ...]) -> list[Any] | None:
    return None if of is None else [getattr(of, name) for name in names]


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    return value
