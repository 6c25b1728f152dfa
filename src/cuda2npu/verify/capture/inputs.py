"""Inputs of a model: cast, sent to a device, taken from a capture, and given to the model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from cuda2npu.verify.capture.access import why_unreadable
from cuda2npu.verify.capture.structure import rebuild
from cuda2npu.verify.store import CaptureError, open_captures

_COMPLEX = {torch.float32: torch.complex64, torch.float64: torch.complex128}  # the others have none


def cast(inputs: Any, device: torch.device, dtype: torch.dtype | None) -> Any:
    """Send all tensors to a device, and floating and complex ones to a type, if there is one."""

    def sent(path: str, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return value.to(device, _type_for(value, dtype))

    return rebuild(inputs, sent)


def cast_module(model: nn.Module, device: torch.device, dtype: torch.dtype | None) -> nn.Module:
    """Send a model to a device, and cast it. ``Module.to`` would drop imaginary parts."""
    if dtype is None:
        return model.to(device)
    return model._apply(lambda tensor: tensor.to(device, _type_for(tensor, dtype)))


def _type_for(tensor: torch.Tensor, dtype: torch.dtype | None) -> torch.dtype | None:
    if tensor.is_complex():
        return _COMPLEX.get(dtype) if dtype else None
    return dtype if tensor.is_floating_point() else None


def call_with(model: nn.Module, inputs: Any) -> Any:
    """Call a model with copies of the inputs, as it may write into them."""
    fresh = rebuild(inputs, lambda path, v: v.clone() if isinstance(v, torch.Tensor) and v.is_leaf else v)
    if isinstance(fresh, Mapping):
        return model(**fresh)
    if isinstance(fresh, (tuple, list)) and not hasattr(fresh, "_fields"):
        return model(*fresh)
    return model(fresh)


def named(inputs: Any) -> dict[str, torch.Tensor]:
    """Return the tensors by path; those that aren't strided are drawn anew by each run."""
    found = {}

    def note(path: str, value: Any) -> Any:
        if _is_kept(value):
            found[path] = value
        return value

    rebuild(inputs, note)
    return found


def of_capture(folder: Path, rank: int, inputs: Any) -> Any:
    """Return the inputs of a captured model, in the structure of ``inputs``.

    :raises CaptureError: if one isn't there, or is of another shape.
    """
    captures = open_captures(folder)
    capture = captures[min(rank, len(captures) - 1)]
    there = capture.inputs() if named(inputs) else {}

    def taken(path: str, mine: Any) -> Any:
        if not _is_kept(mine):
            return mine
        tensor = there.get(path)
        if tensor is None:
            has = ", ".join(map(repr, sorted(there))) or "none"
            raise CaptureError(f"{capture.folder}: the input {path!r} isn't there: it has {has}")
        if tensor.shape != mine.shape:
            raise CaptureError(
                f"{capture.folder}: the input {path!r} is {list(tensor.shape)} there "
                f"and {list(mine.shape)} here"
            )
        return tensor

    return rebuild(inputs, taken)


def _is_kept(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not why_unreadable(value) and value.layout == torch.strided
