"""``torch.npu.matmul.allow_hf32`` and ``torch.npu.conv.allow_hf32``: switches for HF32, as TF32 has them."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from cuda2npu.simulator.names import target

_MATH_TYPES = {
    "KEEP_DTYPE": 0,
    "ALLOW_FP32_DOWN_PRECISION": 1,
    "USE_FP16": 2,
    "USE_HF32": 3,
    "FORCE_GRP_ACC_FOR_FP32": 4,
    "USE_FP32_ADD": 4,  # the new name, which 2.6 doesn't have
}
if not target().table.has("torch.npu.CubeMathType.USE_FP32_ADD"):
    del _MATH_TYPES["USE_FP32_ADD"]
_CubeMathType = IntEnum("_CubeMathType", _MATH_TYPES)


class _AllowHF32:
    """A switch for HF32, the counterpart of TF32."""

    _default = False

    def __init__(self) -> None:
        self.__dict__["_set"] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "allow_hf32" and not isinstance(value, bool):
            raise TypeError(f"allow_hf32 must be a bool, but got {type(value).__name__}")
        if name == "cube_math_type" and not isinstance(value, _CubeMathType):
            raise TypeError(f"value should be one of Enum CubeMathType, but got {type(value)}")
        self._set[name] = value

    def __getattr__(self, name: str) -> Any:
        if name == "allow_hf32":
            return self._set.get(name, self._default)
        return self._set.get(name) if name == "cube_math_type" else None


class _allowHF32Matmul(_AllowHF32):  # noqa: N801
    _default = False


class _allowHF32Conv(_AllowHF32):  # noqa: N801
    _default = True
