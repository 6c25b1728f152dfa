"""How large an error may be in a case: by its type, what came in, and where it stands."""

from __future__ import annotations

import math

from cuda2npu.verify.compare import thresholds
from cuda2npu.verify.compare.case import Case, metrics_of, value_or
from cuda2npu.verify.compare.flow import GRADIENTS
from cuda2npu.verify.records import Kind


def allowed_gain(case: Case) -> float:
    """Return how far the scale may be from 1."""
    base = case.tolerance.gain if case.tolerance else 0.0
    elements = min(metrics_of(case).elements, thresholds.SAMPLES)
    relative = case.before.relative if case.whole else max(case.before.relative, case.forward)
    chance = 2 * relative / math.sqrt(max(elements, 1))  # that errors point along the reference
    allowed = (base * softness(case) + 0.25 * _kinks(case)) * case.slack + 2 * case.before.gain + chance
    return _capped(case, allowed)


def allowed_jump(case: Case) -> float:
    """Return the relative error above which a module has added more than it may."""
    return _capped(case, own_error(case) + _kinks(case) + thresholds.GROWTH * case.before.relative)


def _capped(case: Case, allowed: float) -> float:
    """Return a threshold that still says something: what a forward pass computes is never off by half."""
    return allowed if case.pair.key.kind in GRADIENTS else min(allowed, thresholds.CEILING)


def jumps(case: Case) -> bool:
    """Whether more error was added than a module may."""
    return value_or(metrics_of(case).relative_norm, 0.0) > allowed_jump(case)


def own_error(case: Case) -> float:
    """Return the relative error that a module may add."""
    units = case.tolerance.added if case.tolerance else 0.0
    return units * _unit(case) * softness(case)


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
        share += min(4 / max(metrics_of(case).elements, 1), 1000 * case.forward)
    return math.sqrt(min(share, 1.0))


def softness(case: Case) -> float:
    """Return how many times more than in a forward pass an error may be."""
    if case.pair.key.kind is Kind.BUFFER:
        return thresholds.BUFFER
    return thresholds.GRADIENT if case.pair.key.kind in GRADIENTS else 1.0


def total_error(case: Case) -> float:
    """Return the relative error that may have gathered so far."""
    rounding = thresholds.TOTAL * _unit(case) * math.sqrt(case.depth) * softness(case)
    return _capped(case, rounding + 4 * _kinks(case) + thresholds.GROWTH * case.drift)


def _unit(case: Case) -> float:
    return case.tolerance.unit if case.tolerance else 2**-24
