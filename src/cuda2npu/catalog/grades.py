"""How far a change may be trusted, and how much a finding stands in the way."""

from __future__ import annotations

from enum import Enum


class Applicability(str, Enum):
    """How far a change may be trusted."""

    SAFE = "safe"  # means the same on the NPU; applied by default
    UNSAFE = "unsafe"  # may change numerics, or rests on a guess; applied with --unsafe
    MANUAL = "manual"  # can't be rewritten; a person decides


class Severity(str, Enum):
    """How much a finding stands in the way."""

    BLOCKER = "blocker"  # won't run on the NPU
    MANUAL = "manual"  # must be looked at
    INFO = "info"  # good to know
