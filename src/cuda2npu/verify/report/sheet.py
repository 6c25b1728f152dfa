"""The rows as a sheet with msprobe's columns, for those who have scripts that read its sheets.

The columns are those of ``msprobe compare`` in its mode for real tensors, by name and in order (mstt,
``msprobe/core/common/const.py``, ``CompareConst.COMPARE_RESULT_HEADER_STACK``), then ``Data_name``, then
``Result``, which newer versions have in the place of ``Accuracy Reached or Not``, then two of our own.
NPU is the candidate, Bench the reference. What isn't known is empty. ``MaxRelativeErr`` is here that over
elements that aren't small for their type.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import Any

from cuda2npu.verify.comparison import Metrics, Row, Verdict
from cuda2npu.verify.records import Kind, Statistics

COLUMNS = (
    "NPU Name",
    "Bench Name",
    "NPU Dtype",
    "Bench Dtype",
    "NPU Tensor Shape",
    "Bench Tensor Shape",
    "NPU Requires_grad",
    "Bench Requires_grad",
    "Cosine",
    "EucDist",
    "MaxAbsErr",
    "MaxRelativeErr",
    "One Thousandth Err Ratio",
    "Five Thousandths Err Ratio",
    "NPU max",
    "NPU min",
    "NPU mean",
    "NPU l2norm",
    "Bench max",
    "Bench min",
    "Bench mean",
    "Bench l2norm",
    "Requires_grad Consistent",
    "Accuracy Reached or Not",
    "Err_message",
    "NPU_Stack_Info",
    "Data_name",
    "Result",
    "Step",
    "Rule",
)

_REACHED = {Verdict.PASS: "Yes", Verdict.WARN: "Yes", Verdict.FAIL: "No", Verdict.INCOMPARABLE: "Unmatched"}
_RESULT = {
    Verdict.PASS: "pass",
    Verdict.WARN: "Warning",
    Verdict.FAIL: "error",
    Verdict.INCOMPARABLE: "unmatched",
}
# The gradient of a module's output goes into its backward, that of its input comes out.
_PLACES = {
    Kind.INPUT: ("forward", "input"),
    Kind.OUTPUT: ("forward", "output"),
    Kind.OUTPUT_GRADIENT: ("backward", "input"),
    Kind.INPUT_GRADIENT: ("backward", "output"),
}
_ABSENT = "N/A"


def write_sheet(rows: Sequence[Row]) -> str:
    """Return the sheet as CSV."""
    sheet = io.StringIO()
    writer = csv.writer(sheet)
    writer.writerow(COLUMNS)
    roots = {row.key.name.split(".")[0] for row in rows if "." in row.key.name}
    for row in rows:
        cells = _cells(row, probe_name(row, only_root=len(roots) == 1))
        writer.writerow([_harmless(cells.get(column, "")) for column in COLUMNS])
    return sheet.getvalue()


def probe_name(row: Row, only_root: bool) -> str:
    """Return the name that msprobe gives a record, as ``Module.layer1.0.conv1.Conv2d.forward.0.input.0``.

    :param only_root: leave out the root's class, which msprobe's names don't have.
    """
    key = row.key
    if key.kind in (Kind.GRADIENT, Kind.PARAMETER, Kind.BUFFER):
        module, _, parameter = _without_root(key.name, only_root).rpartition(".")
        what = "parameters_grad" if key.kind is Kind.GRADIENT else f"forward.0.{key.kind.value}s"
        return _joined("Module", module, row.module, what, parameter)
    if key.kind not in _PLACES:
        return _joined(key.kind.value, key.name, key.call, key.path)
    direction, place = _PLACES[key.kind]
    module = _without_root(key.name, only_root)
    return _joined("Module", module, row.module, direction, key.call, place, key.path or 0)


def _without_root(name: str, only_root: bool) -> str:
    return name.split(".", 1)[1] if only_root and "." in name else name


def _joined(*parts: object) -> str:
    return ".".join(str(part) for part in parts if part != "")


def _cells(row: Row, name: str) -> dict[str, Any]:
    metrics = row.metrics or Metrics()
    cells: dict[str, Any] = {
        "Cosine": metrics.cosine,
        "EucDist": _distance(metrics),
        "MaxAbsErr": metrics.max_absolute,
        "MaxRelativeErr": metrics.max_relative,
        "One Thousandth Err Ratio": metrics.thousandth,
        "Five Thousandths Err Ratio": metrics.five_thousandths,
        "Accuracy Reached or Not": _REACHED[row.verdict],
        "Err_message": row.message,
        "NPU_Stack_Info": row.source,
        "Result": _RESULT[row.verdict],
        "Step": row.step,
        "Rule": row.rule,
    }
    for side, index in (("Bench", 0), ("NPU", 1)):
        there = bool(row.dtype[index]) or row.shape[index] is not None
        shape = row.shape[index]
        cells[f"{side} Name"] = name if there else _ABSENT
        cells[f"{side} Dtype"] = _dtype(row.dtype[index], shape) if there else _ABSENT
        cells[f"{side} Tensor Shape"] = list(shape or ()) if there else _ABSENT
        cells.update(_statistics(side, row.statistics[index]))
    return cells


def _dtype(name: str, shape: tuple[int, ...] | None) -> str:
    return f"<class '{name}'>" if shape is None else f"torch.{name}"


def _distance(metrics: Metrics) -> float | None:
    """Return the norm of the error."""
    return None if metrics.rms is None else metrics.rms * math.sqrt(metrics.elements)


def _statistics(side: str, statistics: Statistics | None) -> dict[str, Any]:
    if statistics is None:
        return {}
    return {
        f"{side} max": statistics.maximum,
        f"{side} min": statistics.minimum,
        f"{side} mean": statistics.mean,
        f"{side} l2norm": statistics.norm,
    }


def _harmless(cell: Any) -> Any:
    """Quote a text that a spreadsheet would take for a formula; numbers stay numbers."""
    if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")):
        return "'" + cell
    return cell
