"""Seeds, meters, timing and memory."""

from __future__ import annotations

import random
import time
from typing import Optional

import torch
import torch.backends.cudnn as cudnn


def seed_everything(seed: int, cudnn_benchmark: bool = False) -> None:
    random.seed(seed)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
    cudnn.benchmark = cudnn_benchmark
    cudnn.deterministic = not cudnn_benchmark


class AverageMeter:
    def __init__(self) -> None:
        self.sum = 0.0
        self.count = 0

    def update(self, value: float, n: int = 1) -> None:
        self.sum += value * n
        self.count += n

    @property
    def avg(self) -> float:
        return self.sum / max(self.count, 1)


class CudaTimer:
    """Seconds a block takes on the device; kernels run on after the Python call has returned."""

    def __init__(self, device: torch.device) -> None:
        self.use_cuda = device.type == "cuda"
        self.seconds = 0.0
        self.start: Optional[torch.cuda.Event] = None

    def __enter__(self) -> CudaTimer:
        if self.use_cuda:
            self.start = torch.cuda.Event(enable_timing=True)
            self.start.record()
        self.began = time.perf_counter()
        return self

    def __exit__(self, *exc_info) -> None:
        self.seconds = time.perf_counter() - self.began
        if self.use_cuda:
            end = torch.cuda.Event(enable_timing=True)
            end.record()
            torch.cuda.synchronize()
            self.seconds = self.start.elapsed_time(end) / 1000  # ms


def accuracy(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Share of right answers in percent."""
    return (output.argmax(dim=1) == target).float().mean() * 100


def memory_report(device: torch.device) -> str:
    if device.type != "cuda":
        return "no GPU memory in use"
    allocated = torch.cuda.max_memory_allocated(device) / 1024**2
    reserved = torch.cuda.max_memory_reserved(device) / 1024**2
    total = torch.cuda.get_device_properties(device).total_memory / 1024**2
    return f"peak memory {allocated:.0f} MB allocated, {reserved:.0f} MB reserved of {total:.0f} MB"
