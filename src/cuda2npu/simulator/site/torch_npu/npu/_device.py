"""Which card is meant, and which one is current."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Union

import torch

from torch_npu import _backend
from torch_npu.npu._lifecycle import _lazy_init

Device = Union[torch.device, str, int, None]


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """Return the number of a card.

    :param device: a device, its name, its number (returned as it is) or None.
    :param optional: take the current card for None and for a device without a number.
    :param allow_cpu: return -1 for the CPU.
    :raises ValueError: for another device, such as ``cuda:0``.
    """
    if isinstance(device, int):
        return device
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if allow_cpu and device.type == "cpu":
            return -1
        if device.type != "npu":
            expected = "a npu or cpu" if allow_cpu else "a npu"
            raise ValueError(f"Expected {expected} device, but got: {device}")
        device = device.index
    elif device is not None:
        device = device.idx  # a torch.npu.device
    if device is not None:
        return int(device)
    if not optional:
        raise ValueError("Expected a torch.device with a specified index or an integer, but got: None")
    return _backend.current_device()


def _checked_index(device: Any) -> int:
    """Return the number of an existing card.

    :raises AssertionError: if there is no such card, with the text that torch_npu gives.
    """
    index = _get_device_index(device, optional=True)
    if not 0 <= index < _backend.device_count():
        raise AssertionError("Invalid device id")
    return index


def _get_device(device: Device) -> torch.device:
    if isinstance(device, int):
        return torch.device("npu", device)
    return torch.device(device)


def set_device(device: Device) -> None:
    """Make a card the current one; a negative number changes nothing."""
    index = _get_device_index(device, optional=True)
    if index >= 0:
        _lazy_init()
        _backend.set_device(index)


def current_device() -> int:
    """Return the number of the current card."""
    _lazy_init()
    return _backend.current_device()


def synchronize(device: Device = None) -> None:
    """Wait for a card, which here has always finished."""
    _lazy_init()
    _get_device_index(device, optional=True)


class device:  # noqa: N801
    """Makes a card the current one within a with statement; a negative number changes nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = _get_device_index(device, optional=True)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            _lazy_init()
            self.prev_idx = _backend.current_device()
            _backend.set_device(self.idx)

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if self.idx >= 0:
            _backend.set_device(self.prev_idx)
        return False


class device_of(device):  # noqa: N801
    """Makes the card of a tensor or storage the current one; one on the CPU changes nothing."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_npu else -1)
