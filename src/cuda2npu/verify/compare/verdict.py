"""The verdict on the whole of a comparison."""

from __future__ import annotations

from dataclasses import replace

from cuda2npu.verify.comparison import Row, Verdict
from cuda2npu.verify.records import Kind
from cuda2npu.verify.store import Capture

_ON_HOST = {"cpu", "cpu-as-cuda", "simulated"}


def inputs_differ(rows: list[Row]) -> int | None:
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


def excused(row: Row) -> Row:
    """Return what is left to say of a row whose step had other inputs: nothing follows from a difference."""
    if row.verdict is not Verdict.FAIL:
        return row
    return replace(row, verdict=Verdict.INCOMPARABLE, rule="inputs")


def verdict_on(rows: list[Row], sound: list[Row], reference: Capture, candidate: Capture) -> Verdict:
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
