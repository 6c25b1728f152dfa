"""The rules that decide about a record, in the order in which they are asked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Callable, NamedTuple, Optional

from cuda2npu.verify.compare import thresholds
from cuda2npu.verify.compare.flow import GRADIENTS, NONE, Error
from cuda2npu.verify.compare.matching import Pair
from cuda2npu.verify.compare.thresholds import Tolerance
from cuda2npu.verify.comparison import Metrics, Verdict
from cuda2npu.verify.records import Kind, Record

PASS, WARN, FAIL, INCOMPARABLE = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.INCOMPARABLE

_DEVICE = re.compile(r"(cuda|npu|cpu|privateuseone)(:\d+)?")  # the very thing that is converted


class Ruling(NamedTuple):
    """What a rule decided."""

    verdict: Verdict
    rule: str
    message: str = ""


@dataclass(frozen=True)
class Case:
    """All that the rules know about a pair.

    :param metrics: None where no numbers could be compared, as for None on both sides.
    :param whole: whether tensors were compared, not their statistics alone.
    :param spread: the largest absolute value of the reference, where only statistics were compared.
    :param tolerance: of the least precise floating type met so far in either capture.
    :param noise: how far two equal runs of the candidate are apart.
    :param before: the largest errors that could have come in.
    :param forward: the largest relative error of the forward pass.
    :param drift: relative error of the weights, from the steps before.
    :param largest: the largest root mean square of the step's gradients of this kind.
    :param depth: number of modules so far.
    :param failed: whether something in this step failed before.
    :param golden: whether the reference was cast to another type on purpose.
    """

    pair: Pair
    step: int
    metrics: Metrics | None = None
    benchmark: Metrics | None = None
    whole: bool = True
    spread: float = 0.0
    equal: bool = False
    tolerance: Tolerance | None = None
    noise: Metrics | None = None
    before: Error = NONE
    forward: float = 0.0
    drift: float = 0.0
    largest: float = 0.0
    depth: int = 1
    failed: bool = False
    golden: bool = False
    criterion: str = "table"

    @property
    def error(self) -> Error | None:
        """How far the candidate is off."""
        if self.metrics is None:
            return None
        return Error(_or(self.metrics.relative_norm, 0.0), gain(self.metrics))

    @property
    def slack(self) -> float:
        """How much more a tensor of few elements may scatter: 1 for large ones."""
        elements = self.metrics.elements if self.metrics else 0
        return math.sqrt(max(1.0, thresholds.SAMPLES / max(elements, 1)))


Rule = Callable[[Case], Optional[Ruling]]


def judge(case: Case) -> Ruling:
    """Return what the first rule that has something to say decides."""
    rules = STRUCTURE + (GUIDE if case.criterion == "guide" else TABLE)
    return next(
        filter(None, (rule(case) for rule in rules)), Ruling(INCOMPARABLE, "unknown", "nothing to compare")
    )


def gain(metrics: Metrics) -> float:
    """Return how far the scale is from 1.

    Rounding that is independent of the values lengthens a vector but leaves the projection on the reference
    as it was; rounding that turns a vector of fixed length shortens the projection but not the vector. An
    error of scale does both, so the smaller of the two distances tells them apart.
    """
    if metrics.norm_ratio is None:
        return 0.0
    if metrics.cosine is None:
        return abs(metrics.norm_ratio - 1)
    return min(abs(metrics.norm_ratio - 1), abs(metrics.norm_ratio * metrics.cosine - 1))


def _unmatched(case: Case) -> Ruling | None:
    if case.pair.reference is None or case.pair.candidate is None:
        side = "reference" if case.pair.reference is None else "candidate"
        return Ruling(INCOMPARABLE, "unmatched", f"not in the {side}")
    return None


def _unknown(case: Case) -> Ruling | None:
    for side, record in (("reference", case.pair.reference), ("candidate", case.pair.candidate)):
        if record is not None and record.note and _is_empty(record):
            return Ruling(INCOMPARABLE, "unknown", f"{side}: {record.dtype}: {record.note}")
    return None


def _unmeasured(case: Case) -> Ruling | None:
    """Conclude nothing from a tensor of which a capture holds no numbers."""
    if case.metrics is None:
        return Ruling(INCOMPARABLE, "unknown", "a capture holds no numbers of this tensor")
    if not case.metrics.elements or case.whole:
        return None
    if case.metrics.norm_ratio is None and not _mismatched(case.metrics):
        return _not_finite(case)
    return None


def _not_finite(case: Case) -> Ruling:
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


def _mode(case: Case) -> Ruling | None:
    one, other = _sides(case)
    if None in (one.training, other.training) or one.training == other.training:
        return None
    names = {True: "training", False: "eval"}
    found = names[bool(other.training)], names[bool(one.training)]
    return Ruling(FAIL, "mode", f"the module is in {found[0]} mode, in the reference in {found[1]} mode")


def _shape(case: Case) -> Ruling | None:
    one, other = _sides(case)
    if one.shape == other.shape:
        return None
    words = ["no tensor" if side.shape is None else str(list(side.shape)) for side in (other, one)]
    return Ruling(FAIL, "shape", f"shape {words[0]}, in the reference {words[1]}")


def _dtype(case: Case) -> Ruling | None:
    reference, candidate = _sides(case)
    expected, where = reference.dtype, "reference"
    if case.golden and case.pair.benchmark is not None:
        expected, where = case.pair.benchmark.dtype, "benchmark"
    elif case.golden and thresholds.tolerance(expected) and thresholds.tolerance(candidate.dtype):
        return None
    if {expected, candidate.dtype} == {"int", "float"} or expected == candidate.dtype:
        return None
    return Ruling(FAIL, "dtype", f"{candidate.dtype}, in the {where} {expected}")


def _plain(case: Case) -> Ruling | None:
    reference, candidate = _sides(case)
    one, other = reference.value, candidate.value
    if reference.shape is not None and (one is None or other is None):
        return None
    if case.pair.key.kind is Kind.RANDOM_STATE:
        same = one == other
        return Ruling(PASS if same else WARN, "random-state", "" if same else "the generators' states differ")
    if one == other or (_is_device(one) and _is_device(other)) or _is_of_golden(case):
        return Ruling(PASS, "exact", "equal")
    numbers = [float(each) for each in (one, other) if isinstance(each, (int, float))]
    if len(numbers) == 2 and float in (type(one), type(other)):
        return _number(case, *numbers)
    return Ruling(FAIL, "exact", f"{other!r}, in the reference {one!r}")


def _is_of_golden(case: Case) -> bool:
    """Whether a type that is handed on is another only because the golden was cast to it."""
    one, other = _sides(case)
    if not case.golden or {one.dtype, other.dtype} != {"torch.dtype"}:
        return False
    benchmark = case.pair.benchmark
    return benchmark is None or benchmark.value == other.value


def _is_device(value: object) -> bool:
    return isinstance(value, str) and _DEVICE.fullmatch(value) is not None


def _number(case: Case, one: float, other: float) -> Ruling:
    rule = case.pair.key.kind.value.replace("_", "-")
    if math.isnan(one) and math.isnan(other):
        return Ruling(INCOMPARABLE, "nan", "nan in both")
    if math.isnan(one) or math.isnan(other):
        return Ruling(FAIL, "nan", f"{other}, in the reference {one}")
    if math.isinf(one) or math.isinf(other):
        return Ruling(FAIL, "overflow", f"{other}, in the reference {one}")
    difference = abs(other - one) / max(abs(one), 1e-300)
    allowed = _allowed_number(case)
    text = f"{other:.6g}, in the reference {one:.6g}: relative difference"
    if difference <= allowed:
        return Ruling(PASS, rule, f"relative difference {difference:.2g} <= {allowed:.2g}")
    return Ruling(FAIL, rule, f"{text} {difference:.2g} > {allowed:.2g}")


def _allowed_number(case: Case) -> float:
    kind = case.pair.key.kind
    if kind is Kind.LEARNING_RATE:
        return thresholds.LEARNING_RATE
    if kind is Kind.METRIC:
        return thresholds.METRIC
    return min(_own(case) + 2 * case.before.relative, thresholds.CEILING)  # a mean of many: it adds nothing


def _nan(case: Case) -> Ruling | None:
    metrics = _metrics(case)
    if metrics.nan_mismatches:
        benchmark = case.benchmark.nan_mismatches if case.benchmark else 0
        verdict = WARN if benchmark >= metrics.nan_mismatches else FAIL
        also = ", as in the benchmark" if verdict is WARN else ""
        return Ruling(
            verdict, "nan", f"nan in {metrics.nan_mismatches} places where the reference has none{also}"
        )
    return None


def _overflow(case: Case) -> Ruling | None:
    metrics = _metrics(case)
    if metrics.inf_mismatches:
        benchmark = case.benchmark.inf_mismatches if case.benchmark else 0
        verdict = WARN if benchmark >= metrics.inf_mismatches else FAIL
        also = ", as in the benchmark" if verdict is WARN else ""
        return Ruling(verdict, "overflow", f"{metrics.inf_mismatches} places are infinite in one only{also}")
    return None


def _exact(case: Case) -> Ruling | None:
    metrics = _metrics(case)
    if case.equal:
        return Ruling(PASS, "exact", "equal")
    if not metrics.elements:
        return Ruling(PASS, "exact", "both are empty")
    if case.whole and metrics.max_absolute is None:
        return _not_finite(case)
    if case.tolerance is not None and thresholds.tolerance(_sides(case)[1].dtype):
        return None
    if not metrics.max_absolute and gain(metrics) == 0:
        return Ruling(PASS, "exact", "equal")
    return Ruling(
        FAIL, "exact", f"of type {_sides(case)[1].dtype}, and not equal: by {metrics.max_absolute:.6g}"
    )


def _noise(case: Case) -> Ruling | None:
    noise = case.noise.relative_norm if case.noise else None
    if not noise or case.tolerance is None or not case.whole:
        return None
    relative, allowed = _or(_metrics(case).relative_norm, 0.0), _total(case, case.tolerance.unit)
    if noise > allowed:
        text = f"two equal runs of the candidate differ by {noise:.2g} > {allowed:.2g}"
        return Ruling(INCOMPARABLE, "noise-floor", text)
    if relative <= 2 * noise:
        return Ruling(PASS, "noise-floor", f"relative norm {relative:.2g} <= 2 x {noise:.2g}, its own noise")
    return None


def _negligible(case: Case) -> Ruling | None:
    """Pass a gradient that is nothing beside the others: one that is 0 in exact arithmetic is all error."""
    if case.pair.key.kind not in GRADIENTS or case.pair.key.kind is Kind.PARAMETER:
        return None
    error, allowed = _metrics(case).rms, _own(case) * case.largest
    if error is None:
        error = _metrics(case).max_absolute
    if error is None or error > allowed:
        return None
    return Ruling(PASS, "negligible", f"wrong by {error:.2g}, where others are up to {case.largest:.2g}")


def _statistics(case: Case) -> Ruling | None:
    if case.whole:
        return None
    metrics = _metrics(case)
    allowed = 2 * _allowed_gain(case)  # without the cosine, noise can't be told from an error of scale
    if gain(metrics) > allowed and case.tolerance and case.spread < 4 * case.tolerance.smallest:
        return Ruling(WARN, "underflow", f"values up to {case.spread:.2g} are too small for the type")
    if gain(metrics) > allowed:
        text = (
            f"norm ratio {_or(metrics.norm_ratio, math.nan):.6g}: off by {gain(metrics):.2g} > {allowed:.2g}"
        )
        return Ruling(FAIL, "statistics", text)
    largest = _or(metrics.max_absolute, 0.0)
    allowed = (_total(case, _unit(case)) + thresholds.GROWTH * case.before.relative) * case.spread
    if largest > allowed:
        return Ruling(FAIL, "statistics", f"minimum, maximum or mean differ by {largest:.2g} > {allowed:.2g}")
    return Ruling(PASS, "statistics", f"norm, minimum, maximum and mean agree within {allowed:.2g}")


def _underflow(case: Case) -> Ruling | None:
    """Warn where the reference is too small for the type, as gradients in float16 often are."""
    metrics = _metrics(case)
    smallest = case.tolerance.smallest if case.tolerance else 0.0
    error = _or(metrics.rms, 0.0)
    size = error / metrics.relative_norm if metrics.relative_norm else 0.0
    if error > smallest or size > smallest / _own(case) or not _jumps(case):
        return None
    return Ruling(WARN, "underflow", f"values of {size:.2g} are too small for the type: wrong by {error:.2g}")


def _benchmark(case: Case) -> Ruling | None:
    """Accuse where the error exceeds that of the benchmark so many times, and the module added to it."""
    if case.benchmark is None or case.benchmark.relative_norm is None:
        return None
    for name, ratio, allowed in _ratios(case, _metrics(case), case.benchmark):
        if ratio > allowed:
            text = f"{name} is {ratio:.3g} times that of the benchmark > {allowed:.3g}"
            sudden = case.failed or _jumps(case) or ratio > 4 * allowed
            return Ruling(FAIL if sudden else WARN, "benchmark-ratio", text)
    return None


def _ratios(case: Case, found: Metrics, other: Metrics) -> Iterator[tuple[str, float, float]]:
    assert found.worst is not None
    slack = case.slack
    size = _or(found.rms, 0.0) / max(
        _or(found.relative_norm, 0.0), 1e-300
    )  # root mean square of the reference
    floor = _own(case)
    yield (
        "RMSE",
        _or(found.rms, 0.0) / max(_or(other.rms, 0.0), floor * size, 1e-300),
        thresholds.RATIO_RMS * slack,
    )
    floor_max = 4 * floor * max(size, abs(found.worst.reference))
    ratio = _or(found.max_absolute, 0.0) / max(_or(other.max_absolute, 0.0), floor_max, 1e-300)
    yield "the largest error", ratio, thresholds.RATIO_MAX * slack
    floor_mean = 4 * floor
    ratio = _or(found.mean_relative, 0.0) / max(_or(other.mean_relative, 0.0), floor_mean)
    yield "the mean relative error", ratio, thresholds.RATIO_MEAN_RELATIVE * slack * _softness(case)


def _norm_ratio(case: Case) -> Ruling | None:
    found, allowed = gain(_metrics(case)), _allowed_gain(case)
    if case.benchmark is not None:
        allowed = max(allowed, 2 * case.slack * gain(case.benchmark))
    if found > allowed:
        ratio = _or(_metrics(case).norm_ratio, math.nan)
        return Ruling(FAIL, "norm-ratio", f"norm ratio {ratio:.6g}: off by {found:.2g} > {allowed:.2g}")
    return None


def _relative_norm(case: Case) -> Ruling | None:
    relative = _or(_metrics(case).relative_norm, 0.0)
    jump, total = _allowed_jump(case), _total(case, _unit(case))
    if case.benchmark is not None and case.benchmark.relative_norm is not None:
        return Ruling(
            PASS, "benchmark-ratio", f"RMSE within {thresholds.RATIO_RMS:g} times that of the benchmark"
        )
    if _jumps(case):
        came = f" ({case.before.relative:.2g} came in)" if case.before.relative else ""
        return Ruling(FAIL, "relative-norm", f"relative norm {relative:.2g} > {jump:.2g}{came}")
    if relative > total and case.failed:
        return Ruling(FAIL, "relative-norm", f"relative norm {relative:.2g} > {total:.2g}, inherited")
    if relative > total:
        return Ruling(
            WARN, "relative-norm", f"relative norm {relative:.2g} > {total:.2g}, but it grew gradually"
        )
    return Ruling(PASS, "relative-norm", f"relative norm {relative:.2g} <= {total:.2g}")


def _guide(case: Case) -> Ruling | None:
    metrics = _metrics(case)
    if metrics.cosine is None or metrics.max_absolute is None:
        return Ruling(INCOMPARABLE, "guide", "the rule of the guides needs tensors, not statistics")
    if metrics.cosine <= thresholds.GUIDE_COSINE:
        return Ruling(FAIL, "guide", f"cosine {metrics.cosine:.6g} <= {thresholds.GUIDE_COSINE}")
    if metrics.max_absolute >= thresholds.GUIDE_ABSOLUTE:
        return Ruling(
            FAIL, "guide", f"largest error {metrics.max_absolute:.2g} >= {thresholds.GUIDE_ABSOLUTE}"
        )
    return Ruling(PASS, "guide", f"cosine {metrics.cosine:.6g}, largest error {metrics.max_absolute:.2g}")


STRUCTURE: tuple[Rule, ...] = (
    _unmatched,
    _unknown,
    _mode,
    _shape,
    _dtype,
    _plain,
    _unmeasured,
    _nan,
    _overflow,
    _exact,
)
TABLE: tuple[Rule, ...] = (
    _noise,
    _negligible,
    _statistics,
    _underflow,
    _benchmark,
    _norm_ratio,
    _relative_norm,
)
GUIDE: tuple[Rule, ...] = (_guide,)


def _allowed_gain(case: Case) -> float:
    base = case.tolerance.gain if case.tolerance else 0.0
    elements = min(_metrics(case).elements, thresholds.SAMPLES)
    relative = case.before.relative if case.whole else max(case.before.relative, case.forward)
    chance = 2 * relative / math.sqrt(max(elements, 1))  # that errors point along the reference
    allowed = (base * _softness(case) + 0.25 * _kinks(case)) * case.slack + 2 * case.before.gain + chance
    return _capped(case, allowed)


def _allowed_jump(case: Case) -> float:
    return _capped(case, _own(case) + _kinks(case) + thresholds.GROWTH * case.before.relative)


def _capped(case: Case, allowed: float) -> float:
    """Return a threshold that still says something: what a forward pass computes is never off by half."""
    return allowed if case.pair.key.kind in GRADIENTS else min(allowed, thresholds.CEILING)


def _jumps(case: Case) -> bool:
    return _or(_metrics(case).relative_norm, 0.0) > _allowed_jump(case)


def _own(case: Case) -> float:
    """Return the relative error that a module may add."""
    units = case.tolerance.added if case.tolerance else 0.0
    return units * _unit(case) * _softness(case)


def _kinks(case: Case) -> float:
    """Return the relative error of a gradient where ReLU lets through, or not, what is nearly 0.

    A relative error e of its input changes the sign of about that share of the elements, each of which adds
    or loses all of its gradient: the norm of the gradient's error is about the root of e. Of few elements one
    may have changed by chance. Adam makes little more than a sign of each gradient, and one that changes
    moves a parameter by twice its step.
    """
    if case.pair.key.kind not in GRADIENTS or not case.forward:
        return 0.0
    share = thresholds.KINKS * case.forward
    if case.pair.key.kind is Kind.PARAMETER:
        share = 4 * thresholds.KINKS * max(case.forward, case.before.relative)
    if case.pair.key.kind in (Kind.OUTPUT_GRADIENT, Kind.INPUT_GRADIENT):
        share += min(4 / max(_metrics(case).elements, 1), 1000 * case.forward)
    return math.sqrt(min(share, 1.0))


def _softness(case: Case) -> float:
    if case.pair.key.kind is Kind.BUFFER:
        return thresholds.BUFFER
    return thresholds.GRADIENT if case.pair.key.kind in GRADIENTS else 1.0


def _total(case: Case, unit: float) -> float:
    rounding = thresholds.TOTAL * unit * math.sqrt(case.depth) * _softness(case)
    return _capped(case, rounding + 4 * _kinks(case) + thresholds.GROWTH * case.drift)


def _unit(case: Case) -> float:
    return case.tolerance.unit if case.tolerance else 2**-24


def _sides(case: Case) -> tuple[Record, Record]:
    one, other = case.pair.reference, case.pair.candidate
    assert one is not None, "unmatched comes first"
    assert other is not None, "unmatched comes first"
    return one, other


def _metrics(case: Case) -> Metrics:
    return case.metrics or Metrics()


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
