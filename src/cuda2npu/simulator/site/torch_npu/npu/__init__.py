"""``torch.npu``: the module that torch asks about the device, and that converted programs call."""
# ruff: noqa: F401, F811 - the names are what this module offers

from __future__ import annotations

from typing import Any

import torch

from cuda2npu.simulator.names import only_names_of_target
from torch_npu import _backend
from torch_npu.npu import (
    amp,
    autocast_utils,
    backends,
    deterministic,
    memory,
    npu_config,
    random,
    streams,
    utils,
)
from torch_npu.npu._backends import *  # noqa: F403
from torch_npu.npu._current_stream import (
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
)
from torch_npu.npu._device import (
    _get_device,
    _get_device_index,
    current_device,
    device,
    device_of,
    set_device,
    synchronize,
)
from torch_npu.npu._hf32 import (
    _allowHF32Conv,
    _allowHF32Matmul,
    _CubeMathType,
)
from torch_npu.npu._legacy_types import (
    STORAGE_TYPES,
    TENSOR_TYPES,
)
from torch_npu.npu._lifecycle import (
    _after_fork,
    _is_in_bad_fork,
    _lazy_call,
    _lazy_init,
    init,
    is_initialized,
)
from torch_npu.npu._properties import (
    _get_generator,
    can_device_access_peer,
    current_blas_handle,
    device_count,
    get_device_capability,
    get_device_name,
    get_device_properties,
    get_soc_version,
    is_available,
    is_bf16_supported,
    mem_get_info,
    utilization,
)
from torch_npu.npu._switches import (
    _get_deterministic_level,
    are_compatible_impl_enabled,
    clear_npu_overflow_flag,
    get_npu_overflow_flag,
    get_sync_debug_mode,
    get_task_queue_enable,
    ipc_collect,
    is_current_stream_capturing,
    set_deterministic_level,
    set_op_timeout_ms,
    set_sync_debug_mode,
    set_task_queue_enable,
    use_compatible_impl,
)
from torch_npu.npu.autocast_utils import *  # noqa: F403
from torch_npu.npu.deterministic import (
    disable_deterministic_with_backward,
    enable_deterministic_with_backward,
)
from torch_npu.npu.memory import *  # noqa: F403
from torch_npu.npu.mstx import mstx
from torch_npu.npu.npu_config import *  # noqa: F403
from torch_npu.npu.random import *  # noqa: F403
from torch_npu.npu.streams import *  # noqa: F403

config = npu_config._npuConfig()
matmul = _allowHF32Matmul()
conv = _allowHF32Conv()
CubeMathType = _CubeMathType
default_generators = tuple(_backend.default_generator(index) for index in range(device_count()))

globals().update(TENSOR_TYPES)
globals().update(STORAGE_TYPES)


class _DeferredNpuCallError(Exception):
    """A call that waited for the device to be initialised has failed."""


def _get_rng_state_offset(device: Any = "npu") -> int:
    """Return 0: the generator of the CPU has no offset. torch.distributed.tensor asks for it."""
    return 0


def _set_rng_state_offset(offset: int, device: Any = "npu") -> None:
    """Do nothing: the generator of the CPU has no offset."""


def _sleep(cycles: int) -> None:
    """Do nothing: the device has no cycles."""


only_names_of_target(__name__)
