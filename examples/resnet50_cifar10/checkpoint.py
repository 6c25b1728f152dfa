"""Saving and loading the state of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torch.nn as nn
from torch.cuda.amp import GradScaler
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from distributed import unwrap


def save_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: Optimizer,
    scheduler: LRScheduler,
    scaler: GradScaler,
    epoch: int,
    step: int,
) -> None:
    state: dict[str, Any] = {
        "model": unwrap(model).state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "scaler": scaler.state_dict(),
        "epoch": epoch,
        "step": step,
        "rng_state": torch.get_rng_state(),
    }
    if torch.cuda.is_available():
        state["cuda_rng_state"] = torch.cuda.get_rng_state()
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(state, path)


def load_checkpoint(
    path: str,
    model: nn.Module,
    optimizer: Optimizer,
    scheduler: LRScheduler,
    scaler: GradScaler,
    device: torch.device,
) -> tuple[int, int]:
    """Restore everything that :func:`save_checkpoint` wrote; return the epoch and the step."""
    location = f"cuda:{device.index}" if device.type == "cuda" else "cpu"
    state = torch.load(path, map_location=location)
    unwrap(model).load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["scheduler"])
    scaler.load_state_dict(state["scaler"])
    # map_location moved the generator states too, but they have to be on the CPU
    torch.set_rng_state(state["rng_state"].cpu())
    if device.type == "cuda" and "cuda_rng_state" in state:
        torch.cuda.set_rng_state(state["cuda_rng_state"].cpu(), device)
    return state["epoch"], state["step"]


def load_weights(path: str, model: nn.Module, device: torch.device) -> None:
    """Start from published ResNet-50 weights; a classifier for other classes is left out."""
    if device.type == "cuda":
        weights = torch.load(path, map_location={"cuda:0": f"cuda:{device.index}"})
    else:
        weights = torch.load(path, map_location="cpu")
    weights = weights.get("model", weights)
    if weights["fc.weight"].shape != model.fc.weight.shape:
        weights = {name: tensor for name, tensor in weights.items() if not name.startswith("fc.")}
    result = model.load_state_dict(weights, strict=False)
    print(f"loaded {path}, new: {', '.join(result.missing_keys) or 'nothing'}")
