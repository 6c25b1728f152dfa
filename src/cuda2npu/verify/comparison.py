"""The result of comparing two captures: one model, of which every report is a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

from cuda2npu.verify.records import Key, Statistics

SCHEMA = "cuda2npu-comparison/1"


class Verdict(str, Enum):
    """What a comparison says. Nothing unmatched or unread is ever a pass."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    INCOMPARABLE = "incomparable"


@dataclass(frozen=True)
class Worst:
    """The element with the largest error.

    :param index: its position in the tensor.
    """

    index: tuple[int, ...]
    reference: float
    candidate: float


@dataclass(frozen=True)
class Metrics:
    """How far a candidate is from the reference, over the elements that are finite in both.

    Errors are ``candidate - reference`` in float64.

    :param cosine: cosine similarity, 1 for two zero tensors; None where only statistics are known.
    :param norm_ratio: norm of the candidate / norm of the reference; it finds an error of scale, to which
        the cosine is blind.
    :param relative_norm: norm of the error / norm of the reference.
    :param rms: root of the mean squared error.
    :param max_relative: over elements that aren't small for their type, as are the next.
    :param small_errors: share of the small elements whose absolute error is too large.
    :param balance: |positive errors - negative errors| / elements: rounding is near 0, a bias near 1.
    :param thousandth: share of elements with a relative error below 1/1000.
    :param five_thousandths: the same for 5/1000.
    :param quantiles: absolute error at 50, 90, 99 and 99.9 %.
    :param nan_mismatches: positions at which only one of the two is nan.
    :param inf_mismatches: positions at which the two don't hold the same infinity: an overflow.
    """

    cosine: float | None = None
    norm_ratio: float | None = None
    relative_norm: float | None = None
    max_absolute: float | None = None
    mean_absolute: float | None = None
    rms: float | None = None
    max_relative: float | None = None
    mean_relative: float | None = None
    small_errors: float | None = None
    balance: float | None = None
    thousandth: float | None = None
    five_thousandths: float | None = None
    quantiles: tuple[float, ...] = ()
    nan_mismatches: int = 0
    inf_mismatches: int = 0
    elements: int = 0
    worst: Worst | None = None


@dataclass(frozen=True)
class Row:
    """What the comparison says about one record.

    :param order: position in the reference's step; that of the candidate where the reference lacks it.
    :param rule: the rule that decided, such as ``benchmark-ratio``; see the table of thresholds.
    :param message: what was found against which threshold, as ``relative norm 0.03 > 0.002``.
    :param metrics: None where nothing could be compared.
    :param benchmark: the errors of the second benchmark against the same reference, if there is one.
    :param noise: the largest difference between two equal runs of the candidate, if there were two.
    :param added: relative norm of the error, less the largest among the inputs of the module's call.
    :param statistics: those of the two tensors, as their captures hold them.
    """

    step: int
    order: int
    key: Key
    verdict: Verdict
    rule: str
    message: str = ""
    module: str = ""
    source: str = ""
    dtype: tuple[str, str] = ("", "")
    shape: tuple[tuple[int, ...] | None, tuple[int, ...] | None] = (None, None)
    value: tuple[Any, Any] = (None, None)
    metrics: Metrics | None = None
    benchmark: Metrics | None = None
    noise: float | None = None
    added: float | None = None
    statistics: tuple[Statistics | None, Statistics | None] = (None, None)


@dataclass(frozen=True)
class Divergence:
    """Where the two part first.

    :param name: the module in whose own code, or by whose own kernel, it happened.
    :param source: ``file:line`` in the candidate's code.
    :param reason: why this one is blamed, in a sentence; English and Chinese.
    """

    step: int
    name: str
    module: str
    source: str
    reason: str
    reason_zh: str


@dataclass(frozen=True)
class Curve:
    """A number by step in both, as the loss."""

    name: str
    reference: Sequence[float | None]
    candidate: Sequence[float | None]


@dataclass(frozen=True)
class Side:
    """One of the captures that were compared."""

    folder: str
    what: str
    device: str
    dtype: str
    environment: Mapping[str, Any] = field(default_factory=dict)
    inventory: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Level:
    """How far the candidate came: ``build``, ``forward``, ``backward``, ``train`` or ``evaluate``.

    :param verdict: None if it was not reached.
    """

    name: str
    verdict: Verdict | None
    message: str = ""
    message_zh: str = ""


@dataclass(frozen=True)
class Comparison:
    """Everything about two captures.

    :param criterion: ``table`` or ``guide``.
    :param reference: of ranks several, the first; so the candidate.
    :param benchmark: None if there was none; then thresholds decide, and it says so.
    :param levels: those of ``cuda2npu verify``; a comparison of two captures alone has none.
    :param notes: what must be known to read the verdict, in English and Chinese.
    """

    verdict: Verdict
    criterion: str
    reference: Side
    candidate: Side
    rows: Sequence[Row]
    first: Divergence | None = None
    benchmark: Side | None = None
    curves: Sequence[Curve] = ()
    notes: Sequence[tuple[str, str]] = ()
    levels: Sequence[Level] = ()
    schema: str = SCHEMA

    @property
    def counts(self) -> dict[Verdict, int]:
        """Number of rows with each verdict."""
        return {verdict: sum(row.verdict is verdict for row in self.rows) for verdict in Verdict}

    def as_json(self) -> dict[str, Any]:
        """Return what ``comparison.json`` holds."""
        counts = {verdict.value: number for verdict, number in self.counts.items()}
        return {**asdict(self), "counts": counts}
