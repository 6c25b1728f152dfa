"""Compares the records of one step, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from cuda2npu.verify.compare import metrics, thresholds
from cuda2npu.verify.compare.case import Case, Ruling
from cuda2npu.verify.compare.criteria import judge
from cuda2npu.verify.compare.flow import Flow
from cuda2npu.verify.compare.matching import Pair, Step, pairs, why_unmatched
from cuda2npu.verify.compare.precision import effective
from cuda2npu.verify.compare.thresholds import Tolerance, coarser
from cuda2npu.verify.comparison import Metrics, Row, Verdict
from cuda2npu.verify.records import Record, Statistics
from cuda2npu.verify.store import Capture


@dataclass(frozen=True)
class Sides:
    """What is compared; see :func:`.compare.compare`."""

    reference: Capture
    candidate: Capture
    benchmark: Capture | None
    repeat: Capture | None

    @property
    def golden(self) -> bool:
        """Whether the reference was cast to a type which the candidate doesn't have."""
        dtype = self.reference.header.dtype
        return bool(dtype) and dtype != self.candidate.header.dtype


class StepComparison:
    """Compares the records of one step, in order."""

    def __init__(
        self, sides: Sides, number: int, criterion: str, flow: Flow, tolerance: Tolerance | None
    ) -> None:
        self.sides = sides
        self.number = number
        self.criterion = criterion
        self.reference = Step(sides.reference.records(number))
        self.candidate = Step(sides.candidate.records(number))
        self.benchmark = _step(sides.benchmark, number)
        self.repeat = _step(sides.repeat, number)
        self.flow = flow
        self.tolerance = tolerance  # of the least precise type so far: weights keep what gradients lost
        self.cases: dict[tuple[int, int], tuple[Case, Ruling]] = {}  # by the orders of the two tensors

    def rows(self) -> Iterator[Row]:
        """Yield what is said of each record; to be called once."""
        self.flow.begin_step(self.reference.records)
        for pair in pairs(self.reference, self.candidate, self.benchmark, self.repeat):
            yield self._row(pair)

    def _row(self, pair: Pair) -> Row:
        case = Case(
            pair,
            self.number,
            before=self.flow.before(pair.key),
            forward=self.flow.forward,
            drift=self.flow.drift,
            largest=self.flow.largest(pair.key),
            depth=self.flow.depth,
            failed=self.flow.failed,
            golden=self.sides.golden,
            criterion=self.criterion,
        )
        origins, known = None, None
        if pair.reference is not None and pair.candidate is not None:
            self._meet(pair)
            case = replace(case, tolerance=self.tolerance)
            origins = self.reference.origin(pair.reference).order, self.candidate.origin(pair.candidate).order
            known = self.cases.get(origins)
            case = self._measured(case) if known is None else _same(case, known[0])
        ruling = judge(case)
        if known is not None and known[1].verdict is Verdict.FAIL:
            ruling = known[1]
        if origins is not None:
            self.cases.setdefault(origins, (case, ruling))
        if ruling.rule == "unmatched":
            ruling = ruling._replace(message=why_unmatched(pair, self.reference, self.candidate))
        origin = self.reference.origin(pair.reference) if pair.reference else None
        self.flow.add(pair.key, case.error, origin)
        self.flow.failed |= ruling.verdict is Verdict.FAIL
        return _row(case, ruling, self._statistics(pair))

    def _statistics(self, pair: Pair) -> tuple[Statistics | None, Statistics | None]:
        one, other = pair.reference, pair.candidate
        return (
            self.reference.origin(one).statistics if one else None,
            self.candidate.origin(other).statistics if other else None,
        )

    def _meet(self, pair: Pair) -> None:
        """Take note of the types: what comes later can't be more precise."""
        for record, capture in (
            (pair.reference, self.sides.reference),
            (pair.candidate, self.sides.candidate),
        ):
            if record is not None and record.shape is not None:
                self.tolerance = coarser(self.tolerance, effective(record, capture.header))

    def _measured(self, case: Case) -> Case:
        pair = case.pair
        assert pair.reference is not None
        assert pair.candidate is not None
        one = self.reference.origin(pair.reference)
        other = self.candidate.origin(pair.candidate)
        if one.shape is None or one.shape != other.shape:
            return case
        left = self.sides.reference.tensor(self.number, one)
        right = self.sides.candidate.tensor(self.number, other)
        if left is None or right is None:
            spread = _spread(_statistics(one, left))
            found = _of_statistics(one, left, other, right)
            return replace(case, whole=False, spread=spread, metrics=found)
        measured = _measure(left, right, self.tolerance)
        equal = left.dtype == right.dtype and not measured.max_absolute and torch.equal(left, right)
        return replace(
            case,
            metrics=measured,
            equal=equal,
            benchmark=self._second(left, self.benchmark, self.sides.benchmark, pair.benchmark),
            noise=self._second(right, self.repeat, self.sides.repeat, pair.repeat),
        )

    def _second(
        self, left: torch.Tensor, step: Step | None, capture: Capture | None, record: Record | None
    ) -> Metrics | None:
        if step is None or capture is None or record is None:
            return None
        tensor = capture.tensor(self.number, step.origin(record))
        if tensor is None or tensor.shape != left.shape:
            return None
        return _measure(left, tensor, self.tolerance)


def _step(capture: Capture | None, number: int) -> Step | None:
    return None if capture is None or number not in capture.steps else Step(capture.records(number))


def _measure(left: torch.Tensor, right: torch.Tensor, tolerance: Tolerance | None) -> Metrics:
    row = tolerance or thresholds.tolerance("float32")
    assert row is not None
    return metrics.measure(left, right, small=row.small, small_error=row.small_error)


def _of_statistics(
    one: Record, left: torch.Tensor | None, other: Record, right: torch.Tensor | None
) -> Metrics | None:
    first, second = _statistics(one, left), _statistics(other, right)
    if first is None or second is None:
        return None
    elements = 1
    for size in one.shape or ():
        elements *= size
    return metrics.of_statistics(first, second, elements)


def _same(case: Case, known: Case) -> Case:
    """Return the case of a tensor that was measured before, under another name."""
    return replace(
        case,
        metrics=known.metrics,
        benchmark=known.benchmark,
        whole=known.whole,
        spread=known.spread,
        equal=known.equal,
        noise=known.noise,
        before=max(known.before, case.before),
        depth=max(known.depth, case.depth),
    )


def _statistics(record: Record, tensor: torch.Tensor | None) -> Statistics | None:
    return record.statistics if tensor is None else metrics.statistics(tensor)


def _spread(statistics: Statistics | None) -> float:
    if statistics is None:
        return 0.0
    return max((abs(end) for end in (statistics.minimum, statistics.maximum) if end is not None), default=0.0)


def _row(case: Case, ruling: Ruling, statistics: tuple[Statistics | None, Statistics | None]) -> Row:
    pair = case.pair
    one, other = pair.reference, pair.candidate
    added = None
    if case.metrics is not None and case.metrics.relative_norm is not None:
        added = case.metrics.relative_norm - case.before.relative
    return Row(
        step=case.step,
        order=pair.order,
        key=pair.key,
        verdict=ruling.verdict,
        rule=ruling.rule,
        message=ruling.message,
        module=pair.record.module,
        source=pair.record.source,
        dtype=(one.dtype if one else "", other.dtype if other else ""),
        shape=(one.shape if one else None, other.shape if other else None),
        value=(one.value if one else None, other.value if other else None),
        metrics=case.metrics,
        benchmark=case.benchmark,
        noise=None if case.noise is None else case.noise.max_absolute,
        added=added,
        statistics=statistics,
    )
