"""CIFAR-10 from its binary files, or random images of the same shape."""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

MEAN = torch.tensor([0.4914, 0.4822, 0.4465]).view(3, 1, 1)
STD = torch.tensor([0.2470, 0.2435, 0.2616]).view(3, 1, 1)
RECORD = 1 + 3 * 32 * 32  # one label byte, then the planes of the image


class CIFAR10(Dataset):
    def __init__(self, images: torch.Tensor, labels: torch.Tensor, train: bool):
        self.images = images
        self.labels = labels
        self.train = train

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        image = self.images[index].float() / 255
        if self.train:
            image = random_crop_and_flip(image)
        return (image - MEAN) / STD, int(self.labels[index])


def random_crop_and_flip(image: torch.Tensor, padding: int = 4) -> torch.Tensor:
    top, left = torch.randint(0, 2 * padding + 1, (2,)).tolist()
    image = F.pad(image, [padding] * 4)[:, top : top + 32, left : left + 32]
    return image.flip(2) if torch.rand(1).item() < 0.5 else image


def read_cifar10(data_dir: str, train: bool) -> tuple[torch.Tensor, torch.Tensor]:
    folder = Path(data_dir) / "cifar-10-batches-bin"
    names = [f"data_batch_{i}.bin" for i in range(1, 6)] if train else ["test_batch.bin"]
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise SystemExit(
            f"{folder / missing[0]} is missing; unpack cifar-10-binary.tar.gz "
            f"from https://www.cs.toronto.edu/~kriz/cifar.html in {data_dir}, or use --synthetic"
        )
    raw = bytearray(b"".join((folder / name).read_bytes() for name in names))
    records = torch.frombuffer(raw, dtype=torch.uint8).view(-1, RECORD)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].long()


def make_synthetic(size: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """One random pattern per class under noise: nothing to download, but something to learn."""
    patterns = torch.randint(0, 256, (10, 3, 32, 32), generator=torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 10, (size,), generator=generator)
    noise = torch.randint(0, 256, (size, 3, 32, 32), generator=generator)
    return ((patterns[labels] + noise) // 2).to(torch.uint8), labels


def build_loaders(args: argparse.Namespace, device: torch.device) -> tuple[DataLoader, DataLoader]:
    if args.synthetic:
        train_set = CIFAR10(*make_synthetic(2048, args.seed), train=True)
        val_set = CIFAR10(*make_synthetic(256, args.seed + 1), train=False)
    else:
        train_set = CIFAR10(*read_cifar10(args.data_dir, train=True), train=True)
        val_set = CIFAR10(*read_cifar10(args.data_dir, train=False), train=False)

    kwargs = {"batch_size": args.batch_size, "num_workers": args.workers}
    if device.type == "cuda":
        kwargs.update(pin_memory=True, persistent_workers=args.workers > 0)
    train_sampler = val_sampler = None
    if args.distributed:
        train_sampler = DistributedSampler(train_set, seed=args.seed, drop_last=True)
        val_sampler = DistributedSampler(val_set, shuffle=False)
    train_loader = DataLoader(
        train_set,
        shuffle=train_sampler is None,
        sampler=train_sampler,
        drop_last=True,
        **kwargs,
    )
    return train_loader, DataLoader(val_set, sampler=val_sampler, **kwargs)
