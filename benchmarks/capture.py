#!/usr/bin/env python
"""What recording costs: the time of a step with statistics over that of a plain one, and memory over steps.

    cuda2npu run --device sim benchmarks/capture.py
    cuda2npu run --device cpu-as-cuda benchmarks/capture.py

Steps with and without a recorder take turns in one process, so that what else the machine does hits both;
the ratio is that of the medians, once of the time on the clock and once of that of the processor, which
others on the machine disturb less. The memory is what the process has more after the last step than after
half of them.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn

from cuda2npu.verify.capture.recorder import Recorder
from cuda2npu.verify.capture.settings import Settings
from cuda2npu.verify.records import Header
from cuda2npu.verify.store import Writer

EXAMPLE = Path(__file__).parents[1] / "examples/resnet50_cifar10"
WARM_UP = 2


def main() -> None:
    """Print the ratio and the growth, as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10, help="of each sort")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--tensors", action="store_true", help="write tensors, too")
    options = parser.parse_args()
    print(json.dumps(measure(**vars(options))))


def measure(steps: int, batch_size: int, image_size: int, tensors: bool = False) -> dict[str, Any]:
    """Train the ResNet-50 of the example for ``steps`` steps of each sort."""
    sys.path.insert(0, str(EXAMPLE))
    from model import resnet50

    device = _device()
    torch.manual_seed(0)
    net = resnet50(image_size=image_size).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(batch_size, 3, image_size, image_size).to(device)
    target = torch.randint(0, 10, (batch_size,)).to(device)
    criterion = nn.CrossEntropyLoss()

    def step() -> None:
        optimizer.zero_grad()
        criterion(net(images), target).backward()
        optimizer.step()
        _wait(device)

    plain, recorded, memory = [], [], []
    settings = Settings(tensors=tensors, full_steps=steps + WARM_UP, steps=steps + WARM_UP, inventory=False)
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Writer(Path(folder), Header("benchmark", str(device))), settings)
        for _ in range(steps + WARM_UP):
            plain.append(_seconds(step))
            with recorder:
                recorded.append(_seconds(lambda: _recorded(recorder, step)))
            gc.collect()
            memory.append(_resident())
    (wall, wall_recorded), (cpu, cpu_recorded) = zip(_medians(plain), _medians(recorded))
    return {
        "device": str(device),
        "plain_s": round(wall, 3),
        "recorded_s": round(wall_recorded, 3),
        "ratio": round(wall_recorded / wall, 2),
        "cpu_ratio": round(cpu_recorded / cpu, 2),
        "growth_mb": round(memory[-1] - memory[len(memory) // 2], 1),
    }


def _recorded(recorder: Recorder, step: Any) -> None:
    recorder.begin_step()
    step()
    recorder.end_step()


def _seconds(work: Any) -> tuple[float, float]:
    """Return the time on the clock and that of the processor."""
    begin = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begin[0], time.process_time() - begin[1]


def _medians(times: list[tuple[float, float]]) -> tuple[float, float]:
    wall, cpu = zip(*times[WARM_UP:])
    return statistics.median(wall), statistics.median(cpu)


def _device() -> torch.device:
    for name in ("npu", "cuda"):
        module: Any = getattr(torch, name, None)
        if module is not None and module.is_available():
            return torch.device(name, 0)
    return torch.device("cpu")


def _wait(device: torch.device) -> None:
    if device.type != "cpu":
        getattr(torch, device.type).synchronize()


def _resident() -> float:
    """Return the memory of this process in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    main()
