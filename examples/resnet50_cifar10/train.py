#!/usr/bin/env python
"""Train ResNet-50 on CIFAR-10, on one GPU or with torchrun on several."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import torch
import torch.nn as nn

import distributed
from checkpoint import load_checkpoint, load_weights, save_checkpoint
from data import build_loaders
from engine import evaluate, train_one_epoch
from model import resnet50
from utils import memory_report, seed_everything


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", default="data", help="folder that holds cifar-10-batches-bin")
    parser.add_argument("--synthetic", action="store_true", help="random images instead of CIFAR-10")
    parser.add_argument("--image-size", type=int, default=64, help="images are enlarged to this size")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--steps", type=int, default=0, help="stop after so many, and print each")
    parser.add_argument("--batch-size", type=int, default=128, help="images per GPU")
    parser.add_argument("--lr", type=float, default=0.05, help="for 256 images per step, scaled to the batch")
    parser.add_argument("--workers", type=int, default=4, help="data loading processes per GPU")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--print-freq", type=int, default=50)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:N or cpu")
    parser.add_argument("--gpus", help="GPUs to use, such as 0,1 (sets CUDA_VISIBLE_DEVICES)")
    parser.add_argument("--amp", action="store_true", help="mixed precision")
    parser.add_argument("--cudnn-benchmark", action="store_true", help="faster, but not reproducible")
    parser.add_argument("--dist-backend", default="nccl", help="nccl, or gloo for --device cpu")
    parser.add_argument("--weights", help="pretrained weights to start from")
    parser.add_argument("--resume", help="checkpoint to continue")
    parser.add_argument("--save-dir", help="where to save checkpoints; without it none are saved")
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    if args.gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = args.gpus
    device = distributed.setup(args)
    use_cuda = device.type == "cuda"
    if args.amp and not use_cuda:
        print("--amp needs a GPU, training in full precision")
        args.amp = False
    seed_everything(args.seed + args.rank, args.cudnn_benchmark)

    train_loader, val_loader = build_loaders(args, device)
    model = resnet50(image_size=args.image_size)
    if args.weights:
        load_weights(args.weights, model, device)
    if use_cuda:
        model = model.cuda()
    model = distributed.wrap(model, args, device)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1).to(device)
    lr = args.lr * args.batch_size * args.world_size / 256
    optimizer = torch.optim.SGD(model.parameters(), lr, momentum=0.9, weight_decay=5e-4, nesterov=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    scaler = torch.cuda.amp.GradScaler(enabled=args.amp)

    epoch = step = 0
    if args.resume:
        epoch, step = load_checkpoint(args.resume, model, optimizer, scheduler, scaler, device)
    while epoch < args.epochs and not (args.steps and step >= args.steps):
        if args.distributed:
            train_loader.sampler.set_epoch(epoch)
        try:
            step = train_one_epoch(
                model, criterion, optimizer, scaler, train_loader, device, epoch, step, args
            )
        except torch.cuda.OutOfMemoryError:
            report = memory_report(device)
            torch.cuda.empty_cache()
            raise SystemExit(f"--batch-size {args.batch_size} is too large for this GPU: {report}") from None
        scheduler.step()
        epoch += 1
        if not args.steps:
            loss, acc = evaluate(model, criterion, val_loader, device)
            if args.rank == 0:
                print(f"epoch {epoch}: val loss {loss:.4f} acc {acc:.2f}, {memory_report(device)}")
        if use_cuda:
            torch.cuda.reset_peak_memory_stats(device)
        if args.save_dir and args.rank == 0:
            path = Path(args.save_dir) / "last.pt"
            save_checkpoint(path, model, optimizer, scheduler, scaler, epoch, step)
    distributed.cleanup()


if __name__ == "__main__":
    main()
