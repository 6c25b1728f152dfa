"""``torch.npu.FloatTensor`` and its like: constructors, and types for isinstance and Tensor.type."""

from __future__ import annotations

from typing import Any

import torch

from torch_npu import _backend

_DTYPES = {
    "BFloat16": torch.bfloat16,
    "Bool": torch.bool,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Double": torch.float64,
    "Float": torch.float32,
    "Half": torch.float16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Short": torch.int16,
}


class _LegacyType(type):
    """The type of the legacy types. They are no torch.tensortype: set_default_tensor_type refuses them."""

    dtype: torch.dtype

    def __call__(cls, *args: Any, device: Any = None) -> torch.Tensor:
        """Make a tensor of a size, of data, or from another tensor, as torch.FloatTensor does."""
        place = torch.device("npu", _backend.current_device()) if device is None else torch.device(device)
        if len(args) == 1 and not isinstance(args[0], (int, torch.Size)):
            return torch.as_tensor(args[0], dtype=cls.dtype).to(place, copy=True)
        size = args[0] if args and isinstance(args[0], torch.Size) else args
        return torch.empty(size or (0,), dtype=cls.dtype, device=place)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, torch.Tensor) and instance.is_npu and instance.dtype is cls.dtype


def _tensor_type(name: str) -> _LegacyType:
    cls = _LegacyType(f"{name}Tensor", (), {"__module__": "torch.npu", "dtype": _DTYPES[name]})
    cls.__doc__ = f"Tensors of {_DTYPES[name]} on the NPU."
    return cls


def _storage_type(name: str) -> type:
    """Return a class like torch.FloatStorage, which knows its type of numbers and warns when used."""
    dtype = _DTYPES[name]
    members = {"__module__": "torch.npu", "dtype": property(lambda self: dtype), "_dtype": dtype}
    return type(f"{name}Storage", (torch.storage._LegacyStorage,), members)


TENSOR_TYPES = {f"{name}Tensor": _tensor_type(name) for name in _DTYPES}
STORAGE_TYPES = {f"{name}Storage": _storage_type(name) for name in _DTYPES}


def dtype_of(legacy: Any) -> Any:
    """Return the dtype that a legacy type or its name stands for; None for anything else."""
    if isinstance(legacy, str):
        module, _, name = legacy.rpartition(".")
        legacy = TENSOR_TYPES.get(name) if module in ("torch.npu", "torch_npu.npu") else None
    return legacy.dtype if isinstance(legacy, _LegacyType) else None
