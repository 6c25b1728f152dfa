"""A small U-Net."""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F


def block(inside: int, outside: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inside, outside, 3, padding=1, bias=False),
        nn.BatchNorm2d(outside),
        nn.ReLU(inplace=True),
        nn.Conv2d(outside, outside, 3, padding=1, bias=False),
        nn.BatchNorm2d(outside),
        nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    """Down with max pooling, up with resizing; what has the same size is joined."""

    def __init__(self, channels: list[int], classes: int, upsample: str = "bilinear") -> None:
        super().__init__()
        widths = [3, *channels]
        self.down = nn.ModuleList(block(a, b) for a, b in zip(widths, channels))
        pairs = list(zip(channels[::-1], channels[-2::-1]))
        self.up = nn.ModuleList(block(deep + flat, flat) for deep, flat in pairs)
        self.grow = nn.Upsample(scale_factor=2, mode="nearest")
        self.head = nn.Conv2d(channels[0], classes, 1)
        self.mode = upsample

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        kept, x = [], images
        for number, level in enumerate(self.down):
            x = level(x if number == 0 else F.max_pool2d(x, 2))
            kept.append(x)
        for number, (level, flat) in enumerate(zip(self.up, kept[-2::-1])):
            if number == 0:
                x = self.grow(x)
            elif self.mode == "nearest":
                x = F.interpolate(x, size=flat.shape[-2:], mode="nearest")
            else:
                x = F.interpolate(x, size=flat.shape[-2:], mode=self.mode, align_corners=False)
            x = level(torch.cat([x, flat], dim=1))
        return self.head(x)


@torch.no_grad()
def predict(model: nn.Module, images: torch.Tensor, scales: list[float]) -> torch.Tensor:
    """The mean over several sizes of the image, as class numbers."""
    size = images.shape[-2:]
    total = None
    for scale in scales:
        small = F.interpolate(images, scale_factor=scale, mode="bilinear", align_corners=False)
        scores = F.interpolate(model(small).float(), size=size, mode="bilinear", align_corners=False)
        total = scores if total is None else total + scores
    return total.argmax(dim=1)
