"""``cuda2npu capture``."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from cuda2npu.cli import options
from cuda2npu.cli.packages import need_packages
from cuda2npu.cli.progress import progress
from cuda2npu.cli.python_like import LikePython
from cuda2npu.settings import Target, UsageError

EXAMPLES = """\b
Examples:
  cuda2npu capture -o ref --device cuda pkg/model.py:build
  cuda2npu capture -o cand --device npu --like ref pkg/model.py:build
  cuda2npu capture -o gold --device cpu --dtype float64 --like ref m.py:build
  cuda2npu capture -o ref --device cpu-as-cuda --steps 5 train.py --lr 0.1
  cuda2npu capture -o cand --device sim --nproc 2 train.py

\b
pkg/model.py has build(), which returns the model, and inputs(); loss(output)
and optimizer(parameters) may be there. A script is ended after --steps steps
of the optimizer; one that never trains is a single step.
"""
_WAIT = 0.2  # seconds between two looks at how many steps there are


@click.command(
    cls=LikePython,
    epilog=EXAMPLES,
    short_help="Record what a model computes.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("-o", "folder", type=click.Path(path_type=Path), metavar="REC", help="Folder for the capture.")
@click.option(
    "--device",
    "wanted",
    type=click.Choice(("auto", "npu", "sim", "cuda", "cpu", "cpu-as-cuda")),
    default="auto",
    help="auto takes a real NPU if there is one, else a simulated one; cpu-as-cuda runs CUDA code.",
)
@click.option("--steps", type=click.IntRange(1), default=1, metavar="N", help="Optimizer steps.")
@click.option("--statistics", is_flag=True, help="Keep no tensors, only their statistics.")
@click.option(
    "--full-steps", type=click.IntRange(0), default=1, metavar="K", help="First steps with tensors."
)
@click.option("--depth", type=click.IntRange(0), metavar="D", help="Depth of modules; default all.")
@click.option("--pattern", default="", metavar="RE", help="Only modules and parameters with such a name.")
@click.option("--no-dropout", is_flag=True, help="Drop nothing out: a GPU and an NPU draw other masks.")
@click.option("--like", default="", metavar="REF", help="Take weights, and a model's inputs, from a capture.")
@click.option("--resume", is_flag=True, help="Keep the steps that are there, and add the others.")
@click.option("--dtype", default="", metavar="TYPE", help="Cast the model, to float64 for a golden.")
@click.option(
    "--level",
    type=click.Choice(("build", "forward", "backward", "train", "evaluate")),
    default="train",
    help="How far to go with a model.",
)
@click.option(
    "--data", default="", metavar="FILE:FUNCTION", help="Batches of (inputs, target) to evaluate on."
)
@click.option("--nproc", type=click.IntRange(1), default=1, metavar="N", help="Processes, by torchrun.")
@click.option("--torch", "target", metavar="VERSION", help="The torch_npu to simulate; default: as torch.")
@click.option("-m", "module", metavar="MODULE", help="Record a module instead of a script.")
@options.language
@click.option("--quiet", "-q", is_flag=True, help="Say nothing; the script's own output stays.")
@click.argument("command", metavar="(FILE.py:BUILD | SCRIPT [ARGS]...)", nargs=-1, type=click.UNPROCESSED)
def capture(folder: Path | None, command: tuple[str, ...], **given: Any) -> int:
    """Record, in the order of execution, what a model's modules take and return, their gradients, losses
    and parameters, so that another run can be compared with it: on another machine, another device.

    The folder can be copied; reading it runs no code. The exit code is the script's, 2 if nothing could
    be recorded.
    """
    words = ([] if given["module"] is None else ["-m", given["module"]]) + list(command)
    if folder is None:
        raise UsageError("capture: where to? Write for example: cuda2npu capture -o REC train.py")
    if not words:
        raise UsageError("capture: what? Write for example: cuda2npu capture -o REC pkg/model.py:build")
    need_packages("capture")
    return _capture(words, folder, **given)


def _capture(words: list[str], folder: Path, **given: Any) -> int:
    from cuda2npu.report.page import Page
    from cuda2npu.runner import summary
    from cuda2npu.runner.devices import Device, NoDeviceError, choose
    from cuda2npu.verify.capture.launch import CaptureError, Model, capture_model, capture_script
    from cuda2npu.verify.capture.said import after

    file, is_model, build = words[0].rpartition(":")
    is_a_model = bool(is_model) and file.endswith(".py")
    settings = _settings(given)
    version = Target(given["target"]).minor if given["target"] else None
    if not is_a_model:
        _check_script(words[0], given)
    try:
        device = choose(Device(given["wanted"]))
    except NoDeviceError as error:
        raise UsageError(f"capture: {error}") from None
    page = Page(sys.stderr)
    for line in () if given["quiet"] else summary.before(device, given["lang"] or "en"):
        page.line(*line)
    common = {"target": version, "nproc": given["nproc"]}
    try:
        with _shown_steps(folder, settings.steps, given["quiet"]):
            if is_a_model:
                rest = {name: given[name] for name in ("dtype", "level", "data")}
                code = 0
                capture_model(Model(Path(file), build or "build"), folder, device, settings, **rest, **common)
            else:
                code = capture_script(words, folder, device, settings, **common)
        for line in () if given["quiet"] else after(folder, given["lang"] or "en"):
            page.line(*line)
    except CaptureError as error:
        raise UsageError(f"capture: {error}") from None
    return code


def _settings(given: dict[str, Any]) -> Any:
    from cuda2npu.verify.capture.settings import Settings

    try:
        re.compile(given["pattern"])
    except re.error as error:
        raise UsageError(f"capture: --pattern {given['pattern']}: no regular expression ({error})") from None
    return Settings(
        tensors=not given["statistics"],
        dropout=not given["no_dropout"],
        **{name: given[name] for name in ("full_steps", "steps", "depth", "pattern", "like", "resume")},
    )


def _check_script(name: str, given: dict[str, Any]) -> None:
    if not name.startswith("-") and not Path(name).is_file():
        raise UsageError(f"capture: {name}: there is no such file; a model is written as pkg/model.py:build")
    for option, default in (("dtype", ""), ("level", "train"), ("data", "")):
        if given[option] != default:
            raise UsageError(
                f"capture: --{option} is for models, written as pkg/model.py:build; a script decides itself"
            )


@contextmanager
def _shown_steps(folder: Path, steps: int, quiet: bool) -> Iterator[None]:
    """Show how many steps are recorded, as long as this lasts."""
    ended = threading.Event()

    def completed() -> Iterator[int]:
        seen = 0
        while seen < steps:
            there = len({path.parent.name for path in folder.glob("**/step-*/done.json")})
            while seen < min(there, steps):
                seen += 1
                yield seen
            if ended.wait(_WAIT):
                return

    def show() -> None:
        for _ in progress(completed(), steps, "steps", quiet):
            pass

    watcher = threading.Thread(target=show, daemon=True)
    if not quiet and sys.stderr.isatty():
        watcher.start()
    try:
        yield
    finally:
        ended.set()
        if watcher.is_alive():
            watcher.join()
