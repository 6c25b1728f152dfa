"""What nn.DataParallel calls in C++: a CPU build of torch lacks it, and libtorch_npu.so brings its own.

(``torch_npu::data_parallel`` in lib/libtorch_npu.so of the wheels 2.5.1.post1 to 2.13.0.)
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Union

import torch

Tensor = torch.Tensor
Card = Union[int, torch.device, str]


def _place(card: Card) -> torch.device:
    if isinstance(card, int):
        return torch.device("cpu") if card < 0 else torch.device("npu", card)
    return torch.device(card)


def scatter(
    tensor: Tensor,
    devices: Sequence[Card],
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Any = None,
) -> list[Tensor]:
    """Split ``tensor`` and put one part on each card."""
    parts = tensor.split(list(chunk_sizes), dim) if chunk_sizes else tensor.chunk(len(devices), dim)
    return [part.to(_place(device)) for part, device in zip(parts, devices)]


def scatter_out(tensor: Tensor, out: Sequence[Tensor], dim: int = 0, streams: Any = None) -> list[Tensor]:
    """Split ``tensor`` into the tensors ``out``."""
    parts = tensor.split([each.size(dim) for each in out], dim)
    return [each.copy_(part) for each, part in zip(out, parts)]


def gather(tensors: Sequence[Tensor], dim: int = 0, destination: Card | None = None) -> Tensor:
    """Put tensors together on one card."""
    place = tensors[0].device if destination is None else _place(destination)
    return torch.cat([tensor.to(place) for tensor in tensors], dim)


def gather_out(tensors: Sequence[Tensor], out: Tensor, dim: int = 0) -> Tensor:
    """Put tensors together in ``out``."""
    return out.copy_(gather(tensors, dim, out.device))


def broadcast(tensor: Tensor, devices: Sequence[Card]) -> list[Tensor]:
    """Put a copy on each card; the one where the tensor lies gets the tensor itself."""
    return [tensor.to(_place(device)) for device in devices]


def broadcast_out(tensor: Tensor, out: Sequence[Tensor]) -> list[Tensor]:
    """Copy ``tensor`` into each of ``out``."""
    return [each.copy_(tensor) for each in out]


def broadcast_coalesced(
    tensors: Sequence[Tensor], devices: Sequence[Card], buffer_size: int = 0
) -> list[list[Tensor]]:
    """Put copies of several tensors on each card."""
    return [[tensor.to(_place(device)) for tensor in tensors] for device in devices]


class _OneAfterTheOther(threading.Thread):
    """A thread that its starter waits for."""

    def start(self) -> None:
        """Run it to its end."""
        super().start()
        self.join()


def apply() -> None:
    """Give torch._C what a CPU build lacks, and a CUDA build has for CUDA alone."""
    # All cards draw from one generator here: side by side, the parts of a batch would draw from it in
    # another order in each run. The module hides behind its function of the same name.
    parallel: Any = importlib.import_module("torch.nn.parallel.parallel_apply")
    parallel.threading = SimpleNamespace(Lock=threading.Lock, Thread=_OneAfterTheOther)
    for function in (
        scatter, scatter_out, gather, gather_out, broadcast, broadcast_out, broadcast_coalesced
    ):  # fmt: skip
        setattr(torch._C, f"_{function.__name__}", function)
