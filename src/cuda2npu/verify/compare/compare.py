"""Compares two captures: every record of every step, and where they part first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch

from cuda2npu.verify.compare import metrics, thresholds
from cuda2npu.verify.compare.criteria import Case, Ruling, judge
from cuda2npu.verify.compare.divergence import first_divergence
from cuda2npu.verify.compare.flow import Flow
from cuda2npu.verify.compare.matching import Pair, Step, pairs, why_unmatched
from cuda2npu.verify.compare.notes import notes
from cuda2npu.verify.compare.precision import effective
from cuda2npu.verify.compare.thresholds import Tolerance, coarser
from cuda2npu.verify.comparison import Comparison, Curve, Metrics, Row, Side, Verdict
from cuda2npu.verify.records import Key, Kind, Record, Statistics
from cuda2npu.verify.store import Capture

_ON_HOST = {"cpu", "cpu-as-cuda", "simulated"}
CURVES = (Kind.LOSS, Kind.LEARNING_RATE, Kind.METRIC)


def compare(
    reference: Capture,
    candidate: Capture,
    *,
    benchmark: Capture | None = None,
    repeat: Capture | None = None,
    criterion: str = "table",
) -> Comparison:
    """Compare a candidate with a reference.

    :param reference: what is right; cast to another type than the candidate it is a golden, whose types
        aren't compared.
    :param benchmark: a run that is accepted as it is, such as that on the GPU: the candidate's errors are
        measured against its errors. The reference must then be more precise than both.
    :param repeat: the candidate's run once more: what the two differ by is noise.
    :param criterion: ``table``, that of :mod:`.thresholds`, or ``guide``, that of the migration guides.
    :raises CaptureError: if a capture is damaged.
    :raises ValueError: if there is no such criterion.
    """
    if criterion not in ("table", "guide"):
        raise ValueError(f"criterion {criterion!r}: there are table and guide")
    sides = _Sides(reference, candidate, benchmark, repeat)
    rows: list[Row] = []
    steps = [step for step in reference.steps if step in set(candidate.steps)]
    with _one_thread():
        flow, tolerance = Flow(), None
        for step in steps:
            comparison = _StepComparison(sides, step, criterion, flow, tolerance)
            rows += comparison.rows()
            tolerance = comparison.tolerance
    differs = _inputs_differ(rows)
    rows = [_excused(row) if differs is not None and row.step >= differs else row for row in rows]
    sound = [row for row in rows if differs is None or row.step < differs]
    candidates = {
        step: candidate.records(step) for step in {row.step for row in rows if row.verdict is Verdict.FAIL}
    }
    return Comparison(
        verdict=_verdict(rows, sound, reference, candidate),
        criterion=criterion,
        reference=_side(reference),
        candidate=_side(candidate),
        rows=rows,
        first=first_divergence(sound, candidates),
        benchmark=None if benchmark is None else _side(benchmark),
        curves=_curves(reference, candidate),
        notes=notes(reference, candidate, benchmark, rows, differs),
    )


@dataclass(frozen=True)
class _Sides:
    reference: Capture
    candidate: Capture
    benchmark: Capture | None
    repeat: Capture | None

    @property
    def golden(self) -> bool:
        """Whether the reference was cast to a type which the candidate doesn't have."""
        dtype = self.reference.header.dtype
        return bool(dtype) and dtype != self.candidate.header.dtype


class _StepComparison:
    """Compares the records of one step, in order."""

    def __init__(
        self, sides: _Sides, number: int, criterion: str, flow: Flow, tolerance: Tolerance | None
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


def _inputs_differ(rows: list[Row]) -> int | None:
    """Return the first step whose first root module was given something else; None if there is none."""
    roots: dict[int, tuple[str, int]] = {}
    for row in rows:
        if row.key.kind is not Kind.INPUT or "." in row.key.name:
            continue
        root = roots.setdefault(row.step, (row.key.name, row.key.call))
        is_other = row.verdict is Verdict.FAIL and row.rule not in ("mode", "dtype")
        if is_other and root == (row.key.name, row.key.call):
            return row.step
    return None


def _excused(row: Row) -> Row:
    """Return what is left to say of a row whose step had other inputs: nothing follows from a difference."""
    if row.verdict is not Verdict.FAIL:
        return row
    return replace(row, verdict=Verdict.INCOMPARABLE, rule="inputs")


def _verdict(rows: list[Row], sound: list[Row], reference: Capture, candidate: Capture) -> Verdict:
    """Return the verdict on all; ``sound`` are the rows before inputs differ."""
    found = {row.verdict for row in sound} | _of_weights(rows, reference, candidate)
    if Verdict.FAIL in found:
        return Verdict.FAIL
    whole = reference.header.complete and candidate.header.complete and reference.steps == candidate.steps
    if Verdict.INCOMPARABLE in found or not whole or not rows or len(sound) < len(rows):
        return Verdict.INCOMPARABLE
    return Verdict.WARN if Verdict.WARN in found else Verdict.PASS


def _of_weights(rows: list[Row], reference: Capture, candidate: Capture) -> set[Verdict]:
    """Return the verdict on weights that were others before the reference's took their place.

    Where both draw from the CPU's generator, and were at the same place in it, they were not loaded or not
    initialised alike.
    """
    if not candidate.header.replaced:
        return set()
    on_host = {reference.header.device, candidate.header.device} <= _ON_HOST
    states = [row for row in rows if row.key.kind is Kind.RANDOM_STATE and row.step == 0]
    if on_host and states and all(row.verdict is Verdict.PASS for row in states):
        return {Verdict.FAIL}
    return {Verdict.WARN}


def _curves(reference: Capture, candidate: Capture) -> list[Curve]:
    values: dict[Key, dict[int, list[float | None]]] = {}
    steps = sorted({*reference.steps, *candidate.steps})
    for side, capture in enumerate((reference, candidate)):
        for step in capture.steps:
            for record in capture.records(step):
                if record.key.kind in CURVES:
                    value = _number(capture, step, record)
                    values.setdefault(record.key, {}).setdefault(step, [None, None])[side] = value
    curves = []
    for key, found in values.items():
        one = [found.get(step, [None, None])[0] for step in steps]
        other = [found.get(step, [None, None])[1] for step in steps]
        curves.append(Curve(_curve_name(key), one, other))
    return curves


def _curve_name(key: Key) -> str:
    parts = [key.kind.value.replace("_", " "), key.name, str(key.call) if key.call else ""]
    return " ".join(part for part in parts if part)


def _number(capture: Capture, step: int, record: Record) -> float | None:
    if isinstance(record.value, (int, float)):
        return float(record.value)
    tensor = capture.tensor(step, record)
    return float(tensor.reshape(-1)[0]) if tensor is not None and tensor.numel() == 1 else None


def _side(capture: Capture) -> Side:
    header = capture.header
    return Side(
        str(capture.folder), header.what, header.device, header.dtype, header.environment, header.inventory
    )


@contextmanager
def _one_thread() -> Iterator[None]:
    """Pieces that fit into the cache are worked on faster by one thread: more only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
