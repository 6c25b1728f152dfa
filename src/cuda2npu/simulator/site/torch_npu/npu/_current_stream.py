"""Which stream each thread works on, per card."""

from __future__ import annotations

import threading
from typing import Any

import torch

from torch_npu.npu._device import _get_device_index
from torch_npu.npu._lifecycle import _lazy_init
from torch_npu.npu.streams import Stream


class _Chosen(threading.local):
    """The streams that this thread has chosen, by card; torch before 2.6 can't keep them."""

    def __init__(self) -> None:
        self.ids: dict[int, int] = {}


_chosen = _Chosen()


def current_stream(device: Any = None) -> Stream:
    """Return the stream that this thread works on."""
    _lazy_init()
    index = _get_device_index(device, optional=True)
    if hasattr(torch, "accelerator"):
        return _stream(index, torch.accelerator.current_stream(index).stream_id)
    return _stream(index, _chosen.ids.get(index, 0))


def default_stream(device: Any = None) -> Stream:
    """Return the stream that a card starts with."""
    _lazy_init()
    return _stream(_get_device_index(device, optional=True), 0)


def set_stream(stream: torch.Stream | None) -> None:
    """Work on ``stream`` from now on; None changes nothing."""
    if stream is None:
        return
    if hasattr(torch, "accelerator"):
        torch.accelerator.set_stream(stream)
    else:
        _chosen.ids[stream.device.index] = stream.stream_id


def _stream(index: int, number: int) -> Stream:
    return Stream(index, stream_id=number, device_index=index)


class StreamContext:
    """Works on a stream within a with statement. The parameter is ``stream_ctx``, not ``stream``."""

    def __init__(self, stream_ctx: torch.Stream | None) -> None:
        self.stream = stream_ctx
        self._before: list[Stream] = []

    def __enter__(self) -> None:
        if self.stream is not None:
            self._before = [current_stream(self.stream.device), current_stream()]
            set_stream(self.stream)

    def __exit__(self, *error: object) -> None:
        for stream in self._before:  # last the one of the card that was current, which becomes so again
            set_stream(stream)


def stream(stream: torch.Stream | None) -> StreamContext:
    """Return a context that works on ``stream``; None changes nothing."""
    return StreamContext(stream)
