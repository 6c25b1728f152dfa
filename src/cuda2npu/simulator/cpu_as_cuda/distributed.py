"""Several processes: gloo in place of nccl."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from cuda2npu.simulator.cpu_as_cuda.data_parallel import DataParallel


def install() -> None:
    """Map ``init_process_group``, DistributedDataParallel, SyncBatchNorm and DataParallel."""
    parallel: Any = nn.parallel
    data_parallel: Any = nn
    data_parallel.DataParallel = parallel.DataParallel = parallel.data_parallel.DataParallel = DataParallel
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
