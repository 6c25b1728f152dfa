"""When the profiler records."""

from __future__ import annotations

import warnings
from enum import Enum

from cuda2npu.simulator.names import only_names_of_target


class ProfilerAction(Enum):
    """What happens in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class Schedule:
    """Says what happens in each step.

    The order is (wait, active, warmup, …), and all may be given by position; torch.profiler.schedule
    takes (wait, warmup, active, …) by keyword.
    """

    def __init__(
        self,
        wait: int,
        active: int,
        warmup: int = 0,
        repeat: int = 0,
        skip_first: int = 0,
        skip_first_wait: int = 0,
    ) -> None:
        self.wait = _at_least(0, wait, "wait")
        self.active = _at_least(1, active, "active")
        self.warmup = _at_least(0, warmup, "warmup")
        self.repeat = _at_least(0, repeat, "repeat")
        self.skip_first = _at_least(0, skip_first, "skip_first")
        self.skip_first_wait = skip_first_wait
        if self.warmup == 0:
            warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)

    def __call__(self, step: int) -> ProfilerAction:
        """Return what happens in ``step``, counted from 0.

        :raises ValueError: if it is negative.
        """
        if step < 0:
            raise ValueError("Invalid parameter step, which must be not less than 0.")
        step -= self.skip_first
        if step < 0:
            return ProfilerAction.NONE
        if self.skip_first_wait:
            step += self.wait
        length = self.wait + self.warmup + self.active
        if self.repeat and step // length >= self.repeat:
            return ProfilerAction.NONE
        step %= length
        if step < self.wait:
            return ProfilerAction.NONE
        if step < self.wait + self.warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if step == length - 1 else ProfilerAction.RECORD


def _at_least(least: int, value: int, name: str) -> int:
    """Return ``value``, or the least that is allowed; the real profiler warns and goes on, too."""
    if isinstance(value, int) and value >= least:
        return value
    warnings.warn(f"Invalid parameter {name}, reset it to {least}.", stacklevel=3)
    return least


only_names_of_target(__name__)
