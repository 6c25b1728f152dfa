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

    _answer_for_cpu()
    modules: tuple[Any, ...] = (cuda_amp, cuda_amp.autocast_mode, cuda_amp.grad_scaler)
    for module in modules:
        module.autocast, module.GradScaler = CudaAutocast, CudaGradScaler


def _answer_for_cpu() -> None:
    """Let programs that ask about autocast on CUDA hear what is set for the CPU."""
    is_enabled, dtype_of = torch.is_autocast_enabled, torch.get_autocast_dtype

    def is_autocast_enabled(device_type: str = "cuda") -> bool:
        return is_enabled(_on_cpu(device_type))

    def get_autocast_dtype(device_type: str) -> torch.dtype:
        # Where it is off, CUDA's answer is float16, and the CPU's bfloat16.
        return dtype_of(_on_cpu(device_type) if is_enabled("cpu") else device_type)

    functions: Any = torch
    functions.is_autocast_enabled = is_autocast_enabled
    functions.get_autocast_dtype = get_autocast_dtype
    functions.get_autocast_gpu_dtype = lambda: get_autocast_dtype("cuda")
