"""Arguments and results that are no tensors, as a type and a value by which equals compare."""

from __future__ import annotations

import enum
import hashlib
import pathlib
import types
from typing import Any

import torch
from torch import nn

_TEXT = 200  # characters of a text that are kept; of a longer one a digest tells the rest
_BY_TEXT = (torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size)
_BY_REPR = (range, slice, complex)
_BY_NAME = (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType)


def plain(value: Any) -> dict[str, Any]:
    """Return ``dtype`` and ``value`` of a leaf, or a ``note`` if it is of a class that isn't known."""
    dtype = type(value).__name__
    if value is None or (isinstance(value, (bool, int, float)) and not isinstance(value, enum.Enum)):
        return {"dtype": dtype, "value": value}
    text = _text(value)
    if text is None:
        return {"dtype": dtype, "note": "an object of this class is not looked into"}
    return {"dtype": f"torch.{dtype}" if isinstance(value, torch.dtype) else dtype, "value": _short(text)}


def _text(value: Any) -> str | None:
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, str):
        return value
    if isinstance(value, _BY_TEXT):
        return str(value)
    if isinstance(value, _BY_REPR):
        return repr(value)
    if isinstance(value, (bytes, bytearray)):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, _BY_NAME):
        return str(getattr(value, "__qualname__", value.__name__))
    if isinstance(value, (nn.Module, torch.Generator)):
        return "one"  # which one, its outputs tell
    if isinstance(value, pathlib.PurePath):  # original and conversion lie in two folders
        return value.name
    if isinstance(value, (set, frozenset)):
        texts = [repr(each) for each in value if isinstance(each, (str, int, float, bool))]
        return ", ".join(sorted(texts)) if len(texts) == len(value) else None
    return None


def _short(text: str) -> str:
    if len(text) <= _TEXT:
        return text
    return f"{text[:_TEXT]}… ({hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()})"
