"""Records a script from within: its processes call :func:`start` as soon as they have imported torch.

A process begins to record with the first module that it calls. Workers of data loaders never do, and of
several processes of one rank the first does.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import util
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.data import get_worker_info

from cuda2npu.verify.capture.environment import environment
from cuda2npu.verify.capture.plan import Plan, read_plan
from cuda2npu.verify.capture.recorder import Recorder
from cuda2npu.verify.records import Header
from cuda2npu.verify.store import CaptureError, Writer, rank_folder


def start() -> None:
    """Record what this process computes from its first module on. Called once, if the run is a capture."""
    plan = read_plan()
    if plan.model:
        return  # model.py records by itself
    plain_call, plain_backward = nn.Module.__call__, torch.autograd.backward
    has_begun = False

    def begin() -> None:
        nonlocal has_begun
        if has_begun or get_worker_info() is not None:
            return
        has_begun = True  # before this, what is below may have been kept elsewhere, as by torch.compile
        nn.Module.__call__, torch.autograd.backward = plain_call, plain_backward
        _begin(plan)

    def first_call(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        begin()
        return (nn.Module.__call__ if has_begun else plain_call)(self, *args, **kwargs)

    def first_backward(*args: Any, **kwargs: Any) -> Any:
        begin()
        return (torch.autograd.backward if has_begun else plain_backward)(*args, **kwargs)

    nn.Module.__call__, torch.autograd.backward = first_call, first_backward


def rank_and_ranks() -> tuple[int, int]:
    """Return which process of how many this is."""
    dist = torch.distributed
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def header_of(plan: Plan) -> Header:
    """Return the header with which a capture begins."""
    rank, ranks = rank_and_ranks()
    return Header(
        plan.what, plan.device, plan.dtype, plan.settings.as_json(), environment(), rank=rank, ranks=ranks
    )


def _begin(plan: Plan) -> None:
    header = header_of(plan)
    if plan.claim(header.rank):
        writer = Writer(rank_folder(Path(plan.folder), header.rank, header.ranks), header)
        _ScriptRecorder(writer, plan, header).start()


class _ScriptRecorder(Recorder):
    """A step ends with that of the first optimizer, and the script after the steps that were asked for.

    The end comes with what the script computes next: what it does behind the optimizer's step, such as
    printing the loss, still belongs to the step.
    """

    def __init__(self, writer: Writer, plan: Plan, header: Header) -> None:
        super().__init__(writer, plan.settings)
        self._plan = plan
        self._header = header
        self._has_stepped = False  # within this step
        self._trains = False
        self._owner = os.getpid()
        self._finished = False

    def start(self) -> None:
        """Record until the process ends."""
        self.__enter__()
        self._note_errors(sys.excepthook)
        atexit.register(self._finish)
        util.Finalize(None, self._finish, exitpriority=1)  # multiprocessing's children end without atexit

    def before_event(self) -> None:
        if self._has_stepped:
            self._complete_step()
        if self._trains and self.done >= self.settings.steps:
            raise SystemExit(0)
        if self._step is None:
            self.begin_step()

    def after_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        if self.number_of(optimizer) == 0:
            self._has_stepped = self._trains = True

    def _complete_step(self) -> None:
        self._has_stepped = False
        self.end_step()
        if self.inventory is not None and self._header.inventory is None:
            self._write_header(inventory=self.inventory)

    def _note_errors(self, before: Callable[..., Any]) -> None:
        def hook(kind: type[BaseException], error: BaseException, traceback: Any) -> None:
            self._header = replace(self._header, error=f"{kind.__name__}: {error}".strip(": "))
            if isinstance(error, CaptureError):
                self._plan.tell(str(error))
            else:
                before(kind, error, traceback)

        sys.excepthook = hook

    def _finish(self) -> None:
        """End with the process; the last step is kept, such as a validation behind the training."""
        if self._finished or os.getpid() != self._owner:
            return
        self._finished = True
        failed = bool(self._header.error)
        try:
            if self._step is not None and (self._has_stepped or not failed):
                self._complete_step()
            self.__exit__(None, None, None)
            self._write_header(complete=not failed, inventory=self.inventory or self._header.inventory)
        except CaptureError as error:
            self._plan.tell(str(error))

    def _write_header(self, **changes: Any) -> None:
        self._header = replace(self._header, replaced=self.replaced, **changes)
        self.writer.write_header(self._header)
