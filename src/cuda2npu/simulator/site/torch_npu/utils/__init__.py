"""What ``torch_npu.utils`` offers to programs."""
# ruff: noqa: F401 - the names are what this module offers

from __future__ import annotations

from typing import Any

from cuda2npu.simulator.names import only_names_of_target
from torch_npu.npu.utils import get_cann_version
from torch_npu.utils import (
    serialization,
    storage,
    syncbatchnorm,
)


def set_thread_affinity(core_range: Any = None) -> None:
    """Do nothing: threads stay where they are."""


def reset_thread_affinity() -> None:
    """Do nothing: threads stay where they are."""


only_names_of_target(__name__)
