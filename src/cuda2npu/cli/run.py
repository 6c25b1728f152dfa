"""``cuda2npu run``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from cuda2npu.cli import options
from cuda2npu.cli.packages import need_packages
from cuda2npu.cli.python_like import LikePython
from cuda2npu.messages import say
from cuda2npu.settings import Target, UsageError

if TYPE_CHECKING:
    from cuda2npu.runner.devices import Device
    from cuda2npu.runner.launch import Ended

EXAMPLES = """\b
Examples:
  cuda2npu run train.py --epochs 1
  cuda2npu run --device sim --stats stats.json train.py
  cuda2npu run --device sim --inventory operators.json train.py
  cuda2npu run -m torch.distributed.run --nproc-per-node 2 train.py
  cuda2npu run --device cpu-as-cuda original/train.py
"""


def _check_script(path: Path) -> None:
    """Check that Python can run it: a file, or a folder with a ``__main__.py``."""
    if not path.exists():
        raise UsageError(f"run: {path}: there is no such file")
    if path.is_dir() and not (path / "__main__.py").is_file():
        raise UsageError(f"run: {path}: a folder without __main__.py; give a script")


@click.command(
    cls=LikePython,
    epilog=EXAMPLES,
    short_help="Run a script on an NPU, real or simulated.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option(
    "--device",
    "wanted",
    type=click.Choice(("auto", "npu", "sim", "cpu-as-cuda")),
    default="auto",
    help="auto takes a real NPU if there is one; cpu-as-cuda runs unconverted CUDA code on the CPU.",
)
@click.option("-m", "module", metavar="MODULE", help="Run a module instead of a script.")
@click.option(
    "--stats", type=click.Path(path_type=Path), metavar="FILE", help="Write what ran there as JSON."
)
@click.option(
    "--inventory",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write which operators ran as JSON, and say which of them the target lacks.",
)
@click.option("--devices", type=click.IntRange(1, 64), metavar="N", help="Simulated devices; 2 by default.")
@click.option("--torch", "target", metavar="VERSION", help="The torch_npu to simulate; default: as torch.")
@options.language
@click.option("--quiet", "-q", is_flag=True, help="Say nothing; the script's own output stays.")
@click.argument("command", metavar="SCRIPT [ARGS]...", nargs=-1, type=click.UNPROCESSED)
def run(
    wanted: str,
    module: str | None,
    stats: Path | None,
    inventory: Path | None,
    devices: int | None,
    target: str | None,
    lang: str | None,
    quiet: bool,
    command: tuple[str, ...],
) -> int:
    """Run a converted script, in a process of its own, and all the processes that it starts.

    A simulated NPU shows that the code works and computes what the CPU computes. It says nothing
    about the NPU's precision, speed or memory. The exit code is the script's.
    """
    from cuda2npu.report.page import Page
    from cuda2npu.runner import summary
    from cuda2npu.runner.devices import Device, NoDeviceError, choose
    from cuda2npu.runner.launch import launch

    words = (["-m", module] if module else []) + list(command)
    if not words:
        raise UsageError("run: which script? Write for example: cuda2npu run train.py")
    if not words[0].startswith("-"):  # that begins an option of Python's
        _check_script(Path(words[0]))
    lang, version = lang or "en", Target(target).minor if target else None
    try:
        device = choose(Device(wanted))
    except NoDeviceError as error:
        raise UsageError(f"run: {error}") from None
    if device is Device.SIMULATED:
        need_packages("run", "torch", "numpy")
    if stats is not None and device is not Device.SIMULATED:
        raise UsageError("run: --stats counts what runs on the simulated device: add --device sim")
    if inventory is not None and device is Device.CPU_AS_CUDA:
        raise UsageError("run: --inventory is about an NPU: add --device sim")
    _check_outputs(stats, inventory)
    page = Page(sys.stderr)
    for line in () if quiet else summary.before(device, lang):
        page.line(*line)
    if inventory is None:
        ended = launch(words, device, devices=devices, target=version)
        lines = list(summary.after(ended, lang))
    else:
        ended, said = _with_inventory(words, device, devices, version, inventory, lang)
        lines = [*summary.after(ended, lang), summary.Line(said, "bold")]
    for line in () if quiet else lines:
        page.line(*line)
    if stats is not None and ended.statistics is not None:
        stats.write_text(json.dumps(ended.statistics.as_json(), indent=1) + "\n", encoding="utf-8")
    return ended.code


def _check_outputs(stats: Path | None, inventory: Path | None) -> None:
    """Check before a long run that its results can be written."""
    for option, file in (("--stats", stats), ("--inventory", inventory)):
        if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
            raise UsageError(f"run: {option} {file}: give a file in a folder that exists")


def _with_inventory(
    words: list[str], device: Device, devices: int | None, version: str | None, file: Path, lang: str
) -> tuple[Ended, str]:
    """Run, write the inventory of operators to ``file``, and return what is to be said of it, too."""
    need_packages("run --inventory", "torch")
    from cuda2npu.catalog.releases import minor
    from cuda2npu.runner.launch import launch
    from cuda2npu.verify.operators.classes import classify, with_classes
    from cuda2npu.verify.operators.run import collect, variables
    from cuda2npu.verify.operators.text import run_line

    with TemporaryDirectory(prefix="cuda2npu-inventory-") as folder:
        extra = variables(Path(folder))
        ended = launch(words, device, devices=devices, target=version, extra=extra)
        found = collect(Path(folder))
    if found is None:
        return ended, say("inventory_nothing", lang)
    target = Target(version or minor(found["torch"]))
    operators = classify(found, target)
    classed = with_classes(found, target, operators)
    file.write_text(json.dumps(classed, indent=1) + "\n", encoding="utf-8")
    return ended, run_line(operators, target.torch, lang)
