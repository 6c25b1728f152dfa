"""The switches of scaled dot product attention, which on the NPU only set torch's global flags."""
# ruff: noqa: F401 - the names are what this module offers

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from cuda2npu.simulator.names import only_names_of_target
from torch_npu.npu._properties import get_soc_version


def _warn() -> None:
    warnings.warn("Currently, the device operator doesn't follow this flag; it is only set.", stacklevel=3)


def flash_sdp_enabled() -> bool:
    """Whether flash attention is allowed."""
    _warn()
    return torch._C._get_flash_sdp_enabled()


def enable_flash_sdp(enabled: bool) -> None:
    """Allow or forbid flash attention."""
    _warn()
    torch._C._set_sdp_use_flash(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Whether memory-efficient attention is allowed."""
    _warn()
    return torch._C._get_mem_efficient_sdp_enabled()


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Allow or forbid memory-efficient attention."""
    _warn()
    torch._C._set_sdp_use_mem_efficient(enabled)


def math_sdp_enabled() -> bool:
    """Whether attention put together from other operators is allowed."""
    _warn()
    return torch._C._get_math_sdp_enabled()


def enable_math_sdp(enabled: bool) -> None:
    """Allow or forbid attention put together from other operators."""
    _warn()
    torch._C._set_sdp_use_math(enabled)


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True
) -> Iterator[dict[str, Any]]:
    """Set the three flags within a with statement."""
    _warn()
    before = (
        torch._C._get_flash_sdp_enabled(),
        torch._C._get_math_sdp_enabled(),
        torch._C._get_mem_efficient_sdp_enabled(),
    )
    try:
        _set(enable_flash, enable_math, enable_mem_efficient)
        yield {}
    finally:
        _set(*before)


def _set(flash: bool, math: bool, mem_efficient: bool) -> None:
    torch._C._set_sdp_use_flash(flash)
    torch._C._set_sdp_use_math(math)
    torch._C._set_sdp_use_mem_efficient(mem_efficient)


def preferred_linalg_library(backend: Any = None) -> Any:
    """Return the default library: there is no other one."""
    warnings.warn("torch.npu.preferred_linalg_library isn't implemented!", stacklevel=2)
    return torch._C._LinalgBackend.Default


only_names_of_target(__name__)
