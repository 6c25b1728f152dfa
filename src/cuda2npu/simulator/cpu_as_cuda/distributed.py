"""Several processes: gloo in place of nccl."""

from __future__ import annotations

import atexit
import functools
import time
import weakref
from typing import Any

import torch
from torch import nn

from cuda2npu.simulator import sync_batch_norm
from cuda2npu.simulator.cpu_as_cuda import data_parallel

_SECONDS_TO_FREE = 0.1
_parallel_modules: weakref.WeakSet[Any] = weakref.WeakSet()


def install() -> None:
    """Map process groups, DistributedDataParallel, SyncBatchNorm and DataParallel."""
    data_parallel.install()
    if not torch.distributed.is_available():
        return
    _wrap_groups()
    _wrap_all_reduce()
    _wrap_ddp()
    sync_batch_norm.apply()


def _wrap_groups() -> None:
    """Make groups with gloo, and let those that were asked for nccl say that they are nccl."""
    import torch.distributed as dist

    init, new_group, get_backend = dist.init_process_group, dist.new_group, dist.get_backend
    nccl: weakref.WeakSet[Any] = weakref.WeakSet()

    @functools.wraps(init)
    def init_process_group(backend: str | None = None, *args: Any, **kwargs: Any) -> None:
        kwargs.pop("device_id", None)
        init(_gloo_for(backend), *args, **kwargs)
        atexit.unregister(_close)
        atexit.register(_close)
        if backend == "nccl":
            nccl.add(dist.group.WORLD)

    @functools.wraps(new_group)
    def new_group_on_cpu(
        ranks: Any = None, timeout: Any = None, backend: str | None = None, *args: Any, **kwargs: Any
    ) -> Any:
        kwargs.pop("device_id", None)
        group = new_group(ranks, timeout, _gloo_for(backend), *args, **kwargs)
        inherited = backend is None and dist.group.WORLD in nccl
        # A process that isn't in the group gets a mere number.
        if isinstance(group, dist.ProcessGroup) and (backend == "nccl" or inherited):
            nccl.add(group)
        return group

    @functools.wraps(get_backend)
    def asked_backend(group: Any = None) -> Any:
        found = get_backend(group)
        return dist.Backend("nccl") if (group or dist.group.WORLD) in nccl else found

    dist.init_process_group = dist.distributed_c10d.init_process_group = init_process_group
    dist.new_group = dist.distributed_c10d.new_group = new_group_on_cpu
    dist.get_backend = asked_backend  # torch's own modules ask distributed_c10d, and go on with the truth
    dist.is_nccl_available = lambda: True


def _gloo_for(backend: str | None) -> str | None:
    return "gloo" if backend and "nccl" in backend.lower() else backend


def _wrap_all_reduce() -> None:
    """Give it the average, which nccl has and gloo lacks."""
    import torch.distributed as dist

    plain = dist.all_reduce

    @functools.wraps(plain)
    def all_reduce(
        tensor: torch.Tensor, op: Any = dist.ReduceOp.SUM, group: Any = None, async_op: bool = False
    ) -> Any:
        if op != dist.ReduceOp.AVG:
            return plain(tensor, op, group, async_op)
        plain(tensor, dist.ReduceOp.SUM, group)
        size = dist.get_world_size(group)
        tensor.div_(size) if tensor.is_floating_point() else tensor.floor_divide_(size)
        return _finished(tensor) if async_op else None

    dist.all_reduce = dist.distributed_c10d.all_reduce = all_reduce


def _finished(tensor: torch.Tensor) -> Any:
    """Return a handle of an operation that is done."""
    from torch._C import _distributed_c10d

    future: Any = torch.futures.Future()
    future.set_result([tensor])
    compiled: Any = _distributed_c10d
    return compiled._create_work_from_future(future)


def _wrap_ddp() -> None:
    """Let DistributedDataParallel take modules on "cuda"."""
    ddp = nn.parallel.DistributedDataParallel
    init = ddp.__init__

    def ddp_init(
        self: Any, module: nn.Module, device_ids: Any = None, output_device: Any = None, **kwargs: Any
    ) -> None:
        init(self, module, **kwargs)
        _parallel_modules.add(self)

    ddp.__init__ = ddp_init


def _close() -> None:
    """Let go of all groups, and let gloo's threads free the last tensors.

    They need the interpreter for that, and bring the process down where it has ended.
    """
    for module in list(_parallel_modules):
        module.reducer = module.logger = module.process_group = None
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    time.sleep(_SECONDS_TO_FREE)  # a group may be held elsewhere, too
