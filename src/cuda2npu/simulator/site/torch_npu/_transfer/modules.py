"""torch.cuda, which keeps being a module of its own and gets the names of torch.npu."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import torch

import torch_npu
from torch_npu._transfer.arguments import on_npu, patch

_MERGED = {
    "torch.cuda": "torch_npu.npu",
    "torch.cuda.amp": "torch_npu.npu.amp",
    "torch.cuda.random": "torch_npu.npu.random",
    "torch.cuda.amp.autocast_mode": "torch_npu.npu.amp.autocast_mode",
    "torch.cuda.amp.common": "torch_npu.npu.amp.common",
    "torch.cuda.amp.grad_scaler": "torch_npu.npu.amp.grad_scaler",
}

_WITH_DEVICES = (
    "get_device_properties", "get_device_name", "get_device_capability", "list_gpu_processes", "set_device",
    "synchronize", "mem_get_info", "memory_stats", "memory_summary", "memory_allocated",
    "max_memory_allocated", "reset_max_memory_allocated", "memory_reserved", "max_memory_reserved",
    "reset_max_memory_cached", "reset_peak_memory_stats", "default_stream", "can_device_access_peer",
    "current_stream", "utilization", "set_per_process_memory_fraction", "caching_allocator_alloc",
    "get_rng_state", "set_rng_state",
)  # fmt: skip


def apply() -> None:
    """Lay the NPU's names over those of torch.cuda. Left alone: nvtx, nccl, comm, profiler, cudart, …"""
    for name, npu_name in _MERGED.items():
        _merge(importlib.import_module(name), importlib.import_module(npu_name))
    cuda: Any = torch.cuda
    patch(cuda, _WITH_DEVICES)
    cuda.device.__init__ = on_npu(cuda.device.__init__)
    cuda.DoubleTensor = torch_npu.npu.FloatTensor
    cuda.CUDAGraph = torch_npu.npu.NPUGraph
    cuda.default_generators = torch_npu.npu.default_generators
    for name in ("_record_memory_history", "_snapshot", "_dump_snapshot"):
        setattr(cuda.memory, name, getattr(torch_npu.npu.memory, name))


def _merge(cuda: ModuleType, npu: ModuleType) -> None:
    """Set what ``npu`` offers on ``cuda``, and of the names of ``cuda`` those that the target has."""
    offered = [name for name in dir(cuda) if name[0] != "_" and hasattr(npu, name)]
    for name in (*npu.__all__, *offered):
        value = getattr(npu, name)
        if not isinstance(value, ModuleType) and not isinstance(vars(cuda).get(name), ModuleType):
            setattr(cuda, name, value)
