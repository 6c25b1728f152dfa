"""The training and evaluation loops."""

from __future__ import annotations

import argparse

import torch
import torch.nn as nn
from torch.cuda.amp import GradScaler
from torch.optim import Optimizer
from torch.utils.data import DataLoader

from distributed import mean_over_ranks
from utils import AverageMeter, CudaTimer, accuracy


def train_one_epoch(
    model: nn.Module,
    criterion: nn.Module,
    optimizer: Optimizer,
    scaler: GradScaler,
    loader: DataLoader,
    device: torch.device,
    epoch: int,
    step: int,
    args: argparse.Namespace,
) -> int:
    """Train for one epoch or up to ``--steps``; return the number of optimizer steps so far."""
    model.train()
    seen = 0
    with CudaTimer(device) as timer:
        for images, target in loader:
            if args.steps and step >= args.steps:
                break
            if device.type == "cuda":
                images = images.cuda(non_blocking=True)
                target = target.cuda(non_blocking=True)

            with torch.cuda.amp.autocast(enabled=args.amp):
                output = model(images)
                loss = criterion(output, target)

            optimizer.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            step += 1
            seen += len(target) * args.world_size

            if args.steps or step % args.print_freq == 0:
                # .item() waits for the GPU, so not in every step of a long run
                stats = torch.stack([loss.detach().float(), accuracy(output, target)])
                loss_value, acc = mean_over_ranks(stats).tolist()
                if args.rank == 0:
                    print(f"step {step} loss {loss_value!r} acc {acc:.2f}", flush=True)
    if args.rank == 0 and seen:
        print(f"epoch {epoch}: {seen / timer.seconds:.1f} images/s")
    return step


@torch.no_grad()
def evaluate(
    model: nn.Module, criterion: nn.Module, loader: DataLoader, device: torch.device
) -> tuple[float, float]:
    """Return loss and accuracy on the validation set."""
    model.eval()
    losses, accs = AverageMeter(), AverageMeter()
    for images, target in loader:
        images = images.to(device, non_blocking=True)
        target = target.to(device, non_blocking=True)
        output = model(images)
        losses.update(criterion(output, target).item(), len(target))
        accs.update(accuracy(output, target).item(), len(target))
    if device.type == "cuda":
        torch.cuda.empty_cache()  # the last, smaller batch has left blocks that training can't use
    loss, acc = mean_over_ranks(torch.tensor([losses.avg, accs.avg], device=device)).tolist()
    return loss, acc
