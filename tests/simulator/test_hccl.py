"""Process groups hccl between processes on the simulated NPU, started by torchrun."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

SOURCE = Path(__file__).parents[2] / "src"
SITE = SOURCE / "cuda2npu/simulator/site"

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")

BEGIN = """
import copy, os, sys, warnings
warnings.simplefilter("ignore")
import torch, torch_npu
import torch.distributed as dist
from torch import nn

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
device = torch.device("npu", rank)

def refused(error, call, text=""):
    try:
        call()
    except error as caught:
        assert text in str(caught), str(caught)
        return
    raise AssertionError(f"no {error.__name__}")

def filled(value, count=2, **kwargs):
    return torch.full((count,), float(value), device=device, **kwargs)
"""

START = """
torch.npu.set_device(rank)
dist.init_process_group("hccl", device_id=device)
assert dist.get_backend() == "hccl" and dist.is_hccl_available()
"""


def torchrun(
    processes: int, program: str, folder: Path, start: str = START
) -> subprocess.CompletedProcess[str]:
    """Run a program in several processes."""
    file = folder / "program.py"
    file.write_text(BEGIN + start + dedent(program))
    path = os.pathsep.join([str(SITE), str(SOURCE), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
    return subprocess.run(
        [*command, str(file)], env=env, capture_output=True, text=True, timeout=300, check=False
    )


def passes(processes: int, program: str, folder: Path, start: str = START) -> None:
    done = torchrun(processes, program, folder, start)
    assert done.returncode == 0, done.stdout + done.stderr


def test_collectives_of_four_processes(tmp_path: Path) -> None:
    passes(
        4,
        """
        t = filled(rank + 1); dist.all_reduce(t); assert t.tolist() == [10, 10]
        t = filled(rank + 1); dist.all_reduce(t, op=dist.ReduceOp.AVG); assert t.tolist() == [2.5, 2.5]
        t = filled(rank); work = dist.all_reduce(t, op=dist.ReduceOp.MAX, async_op=True); work.wait()
        assert t.tolist() == [3, 3]
        t = filled(1, dtype=torch.bfloat16); dist.all_reduce(t); assert t.tolist() == [4, 4]
        t = torch.tensor([rank == 2], device=device); dist.broadcast(t, 2); assert t.item() is True
        t = filled(rank); dist.reduce(t, 1); assert rank != 1 or t.tolist() == [6, 6]
        parts = [filled(0, 1) for _ in range(4)]
        dist.all_gather(parts, filled(rank, 1)); assert [p.item() for p in parts] == [0, 1, 2, 3]
        t = filled(0, 4); dist.all_gather_into_tensor(t, filled(rank, 1)); assert t.tolist() == [0, 1, 2, 3]
        t = filled(0, 2); dist.reduce_scatter_tensor(t, torch.arange(8.0, device=device))
        assert t.tolist() == [8 * rank, 8 * rank + 4]
        t = filled(0, 1); dist.reduce_scatter(t, [filled(i, 1) for i in range(4)])
        assert t.item() == 4 * rank
        t = filled(0, 4); dist.all_to_all_single(t, filled(rank, 4)); assert t.tolist() == [0, 1, 2, 3]
        dist.all_to_all(parts, [filled(rank, 1) for _ in range(4)])
        assert [p.item() for p in parts] == [0, 1, 2, 3]
        t = filled(0, 1); dist.scatter(t, [filled(i, 1) for i in range(4)] if rank == 0 else None)
        assert t.item() == rank
        dist.gather(filled(rank, 1), parts if rank == 3 else None, dst=3)
        assert rank != 3 or [p.item() for p in parts] == [0, 1, 2, 3]
        objects = [None] * 4; dist.all_gather_object(objects, {"rank": rank})
        assert [each["rank"] for each in objects] == [0, 1, 2, 3]
        one = [rank]; dist.broadcast_object_list(one, 1); assert one == [1]
        big, got = filled(rank, 1 << 20), filled(0, 1 << 20)
        ahead, behind = (rank + 1) % 4, (rank - 1) % 4
        both = [dist.P2POp(dist.isend, big, ahead), dist.P2POp(dist.irecv, got, behind)]
        for work in dist.batch_isend_irecv(both):
            work.wait()
        assert got[-1].item() == behind
        pair = dist.new_group([0, 2])
        if rank in (0, 2):
            t = filled(1); dist.all_reduce(t, group=pair); assert t.tolist() == [2, 2]
        dist.barrier()

        # What HCCL lacks.
        for op in (dist.ReduceOp.BAND, dist.ReduceOp.BOR, dist.ReduceOp.BXOR):
            refused(ValueError, lambda: dist.all_reduce(filled(1).int(), op=op), "HCCL")
        refused(RuntimeError, lambda: dist.all_reduce(torch.ones(1)), "device type cpu")
        refused(RuntimeError, lambda: dist.recv(filled(0)), "any source")
        dist.destroy_process_group()
        """,
        tmp_path,
    )


def test_ddp_equals_one_process_and_groups_may_take_both_devices(tmp_path: Path) -> None:
    passes(
        2,
        """
        torch.manual_seed(0)
        norm, head = nn.BatchNorm2d(4), nn.Linear(144, 2)
        plain = nn.Sequential(nn.Conv2d(3, 4, 3), norm, nn.ReLU(), nn.Flatten(), head)
        model = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(plain)).to(device)
        model = nn.parallel.DistributedDataParallel(model, device_ids=[rank])
        images = torch.randn(8, 3, 8, 8)
        for each, x in ((model, images[rank * 4 : rank * 4 + 4].to(device)), (plain, images)):
            optimizer = torch.optim.SGD(each.parameters(), 0.1)
            for _ in range(3):
                optimizer.zero_grad()
                each(x).pow(2).mean().backward()
                optimizer.step()
        for own, other in zip(model.module.state_dict().values(), plain.state_dict().values()):
            assert torch.allclose(own.cpu(), other, atol=1e-5)

        both = dist.new_group(backend="cpu:gloo,npu:hccl")
        for t in (torch.ones(1), filled(1, 1)):
            dist.all_reduce(t, group=both)
            assert t.item() == 2
        dist.destroy_process_group()
        """,
        tmp_path,
    )


def test_fsdp_and_device_meshes(tmp_path: Path) -> None:
    passes(
        2,
        """
        from torch.distributed.fsdp import FullyShardedDataParallel, sharded_grad_scaler

        torch.manual_seed(0)
        plain = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
        old = FullyShardedDataParallel(copy.deepcopy(plain).to(device), device_id=device)
        new = copy.deepcopy(plain).to(device)
        models = [(plain, slice(0, 4)), (old, slice(rank * 2, rank * 2 + 2))]
        try:
            from torch.distributed.fsdp import fully_shard
        except ImportError:
            new = None  # torch before 2.6
        else:
            fully_shard(new[0]); fully_shard(new)
            models.append((new, slice(rank * 2, rank * 2 + 2)))
        x = torch.randn(4, 8)
        for model, rows in models:
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            for _ in range(3):
                optimizer.zero_grad()
                model(x[rows].to(next(model.parameters()).device)).pow(2).mean().backward()
                optimizer.step()
        with FullyShardedDataParallel.summon_full_params(old):
            for own, other in zip(old.parameters(), plain.parameters()):
                assert torch.allclose(own.cpu(), other, atol=1e-6)
        for own, other in zip(new.parameters() if new else (), plain.parameters()):
            assert torch.allclose(own.full_tensor().cpu(), other, atol=1e-6)
        assert sharded_grad_scaler.ShardedGradScaler()._device == "npu"
        assert sharded_grad_scaler.ShardedGradScaler is torch.npu.amp.sharded_grad_scaler._ShardedGradScaler
        dist.destroy_process_group()
        """,
        tmp_path,
    )


def test_two_processes_on_one_card_are_refused(tmp_path: Path) -> None:
    program = """
        dist.init_process_group("hccl")
        dist.all_reduce(torch.ones(1, device="npu"))
    """
    done = torchrun(2, program, tmp_path, start="")
    assert done.returncode != 0
    assert "npu:0 is used by two processes of one group" in done.stderr
    assert "torch.npu.set_device(local_rank)" in done.stderr
