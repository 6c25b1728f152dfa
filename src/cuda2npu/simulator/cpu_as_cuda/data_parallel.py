"""``nn.DataParallel`` without GPUs: the batch is split, and the parts run one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import nn


class DataParallel(nn.Module):
    """Gives the results of ``nn.DataParallel``: batch statistics are those of each part.

    The gradients of the parts add up in the parameters, which all parts share. Only the first part
    changes buffers, as copies of the module on other devices are thrown away.
    """

    def __init__(self, module: nn.Module, device_ids: Any = None, output_device: Any = None, dim: int = 0):
        super().__init__()
        self.module = module
        self.dim = dim
        count = torch.cuda.device_count()
        self.device_ids = list(range(count)) if device_ids is None else [_number(d) for d in device_ids]

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Run the module on each part of the inputs, and join the outputs."""
        if len(self.device_ids) < 2:
            return self.module(*inputs, **kwargs)
        parts = scatter((inputs, kwargs), len(self.device_ids), self.dim)
        outputs = []
        for number, (args, named) in enumerate(parts):
            with _with_copied_buffers(self.module) if number else nullcontext():
                outputs.append(self.module(*args, **named))
        return gather(outputs, self.dim)


def _number(device: Any) -> int:
    return device if isinstance(device, int) else torch.device(device).index or 0


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


@contextmanager
def _with_copied_buffers(module: nn.Module) -> Iterator[None]:
    """Let copies take the buffers' places for a while, so that what is done to them is lost."""
    kept = [(part, dict(part._buffers)) for part in module.modules()]
    for part, buffers in kept:
        copies = {name: None if buffer is None else buffer.clone() for name, buffer in buffers.items()}
        part._buffers.update(copies)
    try:
        yield
    finally:
        for part, buffers in kept:
            part._buffers.update(buffers)
