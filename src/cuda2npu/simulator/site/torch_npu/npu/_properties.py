"""What is known about the cards."""

from __future__ import annotations

import os
import re
import warnings
from typing import Any

import torch

from cuda2npu.simulator.names import target
from torch_npu import _C, _backend
from torch_npu.npu._device import _checked_index
from torch_npu.npu._lifecycle import _lazy_init

SOC_VERSION = 220  # Ascend910B1, whose name the properties give
_READS_CAPABILITY = (2, 7)
_NO_CAPABILITY = "torch.npu.get_device_capability isn't implemented!"


def is_available() -> bool:
    """Whether there is a card."""
    return _backend.device_count() > 0


def device_count() -> int:
    """Return the number of cards, which CUDA2NPU_SIM_DEVICES sets."""
    return _backend.device_count()


def get_device_name(device_name: Any = None) -> str:
    """Return the kind of chip. The parameter is called ``device_name``, in torch.cuda ``device``."""
    _checked_index(device_name)
    return _C._NPUDeviceProperties().name


def get_device_properties(device_name: Any = None) -> Any:
    """Return the properties of a card; most of those of a GPU are None.

    The parameter is called ``device_name``, in torch.cuda ``device``.
    """
    _checked_index(device_name)
    _lazy_init()
    return _C._NPUDeviceProperties()


def get_device_capability(device: Any = None) -> tuple[int, int] | None:
    """Return None, unless the user has set TORCH_NPU_DEVICE_CAPABILITY (from torch_npu 2.7 on)."""
    wanted = os.getenv("TORCH_NPU_DEVICE_CAPABILITY") if target().version >= _READS_CAPABILITY else None
    match = re.fullmatch(r"(\d+)\.(\d+)", wanted or "")
    if match is None:
        warnings.warn(_NO_CAPABILITY, stacklevel=2)
        return None
    return int(match[1]), int(match[2])


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the free and the total bytes of a card."""
    index = _checked_index(device)
    return _backend.TOTAL_MEMORY - _backend.memory_allocated(index), _backend.TOTAL_MEMORY


def can_device_access_peer(device_id: Any, peer_device_id: Any) -> bool:
    """Whether two cards reach each other's memory. torch.cuda calls them device and peer_device."""
    return _checked_index(device_id) != _checked_index(peer_device_id)


def utilization(device: Any = None) -> int:
    """Return the load of a card in percent, which isn't simulated: 0."""
    _checked_index(device)
    return 0


def get_soc_version() -> int:
    """Return the number of the chip."""
    return SOC_VERSION


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the chip computes in bfloat16, as an Ascend 910B does."""
    return True


def current_blas_handle() -> None:
    """Return None: CANN has no such handle."""
    warnings.warn("NPU does not use blas handle.", stacklevel=2)


def _get_generator(device: torch.device) -> torch.Generator:
    return _backend.default_generator(_checked_index(device))
