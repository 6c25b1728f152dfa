"""Captures that tests write record by record."""

from __future__ import annotations

import torch

from cuda2npu.verify.records import Header, Key, Kind, Record
from cuda2npu.verify.store import Capture, Writer


class Made:
    """Writes a capture; every method adds one record to the step that was begun."""

    def __init__(self, folder, *, device="cpu", dtype="", complete=True, **header):
        self.folder = folder
        self.writer = Writer(folder, Header("made", device, dtype, complete=complete, **header))
        self.number = -1

    def step(self):
        if self.number >= 0:
            self.writer.end_step()
        self.number += 1
        self.order = 0
        self.writer.begin_step(self.number)
        return self

    def add(self, kind, name, value=None, *, call=0, path="", statistics=None, **rest):
        key = Key(kind, name, call, path)
        order, self.order = self.order, self.order + 1
        if isinstance(value, torch.Tensor):
            record = Record(
                key, order, str(value.dtype)[6:], tuple(value.shape), statistics=statistics, **rest
            )
            kept = statistics is None and record.same_as is None
            self.writer.add(record, value.contiguous().clone() if kept else None)
        else:
            rest.setdefault("dtype", type(value).__name__)
            self.writer.add(Record(key, order, value=value, **rest))
        return self

    def input(self, name, value, **rest):
        return self.add(Kind.INPUT, name, value, path=rest.pop("path", "0"), module="Module", **rest)

    def output(self, name, value, **rest):
        return self.add(Kind.OUTPUT, name, value, module="Module", **rest)

    def done(self):
        self.writer.end_step()
        return Capture(self.folder)
