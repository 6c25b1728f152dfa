"""Gradient scaling for FSDP. The real package puts its class in the place of torch's, and so does this."""
# ruff: noqa: F401 - the names are what this module offers

from __future__ import annotations

from typing import Any

from cuda2npu.simulator.names import only_names_of_target
from torch_npu.npu._switches import npu_check_overflow


def __getattr__(name: str) -> Any:
    """Make ``_ShardedGradScaler`` when it is asked for: importing FSDP takes long."""
    if name != "_ShardedGradScaler":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from torch_npu._patches.sharded_grad_scaler import sharded_grad_scaler

    found = globals()[name] = sharded_grad_scaler()
    return found


only_names_of_target(__name__)
