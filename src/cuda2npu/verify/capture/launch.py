"""Starts what is to be recorded in a process of its own, and says how that ended."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cuda2npu.runner.devices import Device, NoDeviceError, choose
from cuda2npu.runner.launch import launch
from cuda2npu.verify.capture.plan import LEVELS, Plan
from cuda2npu.verify.capture.settings import Settings
from cuda2npu.verify.store import HEADER, CaptureError, Writer, open_captures

__all__ = ["DTYPES", "LEVELS", "CaptureError", "Model", "Settings", "capture_model", "capture_script"]

DTYPES = ("float64", "float32", "bfloat16", "float16")
INTERRUPTED = 130  # exit code of a program that Ctrl-C has ended
_TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node")
_SAME = ("tensors", "full_steps", "depth", "pattern", "dropout")  # settings that a resumed capture must keep


@dataclass(frozen=True)
class Model:
    """A model in a file: ``pkg/model.py:build``.

    Two more functions of the file may be there: ``loss(output)`` returns a scalar, by default the mean of the
    squares of all floating outputs; ``optimizer(parameters)`` returns an optimizer, by default SGD with a
    learning rate of 0.01 and a momentum of 0.9.

    :param build: name of the function that returns the module.
    :param inputs: name of the one that returns its inputs: a dict by name, a tuple or list by position,
        anything else as the only one.
    """

    file: Path
    build: str = "build"
    inputs: str = "inputs"


def capture_model(
    model: Model,
    folder: Path,
    device: Device,
    settings: Settings,
    *,
    dtype: str = "",
    level: str = "train",
    target: str | None = None,
    data: str = "",
    nproc: int = 1,
) -> None:
    """Record a model.

    :param dtype: such as ``float64``: to which the model and its floating inputs are cast.
    :param level: how far to go, one of :data:`LEVELS`.
    :param target: the torch_npu version whose names a simulated NPU has.
    :param data: ``pkg/data.py:batches``, batches of (inputs, target) for the level ``evaluate``; where
        ``metric(output, target)`` is in the same file, it is recorded.
    :param nproc: number of processes, each with inputs of its own.
    :raises CaptureError: if there is no capture of all that was asked for.
    """
    what = f"{model.file}:{model.build}"
    if not model.file.is_file():
        raise CaptureError(f"{model.file}: there is no such file")
    if dtype and dtype not in DTYPES:
        raise CaptureError(f"dtype {dtype}: take one of {', '.join(DTYPES)}")
    if level not in LEVELS:
        raise CaptureError(f"level {level}: there is no such level; take one of {', '.join(LEVELS)}")
    if level == "evaluate" and not data:
        raise CaptureError("the level evaluate needs --data, such as pkg/data.py:batches")
    details = {
        "file": str(model.file.resolve()),
        "build": model.build,
        "inputs": model.inputs,
        "level": level,
        "data": data,
    }
    with _plan(what, folder, device, settings, dtype, details) as plan:
        code = _run(["-m", "cuda2npu.verify.capture.model"], plan, nproc, target, None)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        if code:
            _mark(folder, f"exit code {code}")
            raise CaptureError(f"{what}: the process that recorded it ended with code {code}")


def capture_script(
    command: Sequence[str],
    folder: Path,
    device: Device,
    settings: Settings,
    *,
    cwd: Path | None = None,
    target: str | None = None,
    nproc: int = 1,
) -> int:
    """Record a script, and return its exit code.

    :param command: the script, or ``-m`` and a module, and its arguments.
    :param cwd: folder in which it runs.
    :raises CaptureError: if nothing could be recorded, or not written.
    """
    with _plan(" ".join(command), folder, device, settings, "", {}) as plan:
        code = _run(command, plan, nproc, target, cwd)
        if code:
            _mark(folder, f"exit code {code}")
        elif not _has_capture(folder):
            raise CaptureError(
                f"{command[0]}: nothing was recorded: it called no module and no backward pass"
            )
        return code


@contextlib.contextmanager
def _plan(
    what: str, folder: Path, device: Device, settings: Settings, dtype: str, model: dict[str, Any]
) -> Iterator[Plan]:
    try:
        device = choose(device)
    except NoDeviceError as error:
        raise CaptureError(str(error)) from None
    name = "simulated" if device is Device.SIMULATED else device.value
    if settings.like:
        settings = replace(settings, like=str(Path(settings.like).resolve()))
        open_captures(Path(settings.like))  # says what is wrong with it before anything runs
    _check_folder(folder, what, name, settings)
    with tempfile.TemporaryDirectory(prefix="cuda2npu-capture-") as exchange:
        yield Plan(str(folder.resolve()), what, name, settings, exchange, dtype, model)


def _run(command: Sequence[str], plan: Plan, nproc: int, target: str | None, cwd: Path | None) -> int:
    words = [*_TORCHRUN, str(nproc), *command] if nproc > 1 else command
    device = Device.SIMULATED if plan.device == "simulated" else Device(plan.device)
    ended = launch(words, device, target=target, cwd=cwd, extra=plan.write())
    error = plan.told()
    if error:
        _mark(Path(plan.folder), error)
        raise CaptureError(error)
    if ended.code == INTERRUPTED:
        _mark(Path(plan.folder), "interrupted")
    return ended.code


def _check_folder(folder: Path, what: str, device: str, settings: Settings) -> None:
    """Refuse to write where something else would be lost."""
    if folder.exists() and not folder.is_dir():
        raise CaptureError(f"{folder}: this is a file: give a folder")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not _has_capture(folder):
        raise CaptureError(f"{folder}: the folder isn't empty, and holds no capture: give another one")
    captures = open_captures(folder)
    if not any(capture.header.complete or capture.steps for capture in captures):
        return  # nothing is lost: a run that failed has left it
    if not settings.resume:
        raise CaptureError(
            f"{folder}: there is a capture already: take it up with --resume, or give another folder"
        )
    header = captures[0].header
    wanted = settings.as_json()
    other = [name for name in _SAME if header.settings.get(name) != wanted[name]]
    if (header.what, header.device) != (what, device) or other:
        differs = ", ".join(other) or f"{header.what} on {header.device}"
        raise CaptureError(
            f"{folder}: --resume: the capture there is another one ({differs}): give another folder"
        )


def _has_capture(folder: Path) -> bool:
    return (folder / HEADER).is_file() or any(folder.glob(f"rank-*/{HEADER}"))


def _mark(folder: Path, error: str) -> None:
    """Say in the headers that the run did not come to its end: a process that is killed can't."""
    if not _has_capture(folder):
        return
    with contextlib.suppress(CaptureError):  # a full disk has been told of
        for capture in open_captures(folder):
            Writer(
                capture.folder, replace(capture.header, complete=False, error=capture.header.error or error)
            )
