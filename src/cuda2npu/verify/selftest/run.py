"""The self-test: records the models, right and with faults, and compares."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from cuda2npu.report.page import pad
from cuda2npu.verify.capture.recorder import Recorder
from cuda2npu.verify.capture.settings import Settings
from cuda2npu.verify.compare.compare import compare
from cuda2npu.verify.comparison import Comparison, Verdict
from cuda2npu.verify.records import Header
from cuda2npu.verify.selftest.faults import FAULTS, Fault
from cuda2npu.verify.selftest.models import MODELS, batch
from cuda2npu.verify.selftest.noise import Noise
from cuda2npu.verify.store import Capture, Writer

STEPS = 2
DTYPES = ("float32", "float16", "bfloat16")


@dataclass(frozen=True)
class Outcome:
    """What a comparison made of a run.

    :param expected: who must be blamed; "" for a correct run.
    :param blamed: who was.
    :param good: whether the comparison was right: with a fault, that it failed and blamed the right one;
        without, that it accused nobody.
    """

    model: str
    dtype: str
    what: str
    what_zh: str
    verdict: Verdict
    expected: str
    blamed: str
    good: bool
    message: str = ""


def run_self_test(device: str = "cpu", models: tuple[str, ...] = tuple(MODELS)) -> list[Outcome]:
    """Run the self-test and return what came out; it takes a minute on two cores.

    :param device: of the candidates, as ``cpu`` or ``npu``; references are computed on the CPU.
    """
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="cuda2npu-self-test-") as folder:
        for name in models:
            outcomes += _Trial(name, device, Path(folder) / name).outcomes()
    return outcomes


def table(outcomes: list[Outcome], lang: str) -> Iterator[str]:
    """Yield the lines of a table of outcomes."""
    chinese = lang == "zh"
    words = ("正确", "错误") if chinese else ("ok", "WRONG")
    rows = [
        (
            words[0] if outcome.good else words[1],
            outcome.model,
            outcome.dtype,
            outcome.what_zh if chinese else outcome.what,
            outcome.verdict.value,
            outcome.blamed if outcome.good else f"{outcome.blamed or '-'} ({outcome.message})",
        )
        for outcome in outcomes
    ]
    for cells in zip(*(pad(list(column)) for column in zip(*rows))):
        yield "  ".join(cells).rstrip()


class _Trial:
    """All runs of one model."""

    def __init__(self, model: str, device: str, folder: Path) -> None:
        self.model = model
        self.device = device
        self.folder = folder

    def outcomes(self) -> Iterator[Outcome]:
        golden = self._run("golden", "float64", device="cpu")
        right = {dtype: self._run(dtype, dtype) for dtype in DTYPES}
        cpu = self.device == "cpu"
        noisy = {d: self._run(f"{d}-noise", d, noise=17) for d in DTYPES} if cpu else right
        threads = self._run("threads", "float32", threads=1 if torch.get_num_threads() > 1 else 2)
        for dtype in DTYPES:
            yield self._accept("correct", "正确运行", dtype, compare(golden, right[dtype]))
            if not cpu:
                continue
            what, what_zh = "correct, other rounding", "正确运行，舍入不同"
            yield self._accept(what, what_zh, dtype, compare(golden, noisy[dtype]))
            found = compare(golden, noisy[dtype], benchmark=right[dtype])
            yield self._accept(what + ", benchmark", what_zh + "，有第二标杆", dtype, found)
            found = compare(right[dtype], noisy[dtype])
            yield self._accept(what + ", same type", what_zh + "，同一类型", dtype, found)
        found = compare(right["float32"], threads)
        yield self._accept("correct, other threads", "正确运行，线程数不同", "float32", found)
        for fault in FAULTS:
            for dtype in fault.dtypes if self.model in fault.places else ():
                faulty = self._run("faulty", dtype, fault=fault)
                yield self._accuse(fault, "", "", dtype, compare(noisy[dtype], faulty))
                if dtype != "float32" or fault.name == "scale 1.01":
                    found = compare(golden, faulty)
                    yield self._accuse(fault, ", golden", "，对比真值", dtype, found)
                found = compare(golden, faulty, benchmark=noisy[dtype])
                yield self._accuse(fault, ", benchmark", "，有第二标杆", dtype, found)

    def _accept(self, what: str, what_zh: str, dtype: str, found: Comparison) -> Outcome:
        good = found.verdict in (Verdict.PASS, Verdict.WARN)
        blamed = found.first.name if found.first else ""
        message = found.first.reason if found.first else ""
        return Outcome(self.model, dtype, what, what_zh, found.verdict, "", blamed, good, message)

    def _accuse(self, fault: Fault, more: str, more_zh: str, dtype: str, found: Comparison) -> Outcome:
        expected = fault.culprit(self.model)
        blamed = found.first.name if found.first else ""
        good = found.verdict is Verdict.FAIL and blamed == expected
        message = found.first.reason if found.first else ""
        what = fault.name + more, fault.name_zh + more_zh
        return Outcome(self.model, dtype, *what, found.verdict, expected, blamed, good, message)

    def _run(
        self,
        name: str,
        dtype: str,
        *,
        device: str = "",
        fault: Fault | None = None,
        noise: int | None = None,
        threads: int | None = None,
    ) -> Capture:
        torch.manual_seed(0)
        model = MODELS[self.model]().to(device or self.device, getattr(torch, dtype))
        if fault is not None:
            fault.plant(model, fault.places[self.model])
        settings = Settings(
            steps=STEPS,
            full_steps=STEPS,
            weights=False,
            inventory=False,
            dropout=fault is not None and fault.drops,
        )
        header = Header(f"self-test {self.model}", device or self.device, dtype, complete=True)
        writer = Writer(self.folder / name, header)
        rounding = contextlib.nullcontext() if noise is None else Noise(noise)
        with _threads(threads), Recorder(writer, settings) as recorder, rounding:
            _train(self.model, model, recorder)
        return Capture(self.folder / name)


def _train(name: str, model: nn.Module, recorder: Recorder) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    like = next(model.parameters())
    for step in range(STEPS):
        torch.manual_seed(step)
        inputs, targets = batch(name, step)
        inputs = inputs.to(like.device, like.dtype if inputs.is_floating_point() else None)
        recorder.begin_step()
        logits = model(inputs).flatten(0, -2)
        precise = torch.float64 if like.dtype == torch.float64 else torch.float32
        optimizer.zero_grad()
        functional.cross_entropy(logits.to(precise), targets.to(like.device).flatten()).backward()
        optimizer.step()
        recorder.end_step()


@contextlib.contextmanager
def _threads(count: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
