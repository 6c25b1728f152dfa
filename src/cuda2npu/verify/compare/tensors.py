"""Rules about how far two tensors are apart."""

from __future__ import annotations

import math
from collections.abc import Iterator

from cuda2npu.verify.compare import thresholds
from cuda2npu.verify.compare.allowed import (
    allowed_gain,
    allowed_jump,
    jumps,
    own_error,
    softness,
    total_error,
)
from cuda2npu.verify.compare.case import (
    FAIL,
    INCOMPARABLE,
    PASS,
    WARN,
    Case,
    Ruling,
    gain,
    metrics_of,
    value_or,
)
from cuda2npu.verify.compare.flow import GRADIENTS
from cuda2npu.verify.comparison import Metrics
from cuda2npu.verify.records import Kind


def noise(case: Case) -> Ruling | None:
    """Pass what differs no more than two equal runs do."""
    noise = case.noise.relative_norm if case.noise else None
    if not noise or case.tolerance is None or not case.whole:
        return None
    relative, allowed = value_or(metrics_of(case).relative_norm, 0.0), total_error(case)
    if noise > allowed:
        text = f"two equal runs of the candidate differ by {noise:.2g} > {allowed:.2g}"
        return Ruling(INCOMPARABLE, "noise-floor", text)
    if relative <= 2 * noise:
        return Ruling(PASS, "noise-floor", f"relative norm {relative:.2g} <= 2 x {noise:.2g}, its own noise")
    return None


def negligible(case: Case) -> Ruling | None:
    """Pass a gradient that is nothing beside the others: one that is 0 in exact arithmetic is all error."""
    if case.pair.key.kind not in GRADIENTS or case.pair.key.kind is Kind.PARAMETER:
        return None
    error, allowed = metrics_of(case).rms, own_error(case) * case.largest
    if error is None:
        error = metrics_of(case).max_absolute
    if error is None or error > allowed:
        return None
    return Ruling(PASS, "negligible", f"wrong by {error:.2g}, where others are up to {case.largest:.2g}")


def statistics(case: Case) -> Ruling | None:
    """Decide on tensors of which only statistics were kept."""
    if case.whole:
        return None
    metrics = metrics_of(case)
    off, allowed = gain(metrics), 2 * allowed_gain(case)  # without the cosine, noise looks like a scale
    if off > allowed and case.tolerance and case.spread < 4 * case.tolerance.smallest:
        return Ruling(WARN, "underflow", f"values up to {case.spread:.2g} are too small for the type")
    if off > allowed:
        ratio = value_or(metrics.norm_ratio, math.nan)
        return Ruling(FAIL, "statistics", f"norm ratio {ratio:.6g}: off by {off:.2g} > {allowed:.2g}")
    largest = value_or(metrics.max_absolute, 0.0)
    allowed = (total_error(case) + thresholds.GROWTH * case.before.relative) * case.spread
    if largest > allowed:
        return Ruling(FAIL, "statistics", f"minimum, maximum or mean differ by {largest:.2g} > {allowed:.2g}")
    return Ruling(PASS, "statistics", f"norm, minimum, maximum and mean agree within {allowed:.2g}")


def underflow(case: Case) -> Ruling | None:
    """Warn where the reference is too small for the type, as gradients in float16 often are."""
    metrics = metrics_of(case)
    smallest = case.tolerance.smallest if case.tolerance else 0.0
    error = value_or(metrics.rms, 0.0)
    size = error / metrics.relative_norm if metrics.relative_norm else 0.0
    if error > smallest or size > smallest / own_error(case) or not jumps(case):
        return None
    return Ruling(WARN, "underflow", f"values of {size:.2g} are too small for the type: wrong by {error:.2g}")


def benchmark(case: Case) -> Ruling | None:
    """Accuse where the error exceeds that of the benchmark so many times, and the module added to it."""
    if case.benchmark is None or case.benchmark.relative_norm is None:
        return None
    for name, ratio, allowed in _ratios(case, metrics_of(case), case.benchmark):
        if ratio > allowed:
            text = f"{name} is {ratio:.3g} times that of the benchmark > {allowed:.3g}"
            sudden = case.failed or jumps(case) or ratio > 4 * allowed
            return Ruling(FAIL if sudden else WARN, "benchmark-ratio", text)
    return None


def _ratios(case: Case, found: Metrics, other: Metrics) -> Iterator[tuple[str, float, float]]:
    assert found.worst is not None
    slack = case.slack
    size = value_or(found.rms, 0.0) / max(
        value_or(found.relative_norm, 0.0), 1e-300
    )  # root mean square of the reference
    floor = own_error(case)
    yield (
        "RMSE",
        value_or(found.rms, 0.0) / max(value_or(other.rms, 0.0), floor * size, 1e-300),
        thresholds.RATIO_RMS * slack,
    )
    floor_max = 4 * floor * max(size, abs(found.worst.reference))
    ratio = value_or(found.max_absolute, 0.0) / max(value_or(other.max_absolute, 0.0), floor_max, 1e-300)
    yield "the largest error", ratio, thresholds.RATIO_MAX * slack
    floor_mean = 4 * floor
    ratio = value_or(found.mean_relative, 0.0) / max(value_or(other.mean_relative, 0.0), floor_mean)
    yield "the mean relative error", ratio, thresholds.RATIO_MEAN_RELATIVE * slack * softness(case)


def norm_ratio(case: Case) -> Ruling | None:
    """Accuse an error of scale."""
    found, allowed = gain(metrics_of(case)), allowed_gain(case)
    if case.benchmark is not None:
        allowed = max(allowed, 2 * case.slack * gain(case.benchmark))
    if found > allowed:
        ratio = value_or(metrics_of(case).norm_ratio, math.nan)
        return Ruling(FAIL, "norm-ratio", f"norm ratio {ratio:.6g}: off by {found:.2g} > {allowed:.2g}")
    return None


def relative_norm(case: Case) -> Ruling | None:
    """Accuse what a module added, and warn of what has gathered."""
    relative = value_or(metrics_of(case).relative_norm, 0.0)
    jump, total = allowed_jump(case), total_error(case)
    if case.benchmark is not None and case.benchmark.relative_norm is not None:
        return Ruling(
            PASS, "benchmark-ratio", f"RMSE within {thresholds.RATIO_RMS:g} times that of the benchmark"
        )
    if jumps(case):
        came = f" ({case.before.relative:.2g} came in)" if case.before.relative else ""
        return Ruling(FAIL, "relative-norm", f"relative norm {relative:.2g} > {jump:.2g}{came}")
    if relative > total and case.failed:
        return Ruling(FAIL, "relative-norm", f"relative norm {relative:.2g} > {total:.2g}, inherited")
    if relative > total:
        return Ruling(
            WARN, "relative-norm", f"relative norm {relative:.2g} > {total:.2g}, but it grew gradually"
        )
    return Ruling(PASS, "relative-norm", f"relative norm {relative:.2g} <= {total:.2g}")


def guide(case: Case) -> Ruling | None:
    """Decide as the migration guides do."""
    metrics = metrics_of(case)
    if metrics.cosine is None or metrics.max_absolute is None:
        return Ruling(INCOMPARABLE, "guide", "the rule of the guides needs tensors, not statistics")
    if metrics.cosine <= thresholds.GUIDE_COSINE:
        return Ruling(FAIL, "guide", f"cosine {metrics.cosine:.6g} <= {thresholds.GUIDE_COSINE}")
    if metrics.max_absolute >= thresholds.GUIDE_ABSOLUTE:
        return Ruling(
            FAIL, "guide", f"largest error {metrics.max_absolute:.2g} >= {thresholds.GUIDE_ABSOLUTE}"
        )
    return Ruling(PASS, "guide", f"cosine {metrics.cosine:.6g}, largest error {metrics.max_absolute:.2g}")
