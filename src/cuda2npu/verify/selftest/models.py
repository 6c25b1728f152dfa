"""Three small models, as different as networks are: convolutional, attending, recurrent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional


class Block(nn.Module):
    """Two convolutions and a shortcut, with ReLU in place."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Take and return N×C×H×W."""
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + x)


class ConvNet(nn.Module):
    """Resizes its images, then convolves them."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(16)
        self.relu = nn.ReLU(inplace=True)
        self.blocks = nn.Sequential(Block(16), Block(16))
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(16, 10)
        self.resize: Callable[[Tensor], Tensor] = resized
        self.pool: Callable[[Tensor], Tensor] = pooled

    def forward(self, x: Tensor) -> Tensor:
        """Take images N×3×H×W, return logits N×10."""
        x = self.resize(x)
        x = self.blocks(self.relu(self.bn(self.stem(x))))
        return self.head(self.dropout(self.pool(x)))


def resized(images: Tensor) -> Tensor:
    """Return N×3×24×24."""
    return functional.interpolate(images, size=(24, 24), mode="bilinear", align_corners=False)


def pooled(images: Tensor) -> Tensor:
    """Return the mean of each channel."""
    return images.mean((2, 3))


class Attention(nn.Module):
    """Scaled dot product attention of several heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Take and return N×T×width."""
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1)
        )
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Layer(nn.Module):
    """A layer of a decoder, normalised before its parts."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        """Take and return N×T×width."""
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.mlp(self.norm2(x)))


class Transformer(nn.Module):
    """A decoder that predicts the next word."""

    def __init__(self, words: int = 64, width: int = 64, heads: int = 4, depth: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, words: Tensor) -> Tensor:
        """Take words N×T, return logits N×T×words."""
        x = self.embedding(words)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Recurrent(nn.Module):
    """An LSTM that predicts the next word."""

    def __init__(self, words: int = 64, width: int = 48) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.dropout = nn.Dropout(0.1)
        self.head = nn.Linear(width, words)

    def forward(self, words: Tensor) -> Tensor:
        """Take words N×T, return logits N×T×words."""
        x, _ = self.lstm(self.embedding(words))
        return self.head(self.dropout(x))


MODELS: Mapping[str, Callable[[], nn.Module]] = {
    "ConvNet": ConvNet,
    "Transformer": Transformer,
    "Recurrent": Recurrent,
}


def batch(name: str, step: int) -> tuple[Tensor, Tensor]:
    """Return inputs and targets of a step, drawn on the CPU."""
    generator = torch.Generator().manual_seed(1000 + step)
    if name == "ConvNet":
        images = torch.randn(8, 3, 16, 16, generator=generator)
        return images, torch.randint(10, (8,), generator=generator)
    words = torch.randint(64, (4, 17), generator=generator)
    return words[:, :-1].contiguous(), words[:, 1:].contiguous()
