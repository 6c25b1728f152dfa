"""What the profiler can record."""

from cuda2npu.simulator.names import only_names_of_target
from torch_npu._C._profiler import ProfilerActivity, _supported_npu_activities

__all__ = ["supported_activities"]


def supported_activities() -> set[ProfilerActivity]:
    """Return CPU and NPU."""
    return _supported_npu_activities()


only_names_of_target(__name__)
