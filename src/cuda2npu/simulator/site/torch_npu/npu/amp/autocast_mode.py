"""Autocast for the NPU, without a device type in front."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch

from cuda2npu.simulator.names import only_names_of_target, target

__all__ = ["autocast", "custom_bwd", "custom_fwd"]

_DEPRECATED_SINCE = (2, 7)


class autocast(torch.amp.autocast_mode.autocast):  # noqa: N801
    """``torch.autocast("npu", …)``. The order is (enabled, dtype, cache_enabled)."""

    def __init__(
        self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool = True
    ) -> None:
        super().__init__("npu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: torch.dtype | None = None) -> Any:
    """Do what ``torch.amp.custom_fwd(device_type="npu")`` does."""
    _warn("custom_fwd")
    if fwd is None:
        return functools.partial(torch.amp.custom_fwd, device_type="npu", cast_inputs=cast_inputs)
    return torch.amp.custom_fwd(fwd, device_type="npu", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """Do what ``torch.amp.custom_bwd(device_type="npu")`` does."""
    _warn("custom_bwd")
    return torch.amp.custom_bwd(bwd, device_type="npu")


def _warn(name: str) -> None:
    if target().version >= _DEPRECATED_SINCE:
        text = f"`torch_npu.npu.amp.{name}(…)` is deprecated; use `torch.amp.{name}(…, device_type='npu')`."
        warnings.warn(text, FutureWarning, stacklevel=3)


only_names_of_target(__name__)
