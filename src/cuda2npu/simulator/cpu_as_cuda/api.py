"""``torch.cuda``: answers as of a machine with one GPU that is always ready."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections import Counter
from types import SimpleNamespace
from typing import Any, Callable

import torch

from cuda2npu.simulator.cpu_as_cuda import placement

_NAME = "CPU in place of CUDA"
_MEMORY = 64 << 30  # bytes; programs choose batch sizes by it
_PROPERTIES = SimpleNamespace(name=_NAME, total_memory=_MEMORY, major=8, minor=0, multi_processor_count=1)
_CUDA_VERSION = "13.0"  # that of PyTorch 2.13's own builds for CUDA; programs take it apart at import
_NCCL_VERSION = (2, 27, 7)  # some version that takes everything
_TENSORS = ("BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")


def _answers() -> dict[str, Any]:
    """Return what functions of torch.cuda return, whatever they are asked."""
    nothing = dict.fromkeys(
        (
            *("synchronize", "empty_cache", "init", "ipc_collect", "set_stream"),
            *("reset_peak_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached"),
            *("reset_accumulated_memory_stats", "set_per_process_memory_fraction"),
            *("set_sync_debug_mode", "_sleep", "_record_memory_history"),
        )
    )
    memory = dict.fromkeys(
        (
            *("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"),
            *("memory_cached", "max_memory_cached"),
        ),
        0,
    )
    return {
        **nothing,
        **memory,
        "is_available": True,
        "is_initialized": True,
        "is_bf16_supported": True,
        "is_current_stream_capturing": False,
        "can_device_access_peer": True,
        "get_sync_debug_mode": 0,
        "utilization": 0,
        "device_count": int(os.environ.get("CUDA2NPU_SIM_DEVICES", "2")),
        "get_device_name": _NAME,
        "get_device_capability": (8, 0),
        "get_device_properties": _PROPERTIES,
        "mem_get_info": (_MEMORY, _MEMORY),
        "memory_stats": Counter(),  # 0, whatever is asked for
        "memory_snapshot": [],
        "_snapshot": {"segments": [], "device_traces": []},
        "memory_summary": f"{_NAME}\n",
    }


class _Event:
    """An event: all work is done when it is asked for."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.time = 0.0

    def record(self, stream: object = None) -> None:
        self.time = time.perf_counter()

    def wait(self, stream: object = None) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: _Event) -> float:
        """Return the time between two events in milliseconds."""
        return (end.time - self.time) * 1000


class _Stream:
    """A stream: work is done in the order in which it is given."""

    cuda_stream = 0

    def __init__(self, device: Any = None, *args: Any, **kwargs: Any) -> None:
        self.device = torch.device("cuda", placement.number_of(device))

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass

    def wait_event(self, event: object) -> None:
        pass

    wait_stream = wait_event

    def record_event(self, event: _Event | None = None) -> _Event:
        event = event or _Event()
        event.record()
        return event


class _StreamContext:
    """``with torch.cuda.stream(stream):``."""

    def __init__(self, stream: _Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


class _Device:
    """``with torch.cuda.device(0):``."""

    def __init__(self, device: Any = None) -> None:
        self.number = placement.number_of(device)
        self.before = 0

    def __enter__(self) -> None:
        self.before = placement.current_device()
        placement.set_device(self.number)

    def __exit__(self, *error: object) -> None:
        placement.set_device(self.before)


class _Graph:
    """A CUDA graph, which nothing can record here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("CUDA graphs can't be run on the CPU: run the original without them")


def _profile_the_cpu() -> None:
    """Let the profilers leave the GPU alone: they would complain about each operator."""
    from torch.autograd import profiler

    plain: Any = profiler.profile
    enter = plain.__init__

    @functools.wraps(enter)
    def init(self: Any, enabled: bool = True, **kwargs: Any) -> None:
        kwargs["use_device"] = None if kwargs.get("use_device") == "cuda" else kwargs.get("use_device")
        enter(self, enabled, **{name: value for name, value in kwargs.items() if name != "use_cuda"})

    plain.__init__ = init
    functions: Any = profiler
    functions.emit_nvtx = lambda *args, **kwargs: contextlib.nullcontext()


def _returning(value: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: value


def install() -> None:
    """Replace the functions and classes of ``torch.cuda`` that need a GPU."""
    cuda: Any = torch.cuda
    for name, value in _answers().items():
        for module in (cuda, cuda.memory):  # programs call torch.cuda.memory.memory_stats, too
            if module is cuda or hasattr(module, name):
                setattr(module, name, _returning(value))
    cuda.CUDAGraph = _Graph
    cuda.current_device, cuda.set_device = placement.current_device, placement.set_device
    cuda.Stream = cuda.ExternalStream = _Stream
    cuda.Event = _Event
    cuda.device = cuda.device_of = _Device
    cuda.current_stream = cuda.default_stream = _Stream
    cuda.stream = cuda.StreamContext = _StreamContext
    for name in _TENSORS:
        setattr(cuda, f"{name}Tensor", getattr(torch, f"{name}Tensor"))
    for name in ("range_push", "range_pop", "range_start", "range_end", "mark"):
        setattr(cuda.nvtx, name, _returning(None))
    cuda.profiler.start = cuda.profiler.stop = _returning(None)
    cuda.nccl.version = _returning(_NCCL_VERSION)
    cuda.cudart = _returning(SimpleNamespace(cudaProfilerStart=int, cudaProfilerStop=int))
    _profile_the_cpu()
    torch.version.cuda = torch.version.cuda or _CUDA_VERSION
