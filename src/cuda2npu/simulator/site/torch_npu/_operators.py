"""The operators in ``torch_npu`` that are simple enough to be computed from those of torch.

The schemas are those of torch_npu 2.13 (torch.ops.npu); what each computes is what its documentation
says. Their gradients come from autograd. All other operators exist and raise NotImplementedError.
"""
# ruff: noqa: F401 - the names are what this module offers

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from torch_npu._attention import npu_fusion_attention

Tensor = torch.Tensor


class Format(IntEnum):
    """Layouts of a tensor in the memory of a card; here all lie as ND."""

    UNDEFINED = -1
    NCHW = 0
    NHWC = 1
    ND = 2
    NC1HWC0 = 3
    FRACTAL_Z = 4
    FRACTAL_NZ = 29
    NDC1HWC0 = 32
    FRACTAL_Z_3D = 33


# --- layouts and types --------------------------------------------------------------------------


def get_npu_format(input: Tensor) -> int:
    """Return the layout of ``input``: always ND."""
    return int(Format.ND)


def npu_format_cast(input: Tensor, acl_format: Any, **kwargs: Any) -> Tensor:
    """Return ``input``: it has but one layout."""
    return input


def npu_format_cast_(input: Tensor, src: Any, **kwargs: Any) -> Tensor:
    """Return ``input``: it has but one layout."""
    return input


def npu_dtype_cast(input: Tensor, dtype: torch.dtype) -> Tensor:
    """Return ``input`` as another type of numbers."""
    return input.to(dtype)


def empty_with_format(size: Sequence[int], *, acl_format: int = 2, **kwargs: Any) -> Tensor:
    """Return an uninitialised tensor, on the current card unless a device is given."""
    kwargs.pop("base_addr_aligned_kb", None)
    return torch.empty(size, **{"device": "npu", **kwargs})


def copy_memory_(input: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Copy ``src`` into ``input``."""
    return input.copy_(src, non_blocking)


def get_storage_size(input: Tensor) -> int:
    """Return how many numbers the storage of ``input`` holds."""
    return input.untyped_storage().nbytes() // input.element_size()


def one_(input: Tensor) -> Tensor:
    """Fill ``input`` with 1."""
    return input.fill_(1)


# --- shapes -------------------------------------------------------------------------------------


def npu_transpose(input: Tensor, perm: Sequence[int], require_contiguous: bool = True) -> Tensor:
    """Return ``input`` with its dimensions in another order."""
    return input.permute(*perm).contiguous() if require_contiguous else input.permute(*perm)


def npu_reshape(input: Tensor, shape: Sequence[int], can_refresh: bool = False) -> Tensor:
    """Return ``input`` in another shape."""
    return input.reshape(*shape)


def npu_broadcast(input: Tensor, size: Sequence[int]) -> Tensor:
    """Return ``input`` repeated to a larger shape."""
    return input.expand(*size).contiguous()


def npu_confusion_transpose(
    input: Tensor, perm: Sequence[int], shape: Sequence[int], transpose_first: bool
) -> Tensor:
    """Permute and reshape, in the order that ``transpose_first`` says."""
    if transpose_first:
        return input.permute(*perm).reshape(*shape)
    return input.reshape(*shape).permute(*perm).contiguous()


def npu_slice(input: Tensor, offsets: Sequence[int], size: Sequence[int]) -> Tensor:
    """Return the part of ``input`` that begins at ``offsets``."""
    return input[tuple(slice(o, o + s) for o, s in zip(offsets, size))].clone()


# --- norms --------------------------------------------------------------------------------------


def npu_rms_norm(input: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    """Return ``input`` over its root mean square, times ``gamma``, and the reciprocal of that mean.

    The mean runs over as many trailing dimensions as ``gamma`` has, in float32.
    """
    wide = input.float() if input.dtype in (torch.float16, torch.bfloat16) else input
    dims = tuple(range(-gamma.dim(), 0))
    rstd = torch.rsqrt(wide.pow(2).mean(dims, keepdim=True) + epsilon)
    return (wide * rstd * gamma).to(input.dtype), rstd


def npu_add_rms_norm(
    x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6
) -> tuple[Tensor, Tensor, Tensor]:
    """Add, and norm the sum; return the norm, the reciprocal root mean square and the sum."""
    total = x1 + x2
    normed, rstd = npu_rms_norm(total, gamma, epsilon)
    return normed, rstd, total


def npu_gemma_rms_norm(input: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    """Do what :func:`npu_rms_norm` does, with ``1 + gamma``."""
    return npu_rms_norm(input, gamma + 1, epsilon)


def npu_layer_norm_eval(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Return the layer norm of ``input``."""
    return F.layer_norm(input, list(normalized_shape), weight, bias, eps)


# --- activations --------------------------------------------------------------------------------


def npu_swiglu(input: Tensor, dim: int = -1) -> Tensor:
    """Return silu of the first half times the second half."""
    first, second = input.chunk(2, dim)
    return F.silu(first) * second


def npu_geglu(
    input: Tensor, dim: int = -1, approximate: int = 1, activate_left: bool = False
) -> tuple[Tensor, Tensor]:
    """Return one half times gelu of the other, and that gelu. ``approximate=1`` takes tanh."""
    left, right = input.chunk(2, dim)
    plain, activated = (right, left) if activate_left else (left, right)
    gelu = F.gelu(activated, approximate="tanh" if approximate else "none")
    return plain * gelu, gelu


def npu_gelu_mul(input: Tensor, *, approximate: str = "none") -> Tensor:
    """Return gelu of the first half of the last dimension times the second half."""
    first, second = input.chunk(2, -1)
    return F.gelu(first, approximate=approximate) * second


def npu_gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """Return gelu."""
    return F.gelu(input, approximate=approximate)


def fast_gelu(input: Tensor) -> Tensor:
    """Return the fast approximation of gelu, ``x * sigmoid(1.702 x)``."""
    return input * torch.sigmoid(1.702 * input)


def npu_fast_gelu(input: Tensor) -> Tensor:
    """Return what :func:`fast_gelu` does."""
    return fast_gelu(input)


def npu_silu(input: Tensor) -> Tensor:
    """Return silu."""
    return F.silu(input)


def npu_silu_(input: Tensor) -> Tensor:
    """Replace ``input`` by its silu."""
    return F.silu(input, inplace=True)


def npu_mish(input: Tensor) -> Tensor:
    """Return mish."""
    return F.mish(input)


def npu_scaled_masked_softmax(
    x: Tensor, mask: Tensor, scale: float = 1, fixed_triu_mask: bool = False
) -> Tensor:
    """Return the softmax of ``x * scale`` where ``mask`` isn't true."""
    if fixed_triu_mask:
        mask = torch.ones(x.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
    return torch.softmax((x * scale).masked_fill(mask, -10000.0), -1)


# --- attention, products ------------------------------------------------------------------------


def npu_rotary_mul(input: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half") -> Tensor:
    """Return ``input`` turned by the cosines ``r1`` and the sines ``r2``.

    :param rotary_mode: ``half`` pairs the halves of the last dimension, ``interleave`` its neighbours.
    """
    if rotary_mode == "interleave":
        first, second = input[..., ::2], input[..., 1::2]
        turned = torch.stack((-second, first), -1).flatten(-2)
    else:
        first, second = input.chunk(2, -1)
        turned = torch.cat((-second, first), -1)
    return input * r1 + turned * r2


def npu_linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return the linear map."""
    return F.linear(input, weight, bias)


def npu_bmmV2(input: Tensor, mat2: Tensor, output_sizes: Sequence[int]) -> Tensor:
    """Return the batched product, in the shape ``output_sizes`` unless it is empty."""
    product = torch.matmul(input, mat2)
    return product.view(*output_sizes) if output_sizes else product


def npu_max(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """Return the largest values along ``dim`` and where they stand, as int32."""
    values, indices = torch.max(input, dim, keepdim)
    return values, indices.to(torch.int32)


def npu_min(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """Return the smallest values along ``dim`` and where they stand, as int32."""
    values, indices = torch.min(input, dim, keepdim)
    return values, indices.to(torch.int32)


# --- the overflow flag of chips without INF/NAN mode ---------------------------------------------


def npu_alloc_float_status(input: Tensor) -> Tensor:
    """Return eight zeros, the flag of a chip on which nothing has overflowed."""
    return torch.zeros(8, device="npu")


def npu_get_float_status(input: Tensor, mode: int = 0) -> Tensor:
    """Return eight zeros: in INF/NAN mode the flag is never set."""
    return torch.zeros(8, device="npu")


def npu_clear_float_status(input: Tensor, mode: int = 0) -> Tensor:
    """Return eight zeros: in INF/NAN mode the flag is never set."""
    return torch.zeros(8, device="npu")


NAMES = tuple(
    name
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", "") in (__name__, "torch_npu._attention")
    and name != "Format"
)  # fmt: skip
