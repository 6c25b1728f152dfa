"""Settings of the chip. They are checked and kept as on the NPU, and change no result here."""
# ruff: noqa: F401 - the names are what this module offers

from __future__ import annotations

import os
from typing import Any

from cuda2npu.simulator.names import only_names_of_target
from torch_npu import _backend
from torch_npu.npu._hf32 import (
    _allowHF32Conv,
    _allowHF32Matmul,
    _CubeMathType,
)

__all__ = [
    "finalize_dump", "get_device_limit", "get_mm_bmm_format_nd", "get_stream_limit", "init_dump",
    "is_jit_compile_false", "reset_stream_limit", "set_aoe", "set_compile_mode", "set_device_limit",
    "set_dump", "set_mm_bmm_format_nd", "set_option", "set_stream_limit",
]  # fmt: skip

# Options and the values that torch_npu takes for them (torch_npu/npu/npu_config.py, wheel 2.7.1.post11).
_CHOICES = {
    "ACL_PRECISION_MODE": ("allow_fp32_to_fp16", "must_keep_origin_dtype"),
    "ACL_OP_SELECT_IMPL_MODE": ("high_performance", "high_precision"),
    "ACL_AICORE_NUM": tuple(str(number) for number in range(1, 33)),
    "ACL_OP_DEBUG_LEVEL": ("0", "1", "2", "3", "4"),
    "ACL_OP_COMPILER_CACHE_MODE": ("disable", "enable", "force"),
}
_CORES = {"cube_core_num": 24, "vector_core_num": 48}


class _Settings:
    jit_compile = False
    nd_format = True


class _npuConfig:  # noqa: N801
    """``torch.npu.config``: its one setting can be written but not read, as on the NPU."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Take a setting; the simulation has no internal formats."""


def set_option(option: dict[str, Any]) -> None:
    """Check options of the compiler of operators.

    :raises TypeError: if they are no dict.
    :raises ValueError: for a value that the option doesn't take.
    """
    if not isinstance(option, dict):
        raise TypeError("npu option must be a dict.")
    for name, value in option.items():
        choices = _CHOICES.get(name)
        if choices is not None and str(value) not in choices:
            raise ValueError(f"value of {name} should be in {list(choices)} but got {value}")
    if option.get("MM_BMM_ND_ENABLE") in ("enable", "disable"):
        set_mm_bmm_format_nd(option["MM_BMM_ND_ENABLE"] == "enable")


def set_compile_mode(jit_compile: bool = False) -> None:
    """Choose whether operators are compiled when they run."""
    _Settings.jit_compile = bool(jit_compile)


def is_jit_compile_false() -> bool:
    """Whether operators aren't compiled when they run."""
    return not _Settings.jit_compile


def set_mm_bmm_format_nd(is_nd: bool = True) -> None:
    """Choose the format that linear layers compute in."""
    _Settings.nd_format = bool(is_nd)


def get_mm_bmm_format_nd() -> bool:
    """Whether linear layers compute in the ND format."""
    return _Settings.nd_format


def set_aoe(dump_path: str) -> None:
    """Make the folder that a tuner would write to."""
    os.makedirs(dump_path, exist_ok=True)


def init_dump() -> None:
    """Do nothing: nothing is dumped."""


def finalize_dump() -> None:
    """Do nothing: nothing is dumped."""


def set_dump(cfg_file: str) -> None:
    """Check that the file exists; nothing is dumped.

    :raises AssertionError: if it doesn't.
    """
    if not os.path.exists(cfg_file):
        raise AssertionError(f"cfg_file {cfg_file} path does not exists.")


def set_device_limit(device: int, cube_num: int = -1, vector_num: int = -1) -> None:
    """Check the card; its number of cores stays as it is."""
    _check_card(device)


def get_device_limit(device: int) -> dict[str, int]:
    """Return how many cores of a card may be used."""
    _check_card(device)
    return dict(_CORES)


def _check_card(device: int) -> None:
    if isinstance(device, bool) or not isinstance(device, int):
        raise TypeError(f"device must be an int, but got {type(device).__name__}")
    if not 0 <= device < _backend.device_count():
        raise AssertionError("Invalid device id")


def set_stream_limit(stream: Any, cube_num: int = -1, vector_num: int = -1) -> None:
    """Do nothing: streams have no cores of their own."""


def reset_stream_limit(stream: Any) -> None:
    """Do nothing: streams have no cores of their own."""


def get_stream_limit(stream: Any) -> dict[str, int]:
    """Return how many cores a stream may use."""
    return dict(_CORES)


only_names_of_target(__name__)
