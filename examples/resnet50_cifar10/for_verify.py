"""What `cuda2npu verify` runs: the model, a batch of images, the loss, and a validation set."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn as nn
import torch.nn.functional as F

from data import MEAN, STD, make_synthetic
from model import resnet50

BATCH = 8
BATCHES = 4


def build() -> nn.Module:
    return resnet50()


def inputs() -> torch.Tensor:
    return batch(seed=0)[0]


def loss(output: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(output, batch(seed=0)[1].to(output.device), label_smoothing=0.1)


def batches() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """A validation set, for `--data for_verify.py:batches`."""
    for seed in range(1, 1 + BATCHES):
        yield batch(seed)


def metric(output: torch.Tensor, target: torch.Tensor) -> float:
    """Accuracy, in percent."""
    return 100 * (output.argmax(1) == target.to(output.device)).float().mean().item()


def batch(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    images, labels = make_synthetic(BATCH, seed)
    return (images.float() / 255 - MEAN) / STD, labels
