"""Whether mixed precision is possible at all."""

from cuda2npu.simulator.names import only_names_of_target
from torch_npu import _backend

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """Whether there is no card."""
    return _backend.device_count() == 0


only_names_of_target(__name__)
