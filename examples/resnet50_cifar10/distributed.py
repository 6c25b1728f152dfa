"""One process per GPU, started by torchrun."""

from __future__ import annotations

import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel


def setup(args: argparse.Namespace) -> torch.device:
    """Join the process group that torchrun describes and return the device of this process."""
    args.rank = int(os.environ.get("RANK", 0))
    args.local_rank = int(os.environ.get("LOCAL_RANK", 0))
    args.world_size = int(os.environ.get("WORLD_SIZE", 1))
    args.distributed = args.world_size > 1

    device = torch.device(args.device)
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise SystemExit(f"--device {args.device}: CUDA is not available, try --device cpu")
        if device.index is None or args.distributed:
            device = torch.device("cuda", args.local_rank)
        torch.cuda.set_device(device)
        print(f"rank {args.rank}: GPU {torch.cuda.current_device()} ({torch.cuda.get_device_name(device)})")

    if args.distributed:
        if args.dist_backend == "nccl" and device.type != "cuda":
            raise SystemExit(f"nccl needs GPUs: use --dist-backend gloo with --device {args.device}")
        dist.init_process_group(backend=args.dist_backend, init_method="env://")
    return device


def wrap(model: nn.Module, args: argparse.Namespace, device: torch.device) -> nn.Module:
    if not args.distributed:
        return model
    if device.type == "cuda":
        return DistributedDataParallel(model, device_ids=[args.local_rank], output_device=args.local_rank)
    return DistributedDataParallel(model)


def unwrap(model: nn.Module) -> nn.Module:
    return model.module if isinstance(model, DistributedDataParallel) else model


def mean_over_ranks(tensor: torch.Tensor) -> torch.Tensor:
    if not dist.is_initialized():
        return tensor
    tensor = tensor.clone()
    dist.all_reduce(tensor)
    return tensor / dist.get_world_size()


def cleanup() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
