"""``torch.random.fork_rng`` for the NPU by default, in the versions of torch_npu that change it."""

from __future__ import annotations

import functools
from typing import Any

import torch

from cuda2npu.simulator.names import target


def apply() -> None:
    """Put it into torch; from torch 2.13 on its own default is the accelerator."""
    running = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if running >= (2, 13) or not target().table.has("torch_npu.utils._random"):
        return
    plain = torch.random.fork_rng

    @functools.wraps(plain)
    def fork_rng(*args: Any, device_type: str | None = None, **kwargs: Any) -> Any:
        return plain(*args, device_type=device_type or "npu", **kwargs)

    torch.random.fork_rng = fork_rng
