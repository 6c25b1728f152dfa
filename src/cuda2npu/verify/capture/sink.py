"""Where records go on their way to disk: those with numbers on a device wait for the step's end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch

from cuda2npu.verify.capture import access
from cuda2npu.verify.capture.statistics import Measured, measure, resolve
from cuda2npu.verify.records import Record
from cuda2npu.verify.store import Writer


@dataclass(frozen=True)
class _Waiting:
    record: Record
    measured: Measured | None = None
    is_value: bool = False


class Sink:
    """Measures tensors and hands records to the writer, in order.

    With tensors nothing waits, as each comes to the host anyway; so no more of them than a shard is in
    memory.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._waiting: list[_Waiting] = []

    def plain(self, record: Record) -> None:
        """Take a record that is complete."""
        self._put(_Waiting(record))

    def tensor(self, record: Record, tensor: torch.Tensor, full: bool) -> None:
        """Take the record of a tensor.

        :param full: whether the tensor itself is kept, beside its statistics.
        """
        with access.unseen():
            readable = access.readable(tensor)
            if not full:
                self._put(_Waiting(record, measure(readable)))
                return
            copy = access.copied(readable)
            (statistics,) = resolve([measure(copy)])
        self.flush()
        self._writer.add(replace(record, statistics=statistics), copy)

    def scalar(self, record: Record, tensor: torch.Tensor) -> None:
        """Take the record of a tensor with one element, whose value is kept."""
        with access.unseen():
            self._put(_Waiting(record, measure(access.readable(tensor)), is_value=True))

    def flush(self) -> None:
        """Hand over all that waits; this waits for the device."""
        with access.unseen():
            numbers = resolve([each.measured for each in self._waiting if each.measured is not None])
        found = iter(numbers)
        for each in self._waiting:
            self._writer.add(each.record if each.measured is None else _complete(each, next(found)))
        self._waiting = []

    def forget(self) -> None:
        """Drop all that waits."""
        self._waiting = []

    def _put(self, waiting: _Waiting) -> None:
        if not self._waiting and not isinstance(waiting.measured, torch.Tensor):
            record = waiting.record
            if waiting.measured is not None:
                record = _complete(waiting, waiting.measured)
            self._writer.add(record)
        else:
            self._waiting.append(waiting)


def _complete(waiting: _Waiting, statistics: Any) -> Record:
    if not waiting.is_value:
        return replace(waiting.record, statistics=statistics)
    value = statistics.minimum
    if value is None:
        value = float("nan") if statistics.nan else float("inf")
    return replace(waiting.record, value=value)
