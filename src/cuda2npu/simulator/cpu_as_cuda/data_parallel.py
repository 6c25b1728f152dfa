"""``nn.DataParallel`` without GPUs: the batch is split, and the parts run one after the other."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from cuda2npu.simulator.cpu_as_cuda import placement

Copies = list[list[torch.Tensor]]  # by device, and in it by tensor


class DataParallel(nn.Module):
    """Gives the results of ``nn.DataParallel``: batch statistics are those of each part.

    Each part runs on a copy of the module, which torch makes as it does for GPUs. So what the copies keep
    is thrown away, and the gradients of each part are summed before those of the parts are.
    """

    def __init__(self, module: nn.Module, device_ids: Any = None, output_device: Any = None, dim: int = 0):
        super().__init__()
        self.module = module
        self.dim = dim
        devices = range(torch.cuda.device_count()) if device_ids is None else device_ids
        self.device_ids = [placement.number_of(device) for device in devices]

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Run the module on each part of the inputs, and join the outputs."""
        if len(self.device_ids) < 2:
            return self.module(*inputs, **kwargs)
        parts = scatter((inputs, kwargs), len(self.device_ids), self.dim)
        devices = self.device_ids[: len(parts)]
        outputs = []
        for device, part, (args, named) in zip(devices, _copies_of(self.module, devices), parts):
            with torch.cuda.device(device):
                outputs.append(part(*args, **named))
        return gather(outputs, self.dim)


class _Broadcast(torch.autograd.Function):
    """Copies of tensors for several devices; the gradients are the sums of those of the copies."""

    @staticmethod
    def forward(ctx: Any, count: int, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return all tensors once for each of ``count`` devices; those of the first share their memory."""
        ctx.count = count
        copies = [tensor.detach() for tensor in tensors]
        for _ in range(count - 1):
            copies += [tensor.clone() for tensor in tensors]
        fixed = [not needed for needed in ctx.needs_input_grad[1:]] * count
        ctx.mark_non_differentiable(*(copy for copy, is_fixed in zip(copies, fixed) if is_fixed))
        return tuple(copies)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Sum the gradients in the order of the devices, as torch does for GPUs."""
        of_device = len(gradients) // ctx.count
        sums = gradients[:of_device]
        for first in range(of_device, len(gradients), of_device):
            sums = tuple(a + b for a, b in zip(sums, gradients[first : first + of_device]))
        return (None, *sums)


def _broadcast(tensors: Sequence[torch.Tensor], devices: Sequence[int], detach: bool = False) -> Copies:
    """Stand in for the function by which torch's ``replicate`` copies parameters and buffers."""
    if not tensors:
        return []
    if detach:  # buffers: what is written into those of the first device stays
        return [list(tensors), *([tensor.detach().clone() for tensor in tensors] for _ in devices[1:])]
    copies = _Broadcast.apply(len(devices), *tensors)
    rows = [copies[i : i + len(tensors)] for i in range(0, len(copies), len(tensors))]
    return [placement.mark(list(row), device) for row, device in zip(rows, devices)]


def _copies_of(module: nn.Module, devices: Sequence[int]) -> list[nn.Module]:
    copies: list[nn.Module] = nn.parallel.replicate(module, devices, not torch.is_grad_enabled())
    return copies


def install() -> None:
    """Put it into torch."""
    # Functions of the same names hide two of the modules.
    for name in ("torch.nn", "torch.nn.parallel", "torch.nn.parallel.data_parallel"):
        module: Any = importlib.import_module(name)
        module.DataParallel = DataParallel
    replicate: Any = importlib.import_module("torch.nn.parallel.replicate")
    replicate._broadcast_coalesced_reshape = _broadcast


def scatter(value: Any, count: int, dim: int) -> list[Any]:
    """Split the tensors in ``value`` into at most ``count`` parts; what holds none is in every part."""
    if isinstance(value, torch.Tensor):
        return list(value.chunk(count, dim))
    if isinstance(value, (tuple, list)) and value:
        columns = [scatter(item, count, dim) for item in value]
        return [type(value)(row) for row in zip(*columns)]
    if isinstance(value, dict) and value:
        columns = [scatter(item, count, dim) for item in value.values()]
        return [dict(zip(value, row)) for row in zip(*columns)]
    return [value] * count


def gather(outputs: Sequence[Any], dim: int) -> Any:
    """Join what the parts returned; scalars become a vector, as on GPUs."""
    first = outputs[0]
    if isinstance(first, torch.Tensor):
        return torch.stack(list(outputs)) if first.dim() == 0 else torch.cat(list(outputs), dim)
    if isinstance(first, dict):
        return type(first)((key, gather([output[key] for output in outputs], dim)) for key in first)
    if isinstance(first, (tuple, list)):
        return type(first)(gather(column, dim) for column in zip(*outputs))
    return first
