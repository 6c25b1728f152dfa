"""Mixed precision: autocast and GradScaler for "cuda" become those for the CPU."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import torch
from torch.amp.autocast_mode import autocast


def _on_cpu(device_type: str) -> str:
    return "cpu" if device_type == "cuda" else device_type


@cache
def _cast_as_on_cuda() -> None:
    """Let the CPU's autocast cast what CUDA's casts: it has lists of its own.

    That takes the compiled backend. Without a compiler the program runs with the CPU's lists, and its
    losses differ in the last digits.
    """
    from cuda2npu.simulator import build

    try:
        build.load().cast_on_cpu_as_on_cuda()
    except build.SimulatorError as error:
        warnings.warn(f"autocast casts what the CPU's lists say, not CUDA's: {error}", stacklevel=3)


def install() -> None:
    """Let ``torch.amp`` take "cuda", and give ``torch.cuda.amp`` classes for the CPU."""
    import torch.cuda.amp as cuda_amp

    enter = autocast.__init__

    def autocast_init(self: Any, device_type: str, dtype: Any = None, *args: Any, **kwargs: Any) -> None:
        if device_type == "cuda":
            _cast_as_on_cuda()
            dtype = dtype or torch.float16  # CUDA's default; the CPU's is bfloat16
        enter(self, _on_cpu(device_type), dtype, *args, **kwargs)

    autocast.__init__ = autocast_init

    class CudaAutocast(autocast):
        """``torch.cuda.amp.autocast``."""

        def __init__(
            self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool = True
        ) -> None:
            _cast_as_on_cuda()
            super().__init__("cpu", dtype, enabled, cache_enabled)

    scaler_init = torch.amp.GradScaler.__init__

    def grad_scaler_init(self: Any, device: str = "cuda", *args: Any, **kwargs: Any) -> None:
        scaler_init(self, _on_cpu(device), *args, **kwargs)

    torch.amp.GradScaler.__init__ = grad_scaler_init

    class CudaGradScaler(torch.amp.GradScaler):
        """``torch.cuda.amp.GradScaler``."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__("cpu", *args, **kwargs)

    modules: tuple[Any, ...] = (cuda_amp, cuda_amp.autocast_mode, cuda_amp.grad_scaler)
    for module in modules:
        module.autocast, module.GradScaler = CudaAutocast, CudaGradScaler
