"""Functions of torch that take a device."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._device import DeviceContext, _device_constructors

import torch_npu
from torch_npu._transfer.arguments import on_npu, patch

_TORCH = (
    "logspace", "randint", "hann_window", "rand", "full_like", "ones_like", "rand_like", "randperm",
    "arange", "frombuffer", "normal", "_empty_per_channel_affine_quantized", "empty_strided", "empty_like",
    "scalar_tensor", "tril_indices", "bartlett_window", "ones", "sparse_coo_tensor", "randn",
    "kaiser_window", "tensor", "triu_indices", "as_tensor", "zeros", "randint_like", "full", "eye",
    "_sparse_csr_tensor_unsafe", "empty", "_sparse_coo_tensor_unsafe", "blackman_window", "zeros_like",
    "range", "sparse_csr_tensor", "randn_like", "from_file", "_cudnn_init_dropout_state",
    "_empty_affine_quantized", "linspace", "hamming_window", "empty_quantized", "_pin_memory", "load",
    "set_default_device", "get_device_module", "sparse_compressed_tensor", "get_autocast_dtype",
    "set_autocast_dtype",
)  # fmt: skip
_TENSOR = (
    "new_empty",
    "new_empty_strided",
    "new_full",
    "new_ones",
    "new_tensor",
    "new_zeros",
    "to",
    "pin_memory",
)
_SCRIPT = (
    "torch.jit.script and torch.jit.script_method will be disabled by transfer_to_npu, "
    "which currently does not support them."
)


def apply() -> None:
    """Make them take CUDA devices. torch.device("cuda") itself stays a CUDA device until one gets it."""
    _device_constructors()  # keeps the functions as they are, before they are replaced
    patch(torch, _TORCH)
    patch(torch.Tensor, _TENSOR)
    patch(torch.nn.Module, ("to", "to_empty"))
    patch(torch.fft, ("fftfreq", "rfftfreq"))
    patch(torch.amp, ("custom_fwd", "custom_bwd"))
    for cls in (torch.amp.autocast_mode.autocast, DeviceContext):
        patch(cls, ("__init__",))
    tensor: Any = torch.Tensor
    tensor.cuda, tensor.is_cuda = tensor.npu, tensor.is_npu
    module: Any = torch.nn.Module
    module.cuda = module.npu
    storage: Any = torch.storage.TypedStorage
    storage.is_cuda = storage.is_npu
    _autocast()
    _generators()
    _script()


def _autocast() -> None:
    """Let the switches of autocast, which stand for CUDA when no device is named, stand for the NPU."""
    is_enabled, set_enabled = torch.is_autocast_enabled, torch.set_autocast_enabled

    @functools.wraps(is_enabled)
    def is_autocast_enabled(device_type: Any = None) -> bool:
        return is_enabled((device_type or "npu").replace("cuda", "npu"))

    @functools.wraps(set_enabled)
    def set_autocast_enabled(*args: Any, **kwargs: Any) -> None:
        if len(args) + len(kwargs) == 1:
            args = ("npu", *args)
        on_npu(set_enabled)(*args, **kwargs)

    changed: Any = torch
    changed.is_autocast_enabled = is_autocast_enabled
    changed.set_autocast_enabled = set_autocast_enabled
    changed.get_autocast_gpu_dtype = torch_npu.npu.get_autocast_dtype
    changed.set_autocast_gpu_dtype = torch_npu.npu.set_autocast_dtype


def _generators() -> None:
    """Let torch.Generator and torch.Event take CUDA devices, and still be what isinstance asks for."""
    changed: Any = torch
    for name in ("Generator", "Event"):
        plain = getattr(torch, name)
        check = {"__instancecheck__": lambda cls, each, plain=plain: isinstance(each, plain)}
        meta = type(f"_{name}Meta", (type(plain),), check)
        make = {"__new__": _maker(plain)}
        setattr(changed, name, meta(name, (plain,), make))


def _maker(plain: Any) -> Callable[..., Any]:
    def make(cls: type, *args: Any, **kwargs: Any) -> Any:
        return on_npu(functools.partial(plain.__new__, cls))(*args, **kwargs)

    return make


def _script() -> None:
    warnings.warn(_SCRIPT, RuntimeWarning, stacklevel=4)
    jit: Any = torch.jit
    jit.script = lambda obj, *args, **kwargs: obj
    jit.script_method = lambda function: function
