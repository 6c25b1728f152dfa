"""The rule about plain values: losses, learning rates, metrics, arguments that are no tensors."""

from __future__ import annotations

import math
import re

from cuda2npu.verify.compare import thresholds
from cuda2npu.verify.compare.allowed import own_error
from cuda2npu.verify.compare.case import FAIL, INCOMPARABLE, PASS, WARN, Case, Ruling, sides
from cuda2npu.verify.records import Kind

_DEVICE = re.compile(r"(cuda|npu|cpu|privateuseone)(:\d+)?")  # the very thing that is converted


def plain(case: Case) -> Ruling | None:
    """Decide on values that are no tensors."""
    reference, candidate = sides(case)
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
    one, other = sides(case)
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
    return min(
        own_error(case) + 2 * case.before.relative, thresholds.CEILING
    )  # a mean of many: it adds nothing
