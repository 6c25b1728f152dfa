"""Small training steps of which the tests take inventories: on the CPU, or with ``npu`` on the simulated NPU.

As a program it prints the inventory of one as JSON: ``python inventory_models.py cnn npu``.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Callable

import torch
from torch import nn
from torch.nn.functional import relu, scaled_dot_product_attention

from cuda2npu.verify.operators.inventory import Inventory

Run = Callable[[], Any]


class Block(nn.Module):
    """As in a ResNet: two convolutions, and what came in is added."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = (nn.Conv2d(4, 4, 3, padding=1) for _ in range(2))
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return relu(x + self.second(relu(self.norm(self.first(x)))))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(8, 24)
        self.norm = nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.unsqueeze(1) for part in self.project(self.norm(x)).chunk(3, -1))
        return scaled_dot_product_attention(q, k, v, is_causal=True).squeeze(1)


class Last(nn.Module):
    def forward(self, found: Any) -> torch.Tensor:
        return found[0][:, -1]


def training(model: nn.Module, inputs: torch.Tensor, device: str) -> Run:
    """Return what trains the model two steps, and gives the losses."""
    optimizer = torch.optim.SGD(model.to(device).parameters(), 0.1, foreach=False)

    def run() -> list[float]:
        losses = []
        for _ in range(2):
            optimizer.zero_grad()
            loss = model(inputs.to(device)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    return run


def cnn(device: str) -> Run:
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), Block(), Block(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 2)
    )
    return training(model, torch.randn(2, 3, 8, 8), device)


def lstm(device: str) -> Run:
    return training(nn.Sequential(nn.LSTM(4, 5, 2, batch_first=True), Last()), torch.randn(2, 7, 4), device)


def transformer(device: str) -> Run:
    return training(nn.Sequential(Attention(), nn.GELU()), torch.randn(2, 6, 8), device)


def masks(device: str) -> Run:
    def run() -> Any:
        x = torch.arange(12.0).reshape(3, 4).to(device)
        x[x > 8] = 0
        return x[x > 2].sum().item(), x.nonzero(), torch.unique(x), x.masked_select(x > 1), x.double().sum()

    return run


MODELS: dict[str, Callable[[str], Run]] = {each.__name__: each for each in (cnn, lstm, transformer, masks)}


def taken(name: str, device: str) -> dict[str, Any]:
    torch.manual_seed(0)
    run = MODELS[name](device)
    with Inventory() as inventory:
        run()
    return inventory.as_json()


if __name__ == "__main__":
    if sys.argv[2] == "npu":
        import torch_npu  # noqa: F401
    print(json.dumps(taken(sys.argv[1], sys.argv[2])))
