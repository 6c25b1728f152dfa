"""``Tensor.type`` with the legacy types of the NPU: ``x.type("torch.npu.HalfTensor")``."""

from __future__ import annotations

import functools
from typing import Any

import torch

from torch_npu.npu._legacy_types import dtype_of


def apply() -> None:
    """Put it into torch."""
    plain = torch.Tensor.type

    @functools.wraps(plain)
    def type_(self: torch.Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        legacy = dtype_of(dtype)
        if legacy is None:
            return plain(self, dtype, non_blocking, **kwargs)
        return self.to(device="npu", dtype=legacy, non_blocking=non_blocking)

    torch.Tensor.type = type_
