"""``cuda2npu verify``."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from cuda2npu.cli import comparisons, options
from cuda2npu.cli.packages import need_packages
from cuda2npu.messages import say
from cuda2npu.settings import DEFAULT_SOC, DEFAULT_TORCH, SOCS, Target, UsageError

EXAMPLES = """\b
Examples:
  cuda2npu verify repo repo_npu --model pkg/model.py:build
  cuda2npu verify repo repo_npu --model pkg/model.py:build --level evaluate \\
      --data pkg/data.py:batches
  cuda2npu verify repo repo_npu --script "train.py --lr 0.1" --steps 5
  cuda2npu verify --self-test
"""


@click.command(epilog=EXAMPLES, short_help="Prove that a conversion computes the same as its original.")
@click.argument("original", required=False, type=click.Path(path_type=Path), metavar="[SRC]")
@click.argument("converted", required=False, type=click.Path(path_type=Path), metavar="[CONVERTED]")
@click.option("--original", "source", type=click.Path(path_type=Path), metavar="SRC", help="As SRC.")
@click.option("--converted", "result", type=click.Path(path_type=Path), metavar="DIR", help="As CONVERTED.")
@click.option("--model", metavar="FILE:FUNCTION", help="A function that returns the model, in both folders.")
@click.option("--script", metavar="COMMAND", help="A script and its arguments, run in both folders.")
@click.option(
    "--level",
    type=click.Choice(("build", "forward", "backward", "train", "evaluate")),
    help="How far a model is taken; default train, or evaluate with --data.",
)
@click.option(
    "--steps", type=click.IntRange(1), default=5, metavar="N", help="Optimizer steps; 5 by default."
)
@click.option(
    "--full-steps", type=click.IntRange(0), default=1, metavar="N", help="Of these, so many with all tensors."
)
@click.option("--data", default="", metavar="FILE:FUNCTION", help="Yields the validation set.")
@click.option(
    "--device",
    "wanted",
    type=click.Choice(("auto", "npu", "sim")),
    default="auto",
    help="What the conversion runs on; auto takes a real NPU if there is one.",
)
@click.option(
    "--reference-device",
    type=click.Choice(("auto", "cuda", "cpu-as-cuda")),
    default="auto",
    help="What the original runs on; auto takes CUDA if there is any.",
)
@click.option("--nproc", type=click.IntRange(1), default=1, metavar="N", help="Processes, through torchrun.")
@click.option("--noise", is_flag=True, help="Run the conversion twice, to know how it differs from itself.")
@click.option("--criterion", type=click.Choice(("table", "guide")), default="table", help="What decides.")
@click.option("--statistics", is_flag=True, help="Compare statistics only, for large models.")
@click.option("--no-dropout", is_flag=True, help="Set dropout to 0: CUDA and NPU draw other masks.")
@click.option("--seed", type=int, default=0, help="Set before a model is built; default 0.")
@click.option("--torch", "target", metavar="VERSION", help="The torch_npu to simulate; default: as torch.")
@click.option("--soc", type=click.Choice(SOCS), default=DEFAULT_SOC, help="Chip, for the operators.")
@click.option(
    "--output",
    "-o",
    "folder",
    type=click.Path(path_type=Path),
    default=Path("cuda2npu-verify"),
    metavar="DIR",
    help="For the report; default cuda2npu-verify.",
)
@click.option("--keep", is_flag=True, help="Keep the captures beside the report.")
@click.option("--self-test", is_flag=True, help="Plant faults, and show that each is found.")
@options.format_of("text", "json")
@options.language
@click.option("--quiet", "-q", is_flag=True, help="Print nothing; the report and the exit code stay.")
def verify(
    original: Path | None,
    converted: Path | None,
    source: Path | None,
    result: Path | None,
    model: str | None,
    script: str | None,
    level: str | None,
    steps: int,
    full_steps: int,
    data: str,
    wanted: str,
    reference_device: str,
    nproc: int,
    noise: bool,
    criterion: str,
    statistics: bool,
    no_dropout: bool,
    seed: int,
    target: str | None,
    soc: str,
    folder: Path,
    keep: bool,
    self_test: bool,
    form: str,
    lang: str | None,
    quiet: bool,
) -> int:
    """Run a model or a script as it was and converted, and compare what they compute.

    Both take the same weights and inputs. Where no NPU is there, the conversion runs on a
    simulated one, and the verdict says so.

    Exit code: 0 the same, 1 different, 2 could not be compared.
    """
    lang = lang or "en"
    need_packages("verify")
    if self_test:
        return _self_test(form, lang, quiet)
    source, result = source or original, result or converted
    if source is None or result is None:
        raise UsageError("verify: give both folders: cuda2npu verify SRC CONVERTED --model FILE:FUNCTION")
    for root in (source, result):
        if not root.is_dir():
            raise UsageError(f"verify: {root}: there is no such folder")
    if bool(model) == bool(script):
        raise UsageError("verify: say what to run: either --model FILE:FUNCTION or --script COMMAND")
    words = _words(script or "")
    for option, given in (("--model", model), ("--data", data)):
        if given and not all(given.rpartition(":")):
            raise UsageError(f"verify: {option} {given}: write file and function, as pkg/model.py:build")
    for option, word in (("--model", model), ("--data", data), *(("--script", word) for word in words)):
        _stay_inside(option, (word or "").rpartition(":")[0] or word or "", source)
    if script and (data or level):
        raise UsageError("verify: --data and --level are for --model; a script decides how far it goes")
    chosen = Target(target or DEFAULT_TORCH, soc)

    from cuda2npu.report.page import Page
    from cuda2npu.runner import summary
    from cuda2npu.runner.devices import Device, NoDeviceError, choose, choose_reference
    from cuda2npu.verify.capture.settings import Settings
    from cuda2npu.verify.store import CaptureError
    from cuda2npu.verify.verification import Verification, remove_captures

    page = None if quiet else Page(sys.stderr)
    try:
        verification = Verification(
            original=source,
            converted=result,
            folder=folder,
            settings=Settings(
                tensors=not statistics,
                full_steps=steps if criterion == "guide" else full_steps,  # the guides' rule needs tensors
                steps=steps,
                dropout=not no_dropout,
                seed=seed,
            ),
            reference_device=choose_reference(Device(reference_device)),
            device=choose(Device(wanted)),
            model=model or "",
            script=words,
            level=level or ("evaluate" if data else "train"),
            data=data,
            noise=noise,
            criterion=criterion,
            target="{}.{}".format(*chosen.version) if target else None,
            processes=nproc,
            say=lambda key: page.line(say(key, lang), "bold") if page else None,
        )
        if page:
            for line in summary.before(verification.device, lang):
                page.line(*line)
        with _output_of_programs(quiet):
            found = verification.run()
    except (CaptureError, NoDeviceError) as error:
        raise UsageError(f"verify: {error}") from None
    except OSError as error:
        raise UsageError(f"verify: {error.filename or folder}: {error.strerror}") from None
    found = comparisons.classed(found, chosen)
    pages = comparisons.write(found, folder, lang, "verify")
    if not keep:
        remove_captures(folder)
    if not quiet:
        comparisons.show(found, form, lang)
    if page:
        page.line(say("verify_report", lang, path=", ".join(map(str, pages))))
    return comparisons.exit_code(found)


def _words(script: str) -> list[str]:
    """Return the words of the command, without the name of Python in front."""
    try:
        words = shlex.split(script)
    except ValueError as error:
        raise UsageError(f"verify: --script {script}: {error}") from None
    if script and not words:
        raise UsageError("verify: --script: which script? Write for example: --script 'train.py --lr 0.1'")
    return words[1:] if words and Path(words[0]).name in ("python", "python3") else words


def _stay_inside(option: str, name: str, source: Path) -> None:
    """Refuse what would name the original in both runs: it would be compared with itself."""
    path = Path(name)
    root = source.resolve()
    leaves = path.is_absolute() or ".." in path.parts
    full = (path if path.is_absolute() else root / path).resolve()
    if leaves and (option != "--script" or full == root or root in full.parents):
        raise UsageError(f"verify: {option} {name}: name it as seen from {source}, for both folders have one")


def _self_test(form: str, lang: str, quiet: bool) -> int:
    """Plant faults in models of our own; 0 if each is found, and no correct run is accused."""
    from dataclasses import asdict

    from cuda2npu.verify.selftest import run_self_test, table

    outcomes = run_self_test()
    wrong = sum(not outcome.good for outcome in outcomes)
    if form == "json":
        click.echo(json.dumps([asdict(outcome) for outcome in outcomes], indent=1, ensure_ascii=False))
    elif not quiet:
        for line in table(outcomes, lang):
            click.echo(line)
        key = "self_test_wrong" if wrong else "self_test_good"
        click.echo(say(key, lang, wrong=wrong, runs=len(outcomes)))
    return 1 if wrong else 0


@contextmanager
def _output_of_programs(quiet: bool) -> Iterator[None]:
    """Send what the programs print to stderr, as stdout is the result's; nowhere if all is to be quiet."""
    sys.stdout.flush()
    sys.stderr.flush()
    before = os.dup(1), os.dup(2)
    target = os.open(os.devnull, os.O_WRONLY) if quiet else os.dup(2)
    os.dup2(target, 1)
    os.dup2(target, 2)
    try:
        yield
    finally:
        for number, old in enumerate(before, 1):
            os.dup2(old, number)
        for number in (*before, target):
            os.close(number)
