"""Switches of the real runtime that have no effect on the simulated device."""

from __future__ import annotations

import warnings
from typing import Any

import torch

_MODES = {"default": 0, "warn": 1, "error": 2}


class _Switches:
    sync_debug_mode = 0
    task_queue = 1
    compatible = False
    deterministic_level = 0


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Remember what to do when the host waits for the device; it never does.

    :raises RuntimeError: for an unknown word.
    """
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
        debug_mode = _MODES[debug_mode]
    _Switches.sync_debug_mode = debug_mode


def get_sync_debug_mode() -> int:
    """Return what :func:`set_sync_debug_mode` was given."""
    return _Switches.sync_debug_mode


def set_task_queue_enable(mode: int) -> None:
    """Remember how operators are queued; here none are."""
    _Switches.task_queue = mode


def get_task_queue_enable() -> int:
    """Return what :func:`set_task_queue_enable` was given."""
    return _Switches.task_queue


def set_op_timeout_ms(timeout: int) -> None:
    """Do nothing: no operator times out."""


def use_compatible_impl(is_enable: bool) -> None:
    """Remember whether operators follow CUDA's more closely."""
    _Switches.compatible = bool(is_enable)


def are_compatible_impl_enabled() -> bool:
    """Return what :func:`use_compatible_impl` was given."""
    return _Switches.compatible


def set_deterministic_level(level: int) -> None:
    """Remember how deterministic operators are; here they always are."""
    if (level > 0) != torch.are_deterministic_algorithms_enabled():
        warnings.warn("torch.use_deterministic_algorithms follows set_deterministic_level.", stacklevel=2)
        torch.use_deterministic_algorithms(level > 0)
    _Switches.deterministic_level = level


def _get_deterministic_level() -> int:
    return _Switches.deterministic_level


def get_npu_overflow_flag() -> bool:
    """Whether a number has overflowed in saturation mode, which the simulated chip doesn't have."""
    return False


def clear_npu_overflow_flag() -> None:
    """Do nothing: the chip works in INF/NAN mode."""


def npu_check_overflow(grad: Any) -> bool:
    """Whether a number or a tensor is infinite or not a number."""
    if isinstance(grad, torch.Tensor):
        return not bool(torch.isfinite(grad.detach().float().sum()))
    return bool(grad != grad or grad in (float("inf"), -float("inf")))


def is_support_inf_nan() -> bool:
    """Whether the chip works in INF/NAN mode, as an Ascend 910B does."""
    return True


def ipc_collect() -> None:
    """Do nothing: processes share no memory of a card."""


def is_current_stream_capturing() -> bool:
    """Whether a graph is captured, which the simulation can't."""
    return False
