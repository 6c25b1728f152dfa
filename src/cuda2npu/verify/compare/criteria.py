"""The rules that decide about a record, in the order in which they are asked."""

from __future__ import annotations

from cuda2npu.verify.compare import numbers, structure, tensors
from cuda2npu.verify.compare.case import INCOMPARABLE, Case, Rule, Ruling

STRUCTURE: tuple[Rule, ...] = (
    structure.unmatched,
    structure.unknown,
    structure.mode,
    structure.shape,
    structure.dtype,
    numbers.plain,
    structure.unmeasured,
    structure.nan,
    structure.overflow,
    structure.exact,
)


TABLE: tuple[Rule, ...] = (
    tensors.noise,
    tensors.negligible,
    tensors.statistics,
    tensors.underflow,
    tensors.benchmark,
    tensors.norm_ratio,
    tensors.relative_norm,
)


GUIDE: tuple[Rule, ...] = (tensors.guide,)


def judge(case: Case) -> Ruling:
    """Return what the first rule that has something to say decides."""
    rules = STRUCTURE + (GUIDE if case.criterion == "guide" else TABLE)
    return next(
        filter(None, (rule(case) for rule in rules)), Ruling(INCOMPARABLE, "unknown", "nothing to compare")
    )
