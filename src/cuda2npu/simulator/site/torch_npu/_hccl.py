"""Process groups ``hccl``: gloo over the host memory of npu tensors.

What HCCL lacks is refused here too: the texts are those in lib/libtorch_npu.so of the wheels 2.5.1.post1
to 2.13.0. Where gloo lacks in some version what HCCL has, it is put together from other collectives.
"""

from __future__ import annotations

import atexit
import socket
import warnings
import weakref
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import (
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    ReduceOp,
    _create_work_from_future,
)

from torch_npu import _backend

Tensors = Sequence[torch.Tensor]
_REFUSED_REDUCTIONS = ("BAND", "BOR", "BXOR", "PREMUL_SUM")
_open_groups: weakref.WeakSet[ProcessGroupHCCL] = weakref.WeakSet()


class ProcessGroupHCCL(dist.ProcessGroup):
    """A process group whose collectives have finished when they return."""

    class Options:
        """Settings of a group. Those of HCCL itself are taken and have no effect."""

        def __init__(self, is_high_priority_stream: bool = False) -> None:
            self.is_high_priority_stream = is_high_priority_stream
            self.hccl_config: dict[str, Any] = {}
            self.global_ranks_in_group: list[int] = []
            self.group_id = ""
            self._timeout = timedelta(minutes=30)

    # Asked of a backend, which a group written in Python is at the same time.
    supports_splitting = False
    supports_coalescing = False
    supports_time_estimate = False
    supports_shrinking = False

    def __init__(self, store: Any, rank: int, size: int, options: Options) -> None:
        super().__init__(rank, size)
        self.options = options
        self._rank, self._size = rank, size
        self._store = store
        self._gloo: Any = dist.ProcessGroupGloo(store, rank, size, options._timeout)
        _open_groups.add(self)
        self._claimed = False
        self._name = options.group_id

    def rank(self) -> int:
        """Return the number of this process in the group."""
        return self._rank

    def size(self) -> int:
        """Return how many processes the group has."""
        return self._size

    def name(self) -> str:
        """Return ``hccl``."""
        return "hccl"

    def getBackendName(self) -> str:
        """Return ``hccl``; PyTorch's C++ part asks."""
        return "hccl"

    @property
    def group_name(self) -> str:
        """The name that torch gave to the group; device meshes find it by that."""
        return self._name

    def getGroupName(self) -> str:
        """Return :attr:`group_name`; PyTorch's C++ part asks."""
        return self._name

    def _set_group_name(self, name: str) -> None:
        self._name = name

    @property
    def _device_types(self) -> list[torch.device]:
        """The devices whose tensors the group takes; object collectives choose one of them."""
        types = [torch.device("npu")]
        return [torch.device("cpu"), *types] if self._takes_cpu() else types

    def _get_backend(self, device: torch.device) -> ProcessGroupHCCL:
        self._check_type(torch.device(device).type)
        return self

    def eager_connect_single_device(self, device: torch.device) -> None:
        """Do nothing: gloo has connected."""

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long a collective waits."""
        self.options._timeout = timeout
        self._gloo._set_default_timeout(timeout)

    def _set_default_timeout(self, timeout: timedelta) -> None:
        self.set_timeout(timeout)

    def shutdown(self) -> None:
        """Close gloo, and wait for its threads."""
        self._gloo = None

    def abort(self) -> None:
        """Close gloo."""
        self.shutdown()

    # --- collectives ----------------------------------------------------------------------------

    def allreduce(self, tensors: Tensors, opts: Any | None = None) -> Any:
        """Reduce each tensor over all processes."""
        tensors = _listed(tensors)
        self._reduce_all(self._host(tensors), opts.reduceOp if opts else ReduceOp.SUM)
        return _finished(tensors)

    def allreduce_coalesced(self, tensors: Tensors, opts: Any | None = None) -> Any:
        """Reduce several tensors over all processes."""
        for tensor in tensors:
            self._reduce_all(self._host([tensor]), opts.reduceOp if opts else ReduceOp.SUM)
        return _finished(tensors)

    def reduce(self, tensors: Tensors, opts: Any) -> Any:
        """Reduce over all processes into one."""
        average = _check_reduction(opts.reduceOp)
        if average:
            opts.reduceOp = ReduceOp.SUM
        host = self._host(tensors)
        self._gloo.reduce(host, opts).wait()
        if average and self._rank == opts.rootRank:
            host[0].div_(self._size)
        return _finished(tensors)

    def broadcast(self, tensors: Tensors, opts: Any) -> Any:
        """Send from one process to all."""
        tensors = _listed(tensors)
        self._gloo.broadcast(self._host(tensors), opts).wait()
        return _finished(tensors)

    def allgather(self, outputs: Sequence[Tensors], inputs: Tensors, opts: Any = None) -> Any:
        """Bring the tensors of all processes to all."""
        host = [self._host(each) for each in outputs]
        self._gloo.allgather(host, self._host(inputs)).wait()
        return _finished(outputs)

    def _allgather_base(self, output: torch.Tensor, input: torch.Tensor, opts: Any = None) -> Any:
        parts = list(self._host([output])[0].view(-1).chunk(self._size))
        self._gloo.allgather([parts], [self._host([input])[0].reshape(-1)]).wait()
        return _finished([output])

    def allgather_into_tensor_coalesced(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> Any:
        """Bring several tensors of all processes to all."""
        for output, given in zip(outputs, inputs):
            self._allgather_base(output, given)
        return _finished(outputs)

    def allgather_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """Not in HCCL."""
        raise RuntimeError("Backend hccl does not support allgather_coalesced")

    def gather(self, outputs: Sequence[Tensors], inputs: Tensors, opts: Any) -> Any:
        """Bring the tensors of all processes to one, with an allgather as torch_npu does."""
        at_root = self._rank == opts.rootRank
        if at_root:
            text = "HCCL doesn't support gather at the moment. Implemented with allgather instead."
            warnings.warn(text, stacklevel=2)
        parts = list(outputs[0]) if at_root else [torch.empty_like(inputs[0]) for _ in range(self._size)]
        return self.allgather([parts], inputs)

    def scatter(self, outputs: Tensors, inputs: Sequence[Tensors], opts: Any) -> Any:
        """Send from one process a tensor to each."""
        self._gloo.scatter(self._host(outputs), [self._host(each) for each in inputs], opts).wait()
        return _finished(outputs)

    def reduce_scatter(self, outputs: Tensors, inputs: Sequence[Tensors], opts: Any) -> Any:
        """Reduce over all processes, and leave to each its part."""
        for output, parts in zip(self._host(outputs), inputs):
            summed = [part.clone() for part in self._host(parts)]
            for part in summed:
                self._reduce_all([part], opts.reduceOp)
            output.copy_(summed[self._rank])
        return _finished(outputs)

    def _reduce_scatter_base(self, output: torch.Tensor, input: torch.Tensor, opts: Any = None) -> Any:
        summed = self._host([input])[0].clone()
        self._reduce_all([summed], opts.reduceOp if opts else ReduceOp.SUM)
        host = self._host([output])[0]
        host.copy_(summed.view(-1).chunk(self._size)[self._rank].view_as(host))
        return _finished([output])

    def reduce_scatter_tensor_coalesced(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> Any:
        """Reduce several tensors, and leave to each process its parts."""
        for output, given in zip(outputs, inputs):
            self._reduce_scatter_base(output, given, opts)
        return _finished(outputs)

    def alltoall_base(
        self,
        output: torch.Tensor,
        input: torch.Tensor,
        output_sizes: Sequence[int],
        input_sizes: Sequence[int],
        opts: Any = None,
    ) -> Any:
        """Send a part of a tensor to each process."""
        host = self._host([output])[0], self._host([input])[0]
        sizes = list(output_sizes or []), list(input_sizes or [])
        self._gloo.alltoall_base(*host, *sizes, opts or AllToAllOptions()).wait()
        return _finished([output])

    def alltoall(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> Any:
        """Send a tensor to each process."""
        received, sent = self._host(outputs), self._host(inputs)
        flat = torch.cat([part.reshape(-1) for part in sent])
        into = flat.new_empty(sum(part.numel() for part in received))
        sizes = [part.numel() for part in received], [part.numel() for part in sent]
        self._gloo.alltoall_base(into, flat, *sizes, AllToAllOptions()).wait()
        for part, got in zip(received, into.split(sizes[0])):
            part.copy_(got.view_as(part))
        return _finished(outputs)

    # The names that torch 2.13 gave to those with one tensor.
    all_gather_single = _allgather_base
    reduce_scatter_single = _reduce_scatter_base
    all_to_all_single = alltoall_base
    all_gather_single_coalesced = allgather_into_tensor_coalesced
    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced

    def send(self, tensors: Tensors, dst: int, tag: int = 0) -> Any:
        """Send to one process; what is returned can be waited for."""
        return self._gloo.send(self._host(tensors), dst, tag)

    def recv(self, tensors: Tensors, src: int, tag: int = 0) -> Any:
        """Receive from one process; what is returned can be waited for."""
        return self._gloo.recv(self._host(tensors), src, tag)

    def recv_anysource(self, tensors: Tensors, tag: int = 0) -> Any:
        """Not in HCCL."""
        raise RuntimeError("ProcessGroupHCCL does not support recv from any source; give dist.recv a src")

    def barrier(self, opts: Any = None) -> Any:
        """Wait until all processes are here."""
        self._gloo.barrier(BarrierOptions()).wait()
        return _finished([])

    # --- tensors --------------------------------------------------------------------------------

    def _host(self, tensors: Tensors) -> list[torch.Tensor]:
        """Return CPU tensors over the same memory, in a type that gloo knows.

        :raises RuntimeError: for a tensor on a device that the group wasn't made for.
        """
        views = []
        for tensor in tensors:
            self._check_type(tensor.device.type)
            if tensor.is_npu:
                self._claim(tensor.device.index)
            if tensor.is_sparse:
                raise RuntimeError("Tensors must be NPU and dense")
            view = _backend.host_view(tensor)
            views.append(view.view(torch.uint8) if view.dtype is torch.bool else view)
        return views

    def _check_type(self, device_type: str) -> None:
        if device_type == "npu" or (device_type == "cpu" and self._takes_cpu()):
            return
        raise RuntimeError(f"No backend type associated with device type {device_type}")

    def _takes_cpu(self) -> bool:
        """Whether the group was made for both, as ``cpu:gloo,npu:hccl``."""
        config = dist.distributed_c10d._world.pg_backend_config.get(self, "")
        return "cpu:" in str(config)

    def _claim(self, card: int) -> None:
        """Take a card for this process; HCCL gives each process of a group its own.

        :raises RuntimeError: if another process on this machine has it, which usually means that
            torch.npu.set_device(local_rank) is missing.
        """
        if self._claimed:
            return
        self._claimed = True
        if self._store.add(f"card/{socket.gethostname()}/{card}", 1) > 1:
            raise RuntimeError(
                f"npu:{card} is used by two processes of one group, which HCCL doesn't allow. Call "
                "torch.npu.set_device(local_rank) before the first tensor is made on the NPU."
            )

    def _reduce_all(self, host: list[torch.Tensor], reduction: Any) -> None:
        options = AllreduceOptions()
        average = _check_reduction(reduction)
        options.reduceOp = ReduceOp.SUM if average else reduction
        self._gloo.allreduce(host, options).wait()
        if average:
            for tensor in host:
                tensor.div_(self._size) if tensor.is_floating_point() else tensor.floor_divide_(self._size)


def _check_reduction(reduction: Any) -> bool:
    """Return whether it is the average, which gloo lacks.

    :raises ValueError: for one that HCCL lacks.
    """
    for name in _REFUSED_REDUCTIONS:
        if reduction == getattr(ReduceOp, name):
            raise ValueError(f"Cannot use ReduceOp.{name} with HCCL")
    return bool(reduction == ReduceOp.AVG)


def _listed(tensors: Any) -> list[torch.Tensor]:
    return [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)


def _finished(result: Any) -> Any:
    """Return a work object that is done and whose future holds ``result``; DDP takes it from there."""
    future: torch.futures.Future[Any] = torch.futures.Future()
    future.set_result(result)
    return _create_work_from_future(future)


def _create(backend: Any, options: Any) -> ProcessGroupHCCL:
    """Make the group that torch.distributed asks for."""
    if not isinstance(options, ProcessGroupHCCL.Options):
        options = ProcessGroupHCCL.Options()
    options._timeout = backend.timeout
    options.global_ranks_in_group = backend.global_ranks_in_group
    options.group_id = backend.group_id
    return ProcessGroupHCCL(backend.store, backend.group_rank, backend.group_size, options)


def is_hccl_available() -> bool:
    """Whether process groups ``hccl`` can be made."""
    return "hccl" in dist.Backend.backend_list


@atexit.register
def _shut_down_all() -> None:
    """Close what a program has left open: gloo's threads may not outlive the interpreter."""
    for group in list(_open_groups):
        group.shutdown()


def register() -> None:
    """Make ``hccl`` the backend of npu tensors."""
    dist.Backend.register_backend("hccl", _create, extended_api=True, devices=["npu"])
    dist.is_hccl_available = is_hccl_available
