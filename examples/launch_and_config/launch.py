"""One process per GPU, as torchrun starts them."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def setup(path: str, backend: str) -> tuple[int, dict]:
    """Join the other processes; return the number of this one's GPU, and the settings."""
    settings = json.loads(Path(path).read_text())
    for name, value in settings["env"].items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", settings["gpu_ids"])
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    if "WORLD_SIZE" in os.environ:
        backend = backend or settings["backend"]
        if backend == "nccl":
            torch.cuda.set_device(local_rank)
        dist.init_process_group(backend, timeout=timedelta(minutes=settings["timeout_minutes"]))
    return local_rank, settings


def wrap(model: torch.nn.Module, device: torch.device, settings: dict) -> torch.nn.Module:
    if not dist.is_initialized():
        return model
    devices = [device.index] if device.type == "cuda" else None
    return DistributedDataParallel(model, device_ids=devices, **settings["ddp"])


def is_first() -> bool:
    return not dist.is_initialized() or dist.get_rank() == 0
