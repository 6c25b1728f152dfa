"""What the real package writes in C++: base classes, and private functions that programs call."""
# ruff: noqa: F401 - the names are what this module offers

from __future__ import annotations

from typing import (
    Any,
    Optional,
)

import torch

from cuda2npu.simulator.names import (
    only_names_of_target,
    target,
)
from torch_npu import _backend
from torch_npu._C import (
    _distributed_c10d,
    _profiler,
)

# Which fields a version has: the strings in lib/libtorch_npu.so of the wheels 2.1.0.post17 to 2.14.0.
_FIELDS_OF_A_GPU = (
    "major", "minor", "multi_processor_count", "warp_size", "max_threads_per_multi_processor",
    "regs_per_multiprocessor", "is_integrated", "is_multi_gpu_board", "gcnArchName", "uuid",
)  # fmt: skip
_ONLY_NAME_AND_MEMORY = ((2, 3), (2, 4), (2, 5))


class _NPUDeviceProperties:
    """Properties of a card: sparse, as on the NPU. What describes a GPU is None or missing."""

    def __init__(self) -> None:
        self.name = "Ascend910B (simulated)"
        self.total_memory = _backend.TOTAL_MEMORY
        if target().version in _ONLY_NAME_AND_MEMORY:
            return
        self.cube_core_num = 24
        self.vector_core_num = 48
        self.L2_cache_size = 192 << 20
        for field in _FIELDS_OF_A_GPU:
            setattr(self, field, None)

    def __repr__(self) -> str:
        return f"_NPUDeviceProperties(name='{self.name}', total_memory={self.total_memory >> 20}MB)"


class _NPUStreamBase(torch.Stream):
    """A stream. Work on the simulated device is done when the call returns, so none ever waits."""

    def __new__(cls, device: torch.device | None = None, priority: int = 0, **known: Any) -> _NPUStreamBase:
        if "stream_id" in known:
            kind = torch._C._autograd.DeviceType.PrivateUse1
            number = known.get("device_type", getattr(kind, "value", kind))
            index = known.get("device_index", _backend.current_device())
            return super().__new__(
                cls, stream_id=known["stream_id"], device_index=index, device_type=int(number)
            )
        return super().__new__(cls, device=device, priority=priority)

    @property
    def npu_stream(self) -> int:
        """The address of the stream; here its number."""
        return self.stream_id


class _NPUEventBase(torch.Event):
    """An event. It has happened as soon as it is recorded."""

    def __new__(
        cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> _NPUEventBase:
        return super().__new__(cls, device="npu", enable_timing=enable_timing, blocking=blocking)


def _npu_getDeviceCount() -> int:
    return _backend.device_count()


def _npu_getDevice() -> int:
    return _backend.current_device()


def _npu_getDeviceWithoutSet() -> int:
    return _backend.current_device()


def _npu_setDevice(device: int) -> None:
    _backend.set_device(device)


def _npu_maybeExchangeDevice(device: int) -> int:
    before = _backend.current_device()
    if device >= 0:
        _backend.set_device(device)
    return before


def _npu_synchronize() -> None:
    """Nothing is outstanding."""


def _npu_getCurrentRawStream(device: int) -> int:
    import torch_npu

    return int(torch_npu.npu.current_stream(device).stream_id)


def _npu_isCurrentStreamCapturing() -> bool:
    return False


only_names_of_target(__name__)
