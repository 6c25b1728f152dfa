"""Several processes: gloo in place of nccl; one device where DataParallel has several."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class _OneDevice(nn.Module):
    """``nn.DataParallel`` on a single device."""

    def __init__(self, module: nn.Module, device_ids: Any = None, output_device: Any = None, dim: int = 0):
        super().__init__()
        self.module = module
        self.device_ids = [0]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)


def install() -> None:
    """Map ``init_process_group``, DistributedDataParallel, SyncBatchNorm and DataParallel."""
    parallel: Any = nn.parallel
    data_parallel: Any = nn
    data_parallel.DataParallel = parallel.DataParallel = parallel.data_parallel.DataParallel = _OneDevice
    if not torch.distributed.is_available():
        return
    _wrap_init_process_group()
    _wrap_ddp()
    # Its kernels are CUDA's own; with gloo, torch refuses it on the CPU.
    keep = classmethod(lambda cls, module, process_group=None: module)
    nn.SyncBatchNorm.convert_sync_batchnorm = keep


def _wrap_init_process_group() -> None:
    import torch.distributed as dist

    init = dist.init_process_group

    def init_process_group(backend: str | None = None, *args: Any, **kwargs: Any) -> None:
        kwargs.pop("device_id", None)
        init("gloo" if backend and "nccl" in backend.lower() else backend, *args, **kwargs)

    dist.init_process_group = init_process_group
    dist.distributed_c10d.init_process_group = init_process_group


def _wrap_ddp() -> None:
    ddp = nn.parallel.DistributedDataParallel
    init = ddp.__init__

    def ddp_init(
        self: Any, module: nn.Module, device_ids: Any = None, output_device: Any = None, **kwargs: Any
    ) -> None:
        init(self, module, **kwargs)

    ddp.__init__ = ddp_init
