"""Deterministic algorithms in the backward pass of a part of a model: the simulation always is."""

from __future__ import annotations

import torch

from cuda2npu.simulator.names import only_names_of_target


def enable_deterministic_with_backward(tensor: torch.Tensor) -> torch.Tensor:
    """Return ``tensor``."""
    return tensor


def disable_deterministic_with_backward(tensor: torch.Tensor) -> torch.Tensor:
    """Return ``tensor``."""
    return tensor


only_names_of_target(__name__)
