"""Records a model of a file: ``python -m cuda2npu.verify.capture.model``, started by :mod:`.launch`."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Callable

import torch
from torch import nn

import cuda2npu
from cuda2npu.verify.capture.inputs import call_with, cast, cast_module, named, of_capture
from cuda2npu.verify.capture.plan import LEVELS, Plan, read_plan
from cuda2npu.verify.capture.recorder import Recorder, random_state
from cuda2npu.verify.capture.script import header_of
from cuda2npu.verify.capture.structure import flatten
from cuda2npu.verify.records import Header
from cuda2npu.verify.store import CaptureError, Writer, rank_folder

_FAILED = 2
_BACKENDS = {"npu": "hccl", "cuda": "nccl", "cpu": "gloo"}


def main() -> int:
    """Record the model of this process's plan; return the exit code."""
    plan = read_plan()
    try:
        _Run(plan).go()
    except CaptureError as error:
        plan.tell(str(error))
        return _FAILED
    return 0


class _Run:
    """One process's recording of a model."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.reached = ""
        self.drawn = ""  # a digest of the generator behind the first forward
        self.level = LEVELS.index(plan.model["level"])
        self.dtype: torch.dtype | None = getattr(torch, plan.dtype) if plan.dtype else None
        self.device = _device(plan.device)
        self.code = load_file(Path(plan.model["file"]))
        if torch.distributed.is_available() and int(os.environ.get("WORLD_SIZE", "1")) > 1:
            torch.distributed.init_process_group(_BACKENDS[self.device.type])
        self.header: Header = header_of(plan)
        self.writer = Writer(rank_folder(Path(plan.folder), self.header.rank, self.header.ranks), self.header)
        self.recorder = Recorder(self.writer, plan.settings)

    def go(self) -> None:
        """Go as far as the level says; the header says how far that was."""
        try:
            self._build()
            if self._wants("forward"):
                self._train()
            if self._wants("evaluate"):
                self._evaluate()
        except CaptureError as error:
            self._write_header(error=str(error))
            raise
        self._write_header(complete=True)

    def _wants(self, level: str) -> bool:
        return self.level >= LEVELS.index(level)

    def _build(self) -> None:
        seed = self.plan.settings.seed
        torch.manual_seed(seed)
        build = _function(self.code, self.plan.model["build"])
        built = _by_user(build, "build")
        if not isinstance(built, nn.Module):
            raise CaptureError(f"{self.plan.what}: it returned {type(built).__name__}, and no module")
        self.model: nn.Module = cast_module(built, self.device, self.dtype)
        self.name = self.recorder.prepare(self.model)
        torch.manual_seed(seed + self.header.rank)
        inputs = _by_user(_function(self.code, self.plan.model["inputs"]), "inputs")
        if self.plan.settings.like:
            inputs = of_capture(Path(self.plan.settings.like), self.header.rank, inputs)
        self.inputs = cast(inputs, self.device, self.dtype)
        self.writer.write_inputs(named(self.inputs))
        self.reached = "build"

    def _train(self) -> None:
        steps = self.plan.settings.steps if self._wants("train") else 1
        loss: Any = getattr(self.code, "loss", mean_of_squares)
        model = self.model
        if self.header.ranks > 1:
            model = nn.parallel.DistributedDataParallel(model, find_unused_parameters=True)
        optimizer = self._optimizer() if self._wants("train") else None
        with self.recorder as recorder:
            for step in range(steps):
                # Each step draws the same numbers, whatever a golden in another type drew before.
                torch.manual_seed(self.plan.settings.seed + self.header.rank + step)
                recorder.begin_step()
                try:
                    self._step(model, loss, optimizer)
                finally:
                    recorder.end_step()  # what was computed before an error is evidence, too
                if recorder.done == 1:
                    self.header = replace(self.header, inventory=recorder.inventory or self.header.inventory)
                    self._write_header()
        if self._wants("train"):
            self.reached = "train"

    def _step(self, model: nn.Module, loss: Any, optimizer: Any) -> None:
        if optimizer is not None and _needs_closure(optimizer):
            _by_user(
                partial(optimizer.step, partial(self._forward_and_backward, model, loss, optimizer)), "step"
            )
            return
        self._forward_and_backward(model, loss, optimizer)
        if optimizer is not None:
            _by_user(optimizer.step, "optimizer.step")

    def _forward_and_backward(self, model: nn.Module, loss: Any, optimizer: Any) -> Any:
        if optimizer is not None:
            optimizer.zero_grad()
        output = _by_user(lambda: call_with(model, self.inputs), "forward")
        self.drawn = self.drawn or random_state()
        self._reach("forward")
        if not self._wants("backward"):
            return None
        found = _by_user(lambda: loss(output), "loss")
        if not isinstance(found, torch.Tensor) or found.numel() != 1:
            raise CaptureError(f"{self.plan.what}: loss(output) must return a tensor with one element")
        _by_user(found.backward, "backward")
        self._reach("backward")
        return found

    def _reach(self, level: str) -> None:
        self.reached = max(self.reached, level, key=LEVELS.index)

    def _optimizer(self) -> torch.optim.Optimizer:
        make = getattr(self.code, "optimizer", None)
        parameters = list(self.model.parameters())
        if not parameters:
            raise CaptureError(f"{self.plan.what}: the model has no parameters to train: --level forward")
        if make is None:
            return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)
        made: torch.optim.Optimizer = _by_user(lambda: make(parameters), "optimizer")
        return made

    def _evaluate(self) -> None:
        file, _, name = self.plan.model["data"].rpartition(":")
        code = load_file(Path(file))
        batches = _by_user(_function(code, name), name)
        metric = getattr(code, "metric", None)
        self.model.eval()
        for number, batch in enumerate(batches):
            if not isinstance(batch, (tuple, list)) or len(batch) != 2:
                raise CaptureError(f"{file}:{name}: batch {number} is no pair of inputs and target")
            inputs, target = (cast(each, self.device, self.dtype) for each in batch)
            self.recorder.begin_step()
            with torch.no_grad():
                output = _by_user(partial(call_with, self.model, inputs), "forward")
                self.recorder.add_output(self.name, self.model, output)
                if metric is not None:
                    value = _by_user(partial(metric, output, target), "metric")
                    self.recorder.add_metric(float(value))
            self.recorder.end_step()
        self.reached = "evaluate"

    def _write_header(self, **changes: Any) -> None:
        settings = {**self.header.settings, "level": LEVELS[self.level], "reached": self.reached}
        settings["drawn"] = self.drawn
        replaced = self.recorder.replaced
        self.header = replace(self.header, settings=settings, replaced=replaced, **changes)
        self.writer.write_header(self.header)


def _needs_closure(optimizer: torch.optim.Optimizer) -> bool:
    """Whether the optimizer computes the loss itself, as LBFGS does."""
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    return closure is not None and closure.default is inspect.Parameter.empty


def load_file(path: Path) -> ModuleType:
    """Import a file, by its full name where it lies in a package.

    :raises CaptureError: if it can't be imported.
    """
    path = path.resolve()
    if not path.is_file():
        raise CaptureError(f"{path}: there is no such file")
    folder, name = path.parent, path.stem
    while (folder / "__init__.py").is_file():
        folder, name = folder.parent, f"{folder.name}.{name}"
    sys.path.insert(0, str(folder))
    module: ModuleType = _by_user(lambda: importlib.import_module(name), f"importing {path.name}")
    if Path(module.__file__ or "").resolve() != path:
        raise CaptureError(f"{path}: Python imports {module.__file__} under this name: rename one of them")
    return module


def mean_of_squares(output: Any) -> torch.Tensor:
    """Return the sum over all floating outputs of their mean of squares, in float32 or better.

    :raises CaptureError: if no gradient comes from there.
    """
    means = []
    for _, value in flatten(output):
        if isinstance(value, torch.Tensor) and value.requires_grad:
            real = torch.view_as_real(value) if value.is_complex() else value
            means.append((real if real.dtype == torch.float64 else real.float()).square().mean())
    if not means:
        raise CaptureError("no output of the model has a gradient: give loss(output), or --level forward")
    return torch.stack([mean.to(means[0].device) for mean in means]).sum()


def _device(name: str) -> torch.device:
    rank = int(os.environ.get("LOCAL_RANK", "0"))
    kind = {"simulated": "npu", "cpu-as-cuda": "cuda"}.get(name, name)
    if kind == "cpu":
        return torch.device("cpu")
    module: Any = getattr(torch, kind)
    module.set_device(rank)
    return torch.device(kind, rank)


def _function(code: ModuleType, name: str) -> Callable[..., Any]:
    found = getattr(code, name, None)
    if callable(found):
        function: Callable[..., Any] = found
        return function
    functions = [each for each, value in vars(code).items() if inspect.isfunction(value)]
    has = f"it has {', '.join(functions[:8])}" if functions else "it has none"
    raise CaptureError(f"{code.__file__}: there is no function {name}(): {has}")


def _by_user(work: Callable[[], Any], what: str) -> Any:
    """Run the user's code; an error of it becomes one line, after the frames of the user's files."""
    try:
        return work()
    except CaptureError:
        raise
    except Exception as error:
        ours = (os.path.dirname(cuda2npu.__file__), os.path.dirname(torch.__file__), "<frozen")
        frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(ours)]
        sys.stderr.write("".join(traceback.format_list(frames)))
        last = " ".join(str(error).split()) or "no message"
        place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
        raise CaptureError(f"{what} failed: {type(error).__name__}: {last}{place}") from None


if __name__ == "__main__":
    sys.exit(main())
