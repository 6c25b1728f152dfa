"""What the real package's profiler takes from C++."""

from __future__ import annotations

from enum import Enum

from cuda2npu.simulator.names import only_names_of_target


class ProfilerActivity(Enum):
    """What is recorded: the host and the NPU. There is no CUDA."""

    CPU = 0
    NPU = 1


def _supported_npu_activities() -> set[ProfilerActivity]:
    return {ProfilerActivity.CPU, ProfilerActivity.NPU}


only_names_of_target(__name__)
