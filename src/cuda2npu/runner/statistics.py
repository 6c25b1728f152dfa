"""What a run did on the simulated device: each process counts for itself, the parent adds up."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from cuda2npu.runner.variables import STATISTICS


@dataclass(frozen=True)
class Statistics:
    """What ran on the simulated device.

    :param operators: ATen operator -> number of calls, over all processes.
    :param peak_bytes: device number -> the most memory that one process had there, in bytes.
    :param processes: number of processes that used the device.
    """

    operators: dict[str, int] = field(default_factory=dict)
    peak_bytes: dict[str, int] = field(default_factory=dict)
    processes: int = 0

    @property
    def total(self) -> int:
        """Number of operator calls on the device."""
        return sum(self.operators.values())

    def as_json(self) -> dict[str, Any]:
        """Return what ``--stats FILE`` holds."""
        return {"schema": "cuda2npu-run/1", "device": "simulated", "total": self.total, **asdict(self)}


def operator_counts() -> dict[str, int]:
    """Return how often each ATen operator ran on the simulated NPU in this process so far."""
    import torch

    lines = torch.ops.cuda2npu_sim.operator_counts().splitlines()
    return {name: int(count) for name, _, count in (line.rpartition(" ") for line in lines)}


def record_at_exit() -> None:
    """Leave what this process counts in the folder of the run, when the process ends.

    It may end by ``os._exit``, too, as the forked children of multiprocessing do.
    """
    folder = os.environ.get(STATISTICS)
    if not folder:
        return
    exit_at_once = os._exit

    def write() -> None:
        _write(Path(folder))

    def exit_after_writing(status: int) -> NoReturn:
        write()
        exit_at_once(status)

    atexit.register(write)
    os._exit = exit_after_writing
    os.register_at_fork(after_in_child=_count_anew)


def _count_anew() -> None:
    """Let a forked child count for itself: what its parent did, the parent writes."""
    import torch

    torch.ops.cuda2npu_sim.reset_operator_counts()


def _write(folder: Path) -> None:
    import torch

    sim = torch.ops.cuda2npu_sim
    peaks = {str(i): sim.max_memory_allocated(i) for i in range(sim.device_count())}
    used = {number: peak for number, peak in peaks.items() if peak}
    text = json.dumps({"operators": operator_counts(), "peak_bytes": used})
    with contextlib.suppress(OSError):  # the parent was killed and its folder is gone
        (folder / f"{os.getpid()}.json").write_text(text, encoding="utf-8")


def collect(folder: Path) -> Statistics:
    """Add up what the processes of a run left in ``folder``."""
    operators: Counter[str] = Counter()
    peaks: dict[str, int] = {}
    processes = 0
    for path in sorted(folder.glob("*.json")):
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # a process that was killed while it wrote
            continue
        operators.update(found["operators"])
        processes += bool(found["operators"])
        for number, peak in found["peak_bytes"].items():
            peaks[number] = max(peaks.get(number, 0), peak)
    return Statistics(dict(operators.most_common()), dict(sorted(peaks.items())), processes)
