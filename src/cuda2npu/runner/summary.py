"""What a run says before and after: above all, whether the device was real."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cuda2npu.messages import say
from cuda2npu.runner.devices import Device
from cuda2npu.runner.launch import Ended


class Line(NamedTuple):
    """A line and its style, as rich names it."""

    text: str
    style: str


def before(device: Device, lang: str) -> Iterator[Line]:
    """Yield what must be known before the script's own output."""
    if device is Device.SIMULATED:
        yield Line(say("run_simulated", lang), "bold yellow")
    elif device is Device.CPU_AS_CUDA:
        yield Line(say("run_cpu_as_cuda", lang), "bold yellow")


def after(ended: Ended, lang: str) -> Iterator[Line]:
    """Yield what ran on the simulated device."""
    statistics = ended.statistics
    if statistics is None:
        return
    if not statistics.total and ended.was_stopped:
        yield Line(say("run_stopped", lang), "bold yellow")
        return
    if not statistics.total and ended.code:
        yield Line(say("run_failed", lang, code=ended.code), "bold red")
        return
    if not statistics.total:
        yield Line(say("run_nothing", lang), "bold red")
        return
    peak = max(statistics.peak_bytes.values(), default=0) / 2**20
    counts = {
        "operators": statistics.total,
        "kinds": len(statistics.operators),
        "devices": len(statistics.peak_bytes),
        "processes": statistics.processes,
    }
    yield Line(say("run_counts", lang, peak=f"{peak:.0f}", **counts), "bold")
