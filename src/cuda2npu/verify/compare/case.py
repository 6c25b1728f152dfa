"""A pair of records with all that is known of it, and what a rule decides about it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable, NamedTuple, Optional

from cuda2npu.verify.compare import thresholds
from cuda2npu.verify.compare.flow import NONE, Error
from cuda2npu.verify.compare.matching import Pair
from cuda2npu.verify.compare.thresholds import Tolerance
from cuda2npu.verify.comparison import Metrics, Verdict
from cuda2npu.verify.records import Record

PASS, WARN, FAIL, INCOMPARABLE = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.INCOMPARABLE


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
        return Error(value_or(self.metrics.relative_norm, 0.0), gain(self.metrics))

    @property
    def slack(self) -> float:
        """How much more a tensor of few elements may scatter: 1 for large ones."""
        elements = self.metrics.elements if self.metrics else 0
        return math.sqrt(max(1.0, thresholds.SAMPLES / max(elements, 1)))


Rule = Callable[[Case], Optional[Ruling]]


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


def sides(case: Case) -> tuple[Record, Record]:
    """Return the two records; one is missing only in what :func:`.structure.unmatched` decides."""
    one, other = case.pair.reference, case.pair.candidate
    assert one is not None, "unmatched comes first"
    assert other is not None, "unmatched comes first"
    return one, other


def metrics_of(case: Case) -> Metrics:
    """Return what was measured, or that nothing was."""
    return case.metrics or Metrics()


def value_or(value: float | None, otherwise: float) -> float:
    """Return ``value``, or the other number in place of None."""
    return otherwise if value is None else value
