"""The numbers that decide: one table, with the source of each.

``docs/precision.md`` shows the same table; a test keeps the two equal.
"""

from __future__ import annotations

from dataclasses import dataclass

MSPROBE = "msprobe api_precision_standard (mindstudio-probe): small value, its absolute error"
CANN = "CANN operator acceptance, commercial level L0: RMSE 2, MERE 2, MARE 10 times the benchmark's error"
OURS = "our own measurement, of correct runs and planted faults: cuda2npu verify --self-test"


@dataclass(frozen=True)
class Tolerance:
    """What a type allows.

    :param unit: unit roundoff, half the distance from 1 to the next number.
    :param smallest: the smallest positive number.
    :param small: elements below it, times the root mean square of the tensor, are small (MSPROBE).
    :param small_error: absolute error that a small element may have, times the same (MSPROBE).
    :param added: units of relative error that one module may add (OURS).
    :param gain: how far the scale of a module's output may lie from 1, beyond that of its inputs (OURS).
    """

    names: tuple[str, ...]
    unit: float
    smallest: float
    small: float
    small_error: float
    added: float
    gain: float


TABLE: tuple[Tolerance, ...] = (
    Tolerance(("float64", "complex128"), 2**-53, 2**-1074, 2**-40, 2**-50, 32, 1e-9),
    Tolerance(("float32", "complex64"), 2**-24, 2**-149, 2**-20, 2**-30, 32, 1e-4),
    Tolerance(("hf32", "tf32"), 2**-11, 2**-149, 2**-10, 2**-16, 12, 2e-3),
    Tolerance(("float16", "complex32"), 2**-11, 2**-24, 2**-10, 2**-16, 12, 2e-3),
    Tolerance(("bfloat16",), 2**-8, 2**-133, 2**-10, 2**-16, 8, 5e-3),
    Tolerance(("float8_e4m3fn", "float8_e4m3fnuz"), 2**-4, 2**-9, 2**-6, 2**-10, 4, 5e-2),
    Tolerance(("float8_e5m2", "float8_e5m2fnuz"), 2**-3, 2**-16, 2**-6, 2**-10, 4, 1e-1),
)

GROWTH = 3.0  # times that a module may magnify the error that came in (OURS)
GRADIENT = 2.0  # times more for gradients: they meet the errors of the forward pass as well (OURS)
CEILING = 0.5  # relative: no threshold of a forward pass, a loss or a metric is larger (OURS)
BUFFER = 64.0  # times more for buffers: a running mean of nearly 0 is a difference of large numbers (OURS)
KINKS = 4.0  # an error e moves about that share of ReLU's inputs over 0, with all of their gradient (OURS)
DRIFT = 0.1  # of the error of gradients is that of the weights after a step (OURS)
TOTAL = 64.0  # units, times the root of the number of modules so far: more is worth a warning (OURS)
SAMPLES = 1024  # elements below which statistics scatter: thresholds grow by the root of their lack (OURS)
RATIO_RMS = 2.0  # times the error of the benchmark (CANN)
RATIO_MEAN_RELATIVE = 2.0  # (CANN)
RATIO_MAX = 10.0  # (CANN)
GUIDE_COSINE = 0.99  # the simple rule of the migration guides
GUIDE_ABSOLUTE = 0.01
METRIC = 0.01  # relative difference of a task metric, in wide use as "within 1 %"
LEARNING_RATE = 1e-6  # relative: it is computed in float64 in both


def tolerance(dtype: str) -> Tolerance | None:
    """Return what a floating or complex type allows; None for other types."""
    return next((row for row in TABLE if dtype in row.names), None)


def coarser(one: Tolerance | None, other: Tolerance | None) -> Tolerance | None:
    """Return the tolerance of the less precise type."""
    if one is None or other is None:
        return one or other
    return one if one.unit >= other.unit else other
