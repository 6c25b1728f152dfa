"""Streams and events. Everything has happened when a call returns, so none of them waits."""

from __future__ import annotations

import time
from typing import Any

import torch

from cuda2npu.simulator.names import only_names_of_target, refuse
from torch_npu import _C
from torch_npu.npu._device import _get_device_index

__all__ = ["Event", "ExternalEvent", "ExternalStream", "Stream", "SyncLaunchStream"]


class Stream(_C._NPUStreamBase):
    """A stream of a card."""

    def __new__(cls, device: Any = None, priority: int = 0, **kwargs: Any) -> Stream:
        """Make a stream on ``device`` (the current card), or the one with a ``stream_id``."""
        wanted = torch.device("npu", _get_device_index(device, optional=True))
        return super().__new__(cls, device=wanted, priority=priority, **kwargs)

    def wait_event(self, event: Event) -> None:
        """Let what follows wait for ``event``."""
        event.wait(self)

    def wait_stream(self, stream: torch.Stream) -> None:
        """Let what follows wait for what ``stream`` was given so far."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """Record ``event``, or a new one, and return it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        """Whether all work is done."""
        return True

    def synchronize(self) -> None:
        """Wait for all work."""

    def set_data_preprocess_stream(self, is_data_preprocess_stream: bool = False) -> None:
        """Tell that the stream prepares data, which has no effect here."""


class ExternalStream(Stream):
    """A stream that another library made."""

    def __new__(cls, stream_ptr: int, device: Any = None, **kwargs: Any) -> ExternalStream:
        """Wrap the stream with the address ``stream_ptr``."""
        index = _get_device_index(device, optional=True)
        return super().__new__(cls, device=index, stream_id=stream_ptr, device_index=index, **kwargs)


class SyncLaunchStream(Stream):
    """A stream whose operators are launched one by one."""


class Event(_C._NPUEventBase):
    """A point in a stream. There is no parameter ``external``, as torch.cuda.Event has."""

    _keeps_time = False
    _recorded: float | None = None

    def __new__(
        cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> Event:
        """Make an event; only one that keeps time can tell how much has passed."""
        event = super().__new__(cls, enable_timing, blocking, interprocess)
        event._keeps_time = enable_timing
        return event

    def record(self, stream: torch.Stream | None = None) -> None:
        """Record the event in ``stream``, or in the current one."""
        self._recorded = time.perf_counter()
        super().record() if stream is None else super().record(stream)

    def wait(self, stream: torch.Stream | None = None) -> None:
        """Let what ``stream`` is given from now on wait for the event."""

    def query(self) -> bool:
        """Whether the event has happened."""
        return True

    def synchronize(self) -> None:
        """Wait for the event."""

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds from this event to ``end_event``.

        :raises RuntimeError: if one doesn't keep time or wasn't recorded.
        """
        if not (self._keeps_time and end_event._keeps_time):
            raise RuntimeError("Both events must be created with argument 'enable_timing=True'.")
        if self._recorded is None or end_event._recorded is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end_event._recorded - self._recorded) * 1e3

    def recorded_time(self) -> int:
        """Return when the event was recorded, in microseconds of the host's clock."""
        if self._recorded is None:
            raise RuntimeError("The event must be recorded before its time is asked for.")
        return int(self._recorded * 1e6)

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: bytes) -> Event:
        """Not simulated."""
        refuse("torch_npu.npu.Event.from_ipc_handle")

    def ipc_handle(self) -> bytes:
        """Not simulated."""
        refuse("torch_npu.npu.Event.ipc_handle")


class ExternalEvent:
    """An event that stands outside of a graph that is captured."""

    def record(self, stream: torch.Stream | None = None) -> None:
        """Record the event."""

    def wait(self, stream: torch.Stream | None = None) -> None:
        """Let ``stream`` wait for the event."""

    def reset(self, stream: torch.Stream | None = None) -> None:
        """Forget that the event was recorded."""


only_names_of_target(__name__)
