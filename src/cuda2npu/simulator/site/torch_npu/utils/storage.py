"""Reads checkpoints that were written on a real NPU: their tensors name a function of this module."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch

from cuda2npu.simulator.names import only_names_of_target


def _rebuild_npu_tensor(
    storage: Any,
    storage_offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool,
    backward_hooks: OrderedDict[Any, Any],
    npu_storage_info: Any,
) -> torch.Tensor:
    """Return the tensor where ``storage`` lies, which is where map_location says.

    Without a map_location it is the CPU; the real package then moves the tensor to the NPU.
    """
    tensor = torch._utils._rebuild_tensor(storage, storage_offset, size, stride)
    tensor.requires_grad = requires_grad
    tensor._backward_hooks = backward_hooks
    return tensor


if hasattr(torch.serialization, "add_safe_globals"):
    torch.serialization.add_safe_globals([_rebuild_npu_tensor])

only_names_of_target(__name__)
