"""When the device counts as initialised, and what a forked child may do with it."""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing.util import register_after_fork
from typing import Any

from torch_npu import _backend

_FORKED = (
    "Cannot re-initialize NPU in forked subprocess. To use NPU with "
    "multiprocessing, you must use the 'spawn' start method"
)


class _State:
    initialized = False
    in_bad_fork = False
    owner = os.getpid()


def init() -> None:
    """Initialise the device; does nothing the second time."""
    _lazy_init()


def is_initialized() -> bool:
    """Whether the device has been used in this process."""
    return (_State.initialized or _backend.was_used()) and not _State.in_bad_fork


def _is_in_bad_fork() -> bool:
    return _State.in_bad_fork


def _lazy_init() -> None:
    """Initialise the device.

    :raises RuntimeError: in a child that was forked after its parent had used the device.
    """
    if _State.in_bad_fork:
        raise RuntimeError(_FORKED)
    _State.initialized = True


def _lazy_call(cb: Callable[[], Any]) -> None:
    """Call ``cb`` when the device is initialised, which here is at once; never in a bad fork."""
    if not _State.in_bad_fork:
        cb()


def _after_fork(arg: object) -> None:
    if os.getpid() != _State.owner and (_State.initialized or _backend.was_used()):
        _State.initialized = False
        _State.in_bad_fork = True


register_after_fork(_State, _after_fork)
