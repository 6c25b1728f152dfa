#!/usr/bin/env python
"""Train a U-Net on drawn shapes, as config.yaml says."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch
import torch.nn.functional as F
import yaml

import launch
from shapes import Shapes, loader
from unet import UNet, predict

try:
    import pynvml
except ImportError:  # only for the log
    pynvml = None


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", default="config.yaml")
    parser.add_argument("--launch", default="launch.json", help="how several processes work together")
    parser.add_argument("--device", help="cuda, cuda:1 or cpu; in place of the configuration's")
    parser.add_argument("--backend", default="", help="nccl or gloo; in place of the configuration's")
    parser.add_argument("--steps", type=int, default=0, help="stop after so many, and print each")
    parser.add_argument("--save", help="folder for the checkpoint")
    return parser.parse_args()


def choose_device(wanted: str, local_rank: int) -> torch.device:
    if wanted.startswith("cuda") and not torch.cuda.is_available():
        print("no GPU, training on the CPU")
        return torch.device("cpu")
    device = torch.device(wanted)
    if device.type == "cuda" and device.index is None:
        device = torch.device(f"cuda:{local_rank}")
    return device


def memory(device: torch.device) -> str:
    if device.type != "cuda":
        return "on the CPU"
    used = torch.cuda.max_memory_allocated(device) / 2**20
    if pynvml is not None:
        pynvml.nvmlInit()
        total = pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(device.index)).total
        return f"{used:.0f} of {total / 2**20:.0f} MB on {torch.cuda.get_device_name(device)}"
    return f"{used:.0f} MB on {torch.cuda.get_device_name(device)}"


def main() -> None:
    args = parse_args()
    config = yaml.safe_load(Path(args.config).read_text())
    local_rank, settings = launch.setup(args.launch, args.backend)
    device = choose_device(args.device or config["device"], local_rank)
    on_gpu = device.type == "cuda"
    precision = config["precision"]
    torch.backends.cudnn.benchmark = precision["cudnn_benchmark"]
    torch.backends.cuda.matmul.allow_tf32 = precision["allow_tf32"]
    torch.manual_seed(config["seed"])
    torch.cuda.manual_seed_all(config["seed"])

    train = loader(config["data"], config["seed"], device, torch.distributed.is_initialized())
    network = UNet(**config["model"]).to(device)
    model = launch.wrap(network, device, settings)
    optimizer = torch.optim.AdamW(model.parameters(), **config["optimizer"])
    amp = precision["amp"] and on_gpu
    scaler = torch.cuda.amp.GradScaler(enabled=amp)
    weights = torch.tensor([0.5, 1.0, 1.0], device=device)

    step = 0
    for epoch in range(config["epochs"]):
        started = time.time()
        for images, labels in train:
            images = images.to(device, non_blocking=True)
            labels = labels.cuda(device, non_blocking=True) if on_gpu else labels
            with torch.cuda.amp.autocast(enabled=amp, dtype=getattr(torch, precision["dtype"])):
                loss = F.cross_entropy(model(images), labels, weights)
            optimizer.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            step += 1
            if args.steps and launch.is_first():
                print(f"step {step} loss {loss.item()!r}")
            if step == args.steps:
                break
        if on_gpu:
            torch.cuda.synchronize(device)
        if launch.is_first():
            print(f"epoch {epoch + 1}: {time.time() - started:.1f} s, {memory(device)}")
        if step == args.steps:
            break

    if launch.is_first():
        network.eval()
        image, labels = Shapes(1, config["data"]["image_size"], seed=config["seed"] + 1)[0]
        found = predict(network, image[None].to(device), config["eval"]["scales"])[0].cpu()
        print(f"accuracy on a new image: {(found == labels).float().mean():.3f}")
        if args.save:
            Path(args.save).mkdir(parents=True, exist_ok=True)
            torch.save({"model": network.state_dict(), "config": config}, Path(args.save) / "last.pt")
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
