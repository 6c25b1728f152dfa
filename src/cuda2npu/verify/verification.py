"""Original and conversion, each in a process of its own: does the second compute what the first does?"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cuda2npu.runner.devices import Device
from cuda2npu.verify.capture.launch import INTERRUPTED, LEVELS, Model, capture_model, capture_script
from cuda2npu.verify.capture.settings import Settings
from cuda2npu.verify.compare.compare import compare
from cuda2npu.verify.comparison import Comparison
from cuda2npu.verify.levels import Outcome, with_levels
from cuda2npu.verify.report import DOCUMENT, PAGE, SHEET
from cuda2npu.verify.store import Capture, CaptureError, open_captures

REFERENCE, GOLDEN, CANDIDATE, REPEAT = CAPTURES = ("reference", "golden", "candidate", "repeat")


@dataclass(frozen=True)
class Verification:
    """What is to be verified, and how.

    :param original: folder of the CUDA code.
    :param converted: folder of its conversion.
    :param folder: for captures and reports.
    :param settings: what is recorded.
    :param reference_device: what the original runs on: CUDA, or the CPU with its CUDA calls mapped to it.
    :param device: what the conversion runs on, a real NPU or a simulated one.
    :param model: file within both folders and function, as ``pkg/model.py:build``; "" for a script.
    :param script: words of a command to be run in both folders, in place of a model.
    :param level: the last level to be tried, one of ``LEVELS``.
    :param data: function that yields the validation set, as ``pkg/data.py:batches``.
    :param noise: whether the conversion runs twice, to know how much it differs from itself.
    :param criterion: ``table`` or ``guide``.
    :param target: the torch_npu whose names a simulation has.
    :param processes: so many run together, through torchrun.
    :param say: is told what comes next, by a key of the messages.
    """

    original: Path
    converted: Path
    folder: Path
    settings: Settings
    reference_device: Device
    device: Device
    model: str = ""
    script: Sequence[str] = ()
    level: str = "train"
    data: str = ""
    noise: bool = False
    criterion: str = "table"
    target: str | None = None
    processes: int = 1
    say: Callable[[str], None] = lambda key: None

    def run(self) -> list[Comparison]:
        """Run both and compare them; return a comparison for each process.

        All take the weights and, of a model, the inputs of the original, so that only the computation
        differs. What a model computes in float64 is the reference, and the original in its own type is the
        benchmark. A script chooses its types itself: there the original is the reference.

        :raises CaptureError: if the original doesn't run, or nothing of the conversion could be recorded.
        """
        empty_folder(self.folder)
        self.say("verify_reference")
        self._record(self.original, REFERENCE, self.reference_device, self.settings)
        like = replace(self.settings, like=str(self.folder / REFERENCE), weights=False)
        unlisted = replace(like, inventory=False)
        no_golden = self._try_golden(unlisted) if self.model and self.level != "build" else ""
        self.say("verify_candidate")
        error = self._try(self.converted, CANDIDATE, self.device, like)
        if self.noise and not error:
            self.say("verify_repeat")
            self._record(self.converted, REPEAT, self.device, unlisted)
        self.say("verify_compare")
        results = self._compare(error)
        notes = (_no_golden(no_golden),) if no_golden else ()
        return [replace(result, notes=(*notes, *result.notes)) for result in results]

    def _try_golden(self, settings: Settings) -> str:
        """Record the original in float64; return why there is no such golden, or ""."""
        self.say("verify_golden")
        error = self._try(self.original, GOLDEN, self.reference_device, settings, "float64")
        drawn = [
            [capture.header.settings.get("drawn") for capture in self._captures(name)]
            for name in (REFERENCE, GOLDEN)
        ]
        if not error and drawn[0] != drawn[1]:
            error = "it draws random numbers, and draws others in another type"
        if error:  # or it casts to a type of its own somewhere
            shutil.rmtree(self.folder / GOLDEN, ignore_errors=True)
        return error

    def _try(self, root: Path, name: str, device: Device, settings: Settings, dtype: str = "") -> str:
        """Record a run; return why it ended before its time, or ""."""
        try:
            self._record(root, name, device, settings, dtype)
        except CaptureError as error:
            return str(error)
        return ""

    def _record(self, root: Path, name: str, device: Device, settings: Settings, dtype: str = "") -> None:
        folder = self.folder / name
        if self.model:
            file, _, build = self.model.rpartition(":")
            data = f"{root / self.data}" if self.data else ""
            capture_model(
                Model(root / file, build),
                folder,
                device,
                settings,
                dtype=dtype,
                level=self.level,
                target=self.target,
                data=data,
                nproc=self.processes,
            )
            return
        code = capture_script(
            self.script, folder, device, settings, cwd=root, target=self.target, nproc=self.processes
        )
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        if code:
            raise CaptureError(f"{root}: {' '.join(self.script)}: it ended with exit code {code}")

    def _compare(self, error: str) -> list[Comparison]:
        """Compare what was recorded, process by process."""
        candidates = self._captures(CANDIDATE)
        if not candidates:
            raise CaptureError(error or f"{self.converted}: nothing was recorded")
        benchmarks = self._captures(REFERENCE)
        if len(candidates) != len(benchmarks):
            counts = f"{len(benchmarks)} processes of the original, and {len(candidates)} of the conversion"
            raise CaptureError(f"{counts} were recorded: they can't be compared. {error}".rstrip())
        goldens, repeats = self._captures(GOLDEN), self._captures(REPEAT)
        results = []
        for rank, candidate in enumerate(candidates):
            result = compare(
                goldens[rank] if goldens else benchmarks[rank],
                candidate,
                benchmark=benchmarks[rank] if goldens else None,
                repeat=repeats[rank] if repeats else None,
                criterion=self.criterion,
            )
            outcome = self._outcome(candidate, error)
            results.append(self._named(with_levels(result, self._levels, outcome), candidate))
        return results

    def _named(self, result: Comparison, candidate: Capture) -> Comparison:
        """Name the sides by what was run, as their captures don't stay, and say if there were fewer steps."""
        seen, wanted = len(candidate.steps), self.settings.steps
        notes = (_fewer(seen, wanted),) if self.script and seen < wanted else ()
        original, converted = str(self.original), str(self.converted)
        return replace(
            result,
            reference=replace(result.reference, folder=original),
            candidate=replace(result.candidate, folder=converted),
            benchmark=result.benchmark and replace(result.benchmark, folder=original),
            notes=(*notes, *result.notes),
        )

    def _captures(self, name: str) -> list[Capture]:
        return open_captures(self.folder / name) if (self.folder / name).is_dir() else []

    @property
    def _levels(self) -> Sequence[str]:
        return LEVELS[: LEVELS.index(self.level) + 1]

    def _outcome(self, candidate: Capture, error: str) -> Outcome:
        is_built = "reached" not in candidate.header.settings or bool(candidate.header.settings["reached"])
        return Outcome(is_built, error, self.settings.steps if self.model else None, bool(self.script))


def empty_folder(folder: Path) -> None:
    """Make the folder of an earlier verification ready for the next.

    :raises CaptureError: if there is anything in it that doesn't come from a verification.
    """
    known = {*CAPTURES, DOCUMENT, PAGE, SHEET}
    if folder.exists() and not folder.is_dir():
        raise CaptureError(f"{folder}: this is a file: give a folder for the report")
    folder.mkdir(parents=True, exist_ok=True)
    strange = sorted(path.name for path in folder.iterdir() if path.name not in known and not _of_rank(path))
    if strange:
        raise CaptureError(f"{folder}: {strange[0]} in it is of no verification: give another folder")
    remove_captures(folder)
    for path in filter(_of_rank, folder.iterdir()):
        shutil.rmtree(path)
    for name in (DOCUMENT, PAGE, SHEET):
        (folder / name).unlink(missing_ok=True)


def remove_captures(folder: Path) -> None:
    """Remove what was recorded for a verification; its report stays."""
    for name in CAPTURES:
        shutil.rmtree(folder / name, ignore_errors=True)


def _of_rank(path: Path) -> bool:
    """Whether it holds the report of one of several processes."""
    return path.is_dir() and path.name.startswith("rank-") and path.name[5:].isdigit()


def _fewer(seen: int, wanted: int) -> tuple[str, str]:
    return (
        f"The script made {seen} steps of the {wanted} that were to be compared.",
        f"脚本只执行了 {seen} 步，少于要比较的 {wanted} 步。",
    )


def _no_golden(why: str) -> tuple[str, str]:
    return (
        f"There is no golden in float64, so the original in its own type is the reference: {why}",
        f"没有 float64 真值，因此以使用自身数据类型的原始代码为参考：{why}",
    )
