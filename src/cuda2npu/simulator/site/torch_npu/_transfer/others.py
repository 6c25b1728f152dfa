"""torch.distributed, torch.profiler, and what looks for a GPU."""

from __future__ import annotations

import functools
import logging
from typing import Any

import torch
import torch.distributed as dist

import torch_npu
from torch_npu._patches.after_import import after_import
from torch_npu._transfer.arguments import on_hccl, on_npu, patch

_DROPPED = (
    "The parameter experimental_config of torch.profiler.profile has been removed by the tool because it "
    "can only be used with CUDA."
)


def apply() -> None:
    """Change them."""
    if dist.is_available():
        _distributed()
    _profiler()
    utils: Any = torch._utils
    utils._get_available_device_type = lambda: "npu" if torch_npu.npu.is_available() else None
    for name in ("torch.utils._triton", "torch._dynamo.utils", "torch._inductor.compile_fx"):
        after_import(name, _hide_triton)


def _distributed() -> None:
    """nccl becomes hccl; ``cuda`` is no longer a device with a backend of its own."""
    d: Any = dist
    d.init_process_group = on_hccl(on_npu(d.init_process_group))
    d.is_nccl_available = torch_npu.distributed.is_hccl_available
    d.ProcessGroupNCCL = d.distributed_c10d.ProcessGroupNCCL = torch_npu._C._distributed_c10d.ProcessGroupHCCL
    d.distributed_c10d._new_group_with_tag = on_hccl(d.distributed_c10d._new_group_with_tag)
    d.Backend.default_device_backend_map.pop("cuda", None)
    patch(torch.nn.parallel.DistributedDataParallel, ("__init__",))
    after_import("torch.distributed.device_mesh", _device_mesh)
    after_import("torch.distributed.fsdp.fully_sharded_data_parallel", _fsdp)


def _device_mesh(module: Any) -> None:
    patch(module, ("init_device_mesh",))
    patch(module.DeviceMesh, ("__init__",))
    setattr(dist, "init_device_mesh", module.init_device_mesh)  # noqa: B010


def _fsdp(module: Any) -> None:
    patch(module.FullyShardedDataParallel, ("__init__",))


def _profiler() -> None:
    """The NPU's profiler takes the place of torch's, with its own order of parameters."""
    npu = torch_npu.profiler
    changed: Any = torch.profiler
    activity = npu.ProfilerActivity
    changed.schedule, changed.ProfilerAction = npu.schedule, npu.ProfilerAction
    changed.tensorboard_trace_handler = npu.tensorboard_trace_handler
    changed.ProfilerActivity = type(
        "ProfilerActivity", (), {"CPU": activity.CPU, "CUDA": activity.NPU, "NPU": activity.NPU}
    )

    @functools.wraps(npu.profile)
    def profile(*args: Any, **kwargs: Any) -> Any:
        given = kwargs.get("experimental_config")
        if "experimental_config" in kwargs and not isinstance(given, npu._ExperimentalConfig):
            logging.getLogger(__name__).warning(_DROPPED)
            del kwargs["experimental_config"]
        return npu.profile(*args, **kwargs)

    changed.profile = profile


def _hide_triton(module: Any) -> None:
    module.has_triton = lambda: False
