"""``torch.npu.utils``, where the real package defines much of ``torch.npu``."""
# ruff: noqa: F401 - the names are what this module offers

from __future__ import annotations

from cuda2npu.simulator.names import only_names_of_target
from torch_npu.npu._current_stream import (
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
)
from torch_npu.npu._device import (
    _get_device_index,
    current_device,
    device,
    device_of,
    set_device,
    synchronize,
)
from torch_npu.npu._properties import (
    can_device_access_peer,
    current_blas_handle,
    device_count,
    get_device_capability,
    get_device_name,
    get_device_properties,
    get_soc_version,
    is_bf16_supported,
    mem_get_info,
    utilization,
)
from torch_npu.npu._switches import (
    clear_npu_overflow_flag,
    get_npu_overflow_flag,
    get_sync_debug_mode,
    get_task_queue_enable,
    ipc_collect,
    is_support_inf_nan,
    npu_check_overflow,
    set_op_timeout_ms,
    set_sync_debug_mode,
    set_task_queue_enable,
)
from torch_npu.npu.npu_config import (
    finalize_dump,
    init_dump,
    set_dump,
)

_CANN = "8.5.0"
"""The version of CANN that the simulation claims, in the form that programs take apart."""


def get_cann_version(module: str = "CANN") -> str:
    """Return the version of CANN or of a part of it."""
    return _CANN


only_names_of_target(__name__)
