"""Tensors on the device in the queues and arguments of other processes: sent as a copy.

The real package shares the memory of the card from 2.6 on; what one process writes, the other one
doesn't see here.
"""

from __future__ import annotations

import io
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
import torch.multiprocessing.reductions as reductions


def _rebuild(content: bytes, device: str, is_parameter: bool, requires_grad: bool) -> torch.Tensor:
    tensor = torch.load(io.BytesIO(content), weights_only=True).to(device)
    if is_parameter:
        return torch.nn.Parameter(tensor, requires_grad)
    return tensor.requires_grad_(requires_grad)


def apply() -> None:
    """Put it into torch's pickler for processes."""
    plain = reductions.reduce_tensor

    def reduce_tensor(tensor: torch.Tensor) -> Any:
        if tensor.device.type != "npu":
            return plain(tensor)
        if tensor.requires_grad and not tensor.is_leaf:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does "
                "not support crossing process boundaries. If you just want to transfer the data, call "
                "detach() on the tensor before serializing (e.g., putting it on the queue)."
            )
        content = io.BytesIO()
        torch.save(tensor.detach().cpu(), content)
        is_parameter = isinstance(tensor, torch.nn.Parameter)
        return _rebuild, (content.getvalue(), str(tensor.device), is_parameter, tensor.requires_grad)

    reductions.reduce_tensor = reduce_tensor
    for cls in (*torch._tensor_classes, torch.Tensor, torch.nn.Parameter):
        ForkingPickler.register(cls, reduce_tensor)
