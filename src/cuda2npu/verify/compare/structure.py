"""Rules about what a record is: whether it is there, of what shape and type, and finite."""

from __future__ import annotations

from cuda2npu.verify.compare import thresholds
from cuda2npu.verify.compare.case import FAIL, INCOMPARABLE, PASS, WARN, Case, Ruling, gain, metrics_of, sides
from cuda2npu.verify.compare.flow import GRADIENTS
from cuda2npu.verify.comparison import Metrics
from cuda2npu.verify.records import Record


def unmatched(case: Case) -> Ruling | None:
    """Nothing follows from what only one side has."""
    if case.pair.reference is None or case.pair.candidate is None:
        side = "reference" if case.pair.reference is None else "candidate"
        return Ruling(INCOMPARABLE, "unmatched", f"not in the {side}")
    return None


def unknown(case: Case) -> Ruling | None:
    """Nothing follows from what could not be recorded."""
    for side, record in (("reference", case.pair.reference), ("candidate", case.pair.candidate)):
        if record is not None and record.note and _is_empty(record):
            return Ruling(INCOMPARABLE, "unknown", f"{side}: {record.dtype}: {record.note}")
    return None


def unmeasured(case: Case) -> Ruling | None:
    """Conclude nothing from a tensor of which a capture holds no numbers."""
    if case.metrics is None:
        return Ruling(INCOMPARABLE, "unknown", "a capture holds no numbers of this tensor")
    if not case.metrics.elements or case.whole:
        return None
    if case.metrics.norm_ratio is None and not _mismatched(case.metrics):
        return not_finite(case)
    return None


def not_finite(case: Case) -> Ruling:
    """Conclude nothing. Gradients overflow in both where a gradient scaler looks for its factor: warn."""
    verdict = WARN if case.pair.key.kind in GRADIENTS else INCOMPARABLE
    return Ruling(verdict, "nan", "no finite element in either")


def _mismatched(metrics: Metrics) -> bool:
    return bool(metrics.nan_mismatches or metrics.inf_mismatches)


def _is_empty(record: Record) -> bool:
    return (
        record.statistics is None
        and record.tensor is None
        and record.same_as is None
        and record.value is None
    )


def mode(case: Case) -> Ruling | None:
    """Accuse a module in another mode."""
    one, other = sides(case)
    if None in (one.training, other.training) or one.training == other.training:
        return None
    names = {True: "training", False: "eval"}
    found = names[bool(other.training)], names[bool(one.training)]
    return Ruling(FAIL, "mode", f"the module is in {found[0]} mode, in the reference in {found[1]} mode")


def shape(case: Case) -> Ruling | None:
    """Accuse another shape."""
    one, other = sides(case)
    if one.shape == other.shape:
        return None
    words = ["no tensor" if side.shape is None else str(list(side.shape)) for side in (other, one)]
    return Ruling(FAIL, "shape", f"shape {words[0]}, in the reference {words[1]}")


def dtype(case: Case) -> Ruling | None:
    """Accuse another type; a golden has one of its own."""
    reference, candidate = sides(case)
    expected, where = reference.dtype, "reference"
    if case.golden and case.pair.benchmark is not None:
        expected, where = case.pair.benchmark.dtype, "benchmark"
    elif case.golden and thresholds.tolerance(expected) and thresholds.tolerance(candidate.dtype):
        return None
    if {expected, candidate.dtype} == {"int", "float"} or expected == candidate.dtype:
        return None
    return Ruling(FAIL, "dtype", f"{candidate.dtype}, in the {where} {expected}")


def nan(case: Case) -> Ruling | None:
    """Accuse nan where the reference has none."""
    metrics = metrics_of(case)
    if metrics.nan_mismatches:
        benchmark = case.benchmark.nan_mismatches if case.benchmark else 0
        verdict = WARN if benchmark >= metrics.nan_mismatches else FAIL
        also = ", as in the benchmark" if verdict is WARN else ""
        return Ruling(
            verdict, "nan", f"nan in {metrics.nan_mismatches} places where the reference has none{also}"
        )
    return None


def overflow(case: Case) -> Ruling | None:
    """Accuse infinities that the other side lacks."""
    metrics = metrics_of(case)
    if metrics.inf_mismatches:
        benchmark = case.benchmark.inf_mismatches if case.benchmark else 0
        verdict = WARN if benchmark >= metrics.inf_mismatches else FAIL
        also = ", as in the benchmark" if verdict is WARN else ""
        return Ruling(verdict, "overflow", f"{metrics.inf_mismatches} places are infinite in one only{also}")
    return None


def exact(case: Case) -> Ruling | None:
    """Decide on what is equal, and on types that must be."""
    metrics = metrics_of(case)
    if case.equal:
        return Ruling(PASS, "exact", "equal")
    if not metrics.elements:
        return Ruling(PASS, "exact", "both are empty")
    if case.whole and metrics.max_absolute is None:
        return not_finite(case)
    if case.tolerance is not None and thresholds.tolerance(sides(case)[1].dtype):
        return None
    if not metrics.max_absolute and gain(metrics) == 0:
        return Ruling(PASS, "exact", "equal")
    return Ruling(
        FAIL, "exact", f"of type {sides(case)[1].dtype}, and not equal: by {metrics.max_absolute:.6g}"
    )
