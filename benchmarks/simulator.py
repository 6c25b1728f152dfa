"""How much the simulated NPU costs: PYTHONPATH=src python benchmarks/simulator.py

Prints medians of ratios. CPU and simulated NPU take turns, so that whatever else runs hits both alike.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable

ROOT = Path(__file__).parents[1]
ROUNDS = 7
STARTS = 5
SMALL_OPERATORS = 3000

Step = Callable[[], None]


def main() -> None:
    """Measure in a process that has the device: this file starts itself by ``cuda2npu run``."""
    if "CUDA2NPU_RUN_DEVICE" in os.environ:
        _print_ratio("ResNet-50 training step, batch of 4 images, 64 x 64", _resnet_step, bar=1.3)
        _print_ratio(f"{SMALL_OPERATORS} small operators", _small_operators, bar=3.0)
        return
    subprocess.run([*_RUN, __file__], check=True)
    _print_start()


_RUN = (sys.executable, "-m", "cuda2npu", "run", "-q", "--device", "sim")


def _print_ratio(name: str, make: Callable[[str], Step], bar: float) -> None:
    on_cpu, on_npu = make("cpu"), make("npu")
    ratios = []
    for _ in range(ROUNDS):
        seconds = _seconds(on_cpu)
        ratios.append(_seconds(on_npu) / seconds)
    _print(name, statistics.median(ratios), "times the CPU", bar)


def _seconds(step: Step) -> float:
    begin = time.perf_counter()
    step()
    return time.perf_counter() - begin


def _print(name: str, value: float, unit: str, bar: float) -> None:
    load = os.getloadavg()[0]
    print(
        f"{name}: {value:.2f} {unit} (at most {bar}; load {load:.1f} on {os.cpu_count()} cores)", flush=True
    )


def _resnet_step(device: str) -> Step:
    import torch

    sys.path.insert(0, str(ROOT / "examples" / "resnet50_cifar10"))
    from model import resnet50

    model: Any = resnet50().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(4, 3, 64, 64, device=device)
    labels = torch.randint(0, 10, (4,), device=device)

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    step()  # the first one allocates
    return step


def _small_operators(device: str) -> Step:
    import torch

    x = torch.ones(4, device=device)

    def step() -> None:
        for _ in range(SMALL_OPERATORS):
            x + x

    step()
    return step


def _print_start() -> None:
    plain, simulated = [], []
    for _ in range(STARTS):
        plain.append(_seconds(lambda: _start(sys.executable, "-c", "import torch")))
        simulated.append(_seconds(lambda: _start(*_RUN, "--", "-c", "import torch")))
    more = statistics.median(simulated) - statistics.median(plain)
    _print("a second start, beside `import torch`", more, "s more", bar=2.0)


def _start(*command: str) -> None:
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
