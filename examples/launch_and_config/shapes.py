"""Images of discs and boxes, and which pixel belongs to what."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

BACKGROUND, DISC, BOX = range(3)


class Shapes(Dataset):
    """Draws image ``index`` from a seed of its own, so that every run sees the same ones."""

    def __init__(self, samples: int, size: int, seed: int) -> None:
        self.samples, self.size, self.seed = samples, size, seed
        axis = torch.arange(size, dtype=torch.float32)
        self.y, self.x = torch.meshgrid(axis, axis, indexing="ij")

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        generator = torch.Generator().manual_seed(self.seed * 100_003 + index)
        image = torch.rand(3, self.size, self.size, generator=generator) * 0.3
        labels = torch.full((self.size, self.size), BACKGROUND)
        for kind in (DISC, BOX):
            x, y, radius = torch.rand(3, generator=generator) * torch.tensor([1.0, 1.0, 0.2]) * self.size
            radius = radius + 4
            if kind == DISC:
                inside = (self.x - x) ** 2 + (self.y - y) ** 2 < radius**2
            else:
                inside = ((self.x - x).abs() < radius) & ((self.y - y).abs() < radius)
            image = torch.where(inside, image + torch.rand(3, 1, 1, generator=generator), image)
            labels = torch.where(inside, kind, labels)
        return image.clamp(0, 1), labels


def loader(data: dict, seed: int, device: torch.device, distributed: bool) -> DataLoader:
    shapes = Shapes(data["samples"], data["image_size"], seed)
    sampler = DistributedSampler(shapes, seed=seed) if distributed else None
    return DataLoader(
        shapes,
        data["batch_size"],
        sampler=sampler,
        shuffle=sampler is None,
        generator=torch.Generator().manual_seed(seed),
        num_workers=data["workers"],
        pin_memory=data["pin_memory"] and device.type == "cuda",
        drop_last=True,
    )
