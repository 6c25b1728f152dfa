"""What importing the real torch_npu changes in torch, and what a CPU build of torch lacks for a device."""

from __future__ import annotations

from cuda2npu.simulator import sync_batch_norm
from torch_npu import _hccl
from torch_npu._patches import (
    compile as compile_,
)
from torch_npu._patches import (
    data_parallel,
    fork_rng,
    module,
    sharded_grad_scaler,
    sharing,
    tensor_type,
)


def apply() -> None:
    """Make the changes; ``npu`` is a device already."""
    import torch

    module.apply()
    tensor_type.apply()
    sharing.apply()
    fork_rng.apply()
    data_parallel.apply()
    sync_batch_norm.apply()
    compile_.apply()
    torch.utils.checkpoint.DefaultDeviceType.set_device_type("npu")
    if torch.distributed.is_available():
        _hccl.register()
        sharded_grad_scaler.apply()
