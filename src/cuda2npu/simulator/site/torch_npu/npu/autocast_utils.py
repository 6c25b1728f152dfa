"""The switches of mixed precision, without a device type in front as those of torch have."""

from __future__ import annotations

import torch

from cuda2npu.simulator.names import only_names_of_target

__all__ = [
    "get_amp_supported_dtype", "get_autocast_dtype", "is_autocast_enabled", "set_autocast_dtype",
    "set_autocast_enabled",
]  # fmt: skip


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Return the types that autocast can compute in; torch asks for them."""
    return [torch.float16, torch.bfloat16, torch.float32]


def is_autocast_enabled() -> bool:
    """Whether autocast is on for the NPU."""
    return torch.is_autocast_enabled("npu")


def set_autocast_enabled(enable: bool) -> None:
    """Switch autocast on or off for the NPU."""
    torch.set_autocast_enabled("npu", enable)


def get_autocast_dtype() -> torch.dtype:
    """Return the type that autocast computes in on the NPU."""
    return torch.get_autocast_dtype("npu")


def set_autocast_dtype(dtype: torch.dtype) -> None:
    """Set the type that autocast computes in on the NPU."""
    torch.set_autocast_dtype("npu", dtype)


only_names_of_target(__name__)
