"""Compares two captures: every record of every step, and where they part first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from cuda2npu.verify.compare.curves import curves
from cuda2npu.verify.compare.divergence import first_divergence
from cuda2npu.verify.compare.flow import Flow
from cuda2npu.verify.compare.notes import notes
from cuda2npu.verify.compare.step import Sides, StepComparison
from cuda2npu.verify.compare.verdict import excused, inputs_differ, verdict_on
from cuda2npu.verify.comparison import Comparison, Row, Side
from cuda2npu.verify.store import Capture


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
    sides = Sides(reference, candidate, benchmark, repeat)
    rows: list[Row] = []
    steps = [step for step in reference.steps if step in set(candidate.steps)]
    with _one_thread():
        flow, tolerance = Flow(), None
        for step in steps:
            comparison = StepComparison(sides, step, criterion, flow, tolerance)
            rows += comparison.rows()
            tolerance = comparison.tolerance
    differs = inputs_differ(rows)
    rows = [excused(row) if differs is not None and row.step >= differs else row for row in rows]
    sound = [row for row in rows if differs is None or row.step < differs]
    return Comparison(
        verdict=verdict_on(rows, sound, reference, candidate),
        criterion=criterion,
        reference=_side(reference),
        candidate=_side(candidate),
        rows=rows,
        first=first_divergence(sound, candidate),
        benchmark=None if benchmark is None else _side(benchmark),
        curves=curves(rows),
        notes=notes(reference, candidate, benchmark, rows, differs),
    )


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
