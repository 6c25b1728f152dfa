"""Looking at a program's tensors without the program noticing, or anything that watches it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
from torch.nn.parameter import is_lazy

_C: Any = torch._C


@contextlib.contextmanager
def unseen() -> Iterator[None]:
    """Run operators outside of autograd, autocast, and all modes of torch functions and dispatch.

    No inventory lists them, and no mapping of devices turns them into something else.
    """
    with torch.no_grad(), _C.DisableTorchFunction(), _C._DisableTorchDispatch(), _C._DisableAutocast():
        yield


def why_unreadable(tensor: torch.Tensor) -> str:
    """Return why the numbers of a tensor can't be read; "" if they can."""
    if _C._functorch.is_functorch_wrapped_tensor(tensor):
        return "within a transform of torch.func"
    if is_lazy(tensor):
        return "it has no shape yet"
    if type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:  # FakeTensor, DTensor …
        return f"a tensor of class {type(tensor).__name__} is not looked into"
    if tensor.device.type == "meta":
        return "a tensor without data"
    if tensor.is_quantized or tensor.is_nested:
        return "a quantized tensor" if tensor.is_quantized else "a nested tensor"
    if tensor.layout not in (torch.strided, torch.sparse_coo):
        return f"a tensor of layout {str(tensor.layout)[6:]}"
    return ""


def has_shape(tensor: torch.Tensor) -> bool:
    """Whether a tensor has a shape that can be asked for."""
    return not (is_lazy(tensor) or tensor.is_nested)


def readable(tensor: torch.Tensor) -> torch.Tensor:
    """Return a strided tensor of the numbers, in host memory where a simulation has them there already.

    Of a sparse tensor these are the values, after equal indices are added up. It may share memory with
    ``tensor``. To be called within :func:`unseen`.
    """
    tensor = tensor.detach()
    if tensor.layout == torch.sparse_coo:
        tensor = tensor.coalesce().values()
    if tensor.device.type == "npu" and _is_simulated():
        tensor = torch.ops.cuda2npu_sim.cpu_alias(tensor)
    return tensor.resolve_conj().resolve_neg()


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """Return a contiguous copy on the CPU that shares no memory; to be called within :func:`unseen`.

    Complex numbers become pairs of real ones, in a last dimension: safetensors has no type for all of them.
    """
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    return torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu").copy_(tensor)


@cache
def _is_simulated() -> bool:
    import torch_npu

    return getattr(torch_npu, "IS_SIMULATED", False)
