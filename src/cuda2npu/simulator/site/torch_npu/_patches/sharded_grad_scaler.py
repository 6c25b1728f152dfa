"""Gradient scaling with FSDP: torch_npu puts its class in the place of torch's when FSDP is imported."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from cuda2npu.simulator.names import target
from torch_npu._patches.after_import import after_import

_MODULE = "torch.distributed.fsdp.sharded_grad_scaler"


def sharded_grad_scaler() -> type:
    """Return the class ``_ShardedGradScaler``; in some versions of torch_npu it takes a device, first."""
    import importlib

    plain: Any = importlib.import_module(_MODULE).ShardedGradScaler
    name = "torch.npu.amp.sharded_grad_scaler._ShardedGradScaler"
    if plain.__name__ == "_ShardedGradScaler":
        return plain
    takes_device = "device" in (target().table.parameters(name) or ())
    return type("_ShardedGradScaler", (plain,), {"__init__": _init(plain, takes_device)})


def _init(plain: Any, takes_device: bool) -> Any:
    def with_device(
        self: Any,
        device: str = "npu",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: Any = torch.distributed.group.WORLD,
    ) -> None:
        settings = (init_scale, backoff_factor, growth_factor, growth_interval, enabled, process_group)
        plain.__init__(self, device, *settings)

    def without_device(
        self: Any,
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: Any = torch.distributed.group.WORLD,
    ) -> None:
        settings = (init_scale, backoff_factor, growth_factor, growth_interval, enabled, process_group)
        plain.__init__(self, "npu", *settings)

    return with_device if takes_device else without_device


def apply() -> None:
    """Put it into torch when FSDP is imported."""

    def replace(module: ModuleType) -> None:
        module.ShardedGradScaler = sharded_grad_scaler()

    after_import(_MODULE, replace)
