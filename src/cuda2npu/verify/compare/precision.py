"""Which precision a tensor really has: a device may compute float32 in fewer bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuda2npu.verify.compare.thresholds import Tolerance, tolerance
from cuda2npu.verify.records import Header, Record

_FLAGS = ("allow_tf32", "allow_hf32", "matmul.allow_hf32", "conv.allow_hf32")
_MATMUL = "float32_matmul_precision"


def effective(record: Record, header: Header) -> Tolerance | None:
    """Return the tolerance of a record's type; None for what isn't floating.

    With TF32 or HF32 on, float32 is rounded to about 11 bits on a real device, before it is multiplied.
    """
    if record.dtype == "float32" and reduced(header):
        return tolerance("hf32")
    return tolerance(record.dtype)


def reduced(header: Header) -> bool:
    """Whether float32 is multiplied in fewer bits: by TF32 on a GPU or HF32 on an NPU."""
    return header.device in ("cuda", "npu") and _any_set(header.environment)


def _any_set(found: Mapping[str, Any]) -> bool:
    for name, value in found.items():
        if isinstance(value, Mapping):
            if _any_set(value):
                return True
        elif (value is True and name.endswith(_FLAGS)) or (name == _MATMUL and value in ("high", "medium")):
            return True
    return False
