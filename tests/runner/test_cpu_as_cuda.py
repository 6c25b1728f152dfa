"""Unconverted CUDA code on the CPU takes the branches that it would take on a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

PRELUDE = "import copy\nimport torch\nfrom torch import nn\nx = torch.ones(2, 3).cuda()\n"


def run(code: str, folder: Path) -> str:
    (folder / "script.py").write_text(PRELUDE + code, encoding="utf-8")
    command = [sys.executable, "-m", "cuda2npu", "run", "-q", "--device", "cpu-as-cuda", "script.py"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("x.is_cuda, x.device, x.get_device()", "True cuda:0 0"),
        ("x.cpu().is_cuda, x.cpu().device", "False cpu"),
        ("(x + 1).is_cuda, x[0].is_cuda, x.sum().device.type", "True True cuda"),
        ("torch.zeros(1, device='cuda:1').device", "cuda:1"),
        ("torch.zeros_like(x).is_cuda, torch.empty(1).is_cuda", "True False"),
        ("torch.ones(1).to('cuda').is_cuda, torch.ones(1).to(x).is_cuda", "True True"),
        ("torch.ones(1).to(0).device, torch.ones(1).to(torch.float16).device", "cuda:0 cpu"),
        ("nn.Linear(3, 1).cuda().weight.is_cuda, nn.Linear(3, 1).weight.is_cuda", "True False"),
        ("nn.Linear(3, 1).to('cuda')(x).device", "cuda:0"),
        ("torch.device('cuda', 1).type, torch.device('cuda:1').index", "cuda 1"),
        ("torch.cuda.is_available(), torch.cuda.device_count() > 0", "True True"),
        ("x.to('cuda') is x, x.cpu() is x", "True False"),
        ("x.to(torch.float64).is_cuda, x.half().is_cuda, x.double().dtype", "True True torch.float64"),
        ("torch.cat([x, x]).is_cuda, torch.stack([x, x]).is_cuda", "True True"),
        ("x.split(1)[1].is_cuda, x.max(0).values.is_cuda", "True True"),
        ("nn.DataParallel(nn.Linear(3, 1)).cuda()(x).shape", "torch.Size([2, 1])"),
        ("nn.Parameter(x).is_cuda, copy.deepcopy(nn.Linear(3, 1).cuda()).weight.is_cuda", "True True"),
        ("x.record_stream(torch.cuda.current_stream())", "None"),
        ("torch.cuda.nccl.version() > (2,), torch.cuda.profiler.start()", "True None"),
        ("x.type(), x.cpu().type()", "torch.cuda.FloatTensor torch.FloatTensor"),
        (
            "torch.ones(1).type('torch.cuda.HalfTensor').device, x.type(torch.half).dtype",
            "cuda:0 torch.float16",
        ),
        ("torch.tensor([1.5]).cuda()", "tensor([1.5000], device='cuda:0')"),
        ("torch.cuda.memory.memory_stats()['allocated_bytes.all.peak']", "0"),
        ("torch.cuda.random.manual_seed_all(1), torch.cuda.random.initial_seed()", "None 1"),
        ("torch.cuda.is_current_stream_capturing(), torch.cuda.can_device_access_peer(0, 1)", "False True"),
    ],
)
def test_answers(tmp_path, expression, value):
    assert run(f"print({expression})\n", tmp_path) == value


def test_a_copy_is_a_copy(tmp_path):
    code = "a = torch.zeros(1)\nb = a.cuda()\nb += 1\nprint(a.item(), b.item(), b.cpu().is_cuda)\n"
    assert run(code, tmp_path) == "0.0 1.0 False"


def test_the_current_device(tmp_path):
    code = (
        "torch.cuda.set_device(1)\nwith torch.cuda.device(0):\n    a = torch.zeros(1).cuda()\n"
        "print(a.device, torch.zeros(1).cuda().device, torch.cuda.current_device())\n"
    )
    assert run(code, tmp_path) == "cuda:0 cuda:1 1"


def test_training_with_amp_and_checkpoints(tmp_path):
    code = """
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.cuda.amp.GradScaler()
for _ in range(3):
    with torch.cuda.amp.autocast():
        out = net(x)
    loss = out.float().pow(2).mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
torch.save(net.state_dict(), "net.pt")
net.load_state_dict(torch.load("net.pt", map_location="cuda:0"))
print(out.dtype, loss.item() < 1, next(net.parameters()).is_cuda)
"""
    assert run(code, tmp_path) == "torch.float16 True True"


def test_autocast_casts_what_it_casts_on_cuda(tmp_path):
    code = """
y = torch.ones(2, 4, 3).cuda()
with torch.autocast("cuda"):
    print(torch.bmm(y, y.transpose(1, 2)).dtype, nn.functional.softmax(x.half(), 1).dtype)
    print(nn.functional.avg_pool2d(torch.ones(1, 1, 2, 2).cuda().half(), 2).dtype)
with torch.autocast("cuda", dtype=torch.bfloat16):
    print(nn.Linear(3, 1).cuda()(x).dtype)
"""
    assert run(code, tmp_path).split() == [
        "torch.float16",
        "torch.float32",
        "torch.float16",  # the CPU's own lists say float32
        "torch.bfloat16",
    ]


def test_dropout_rounds_as_on_a_device(tmp_path):
    code = """
y = torch.randn(64, 64).half().cuda()
by_keyword = lambda y: torch.dropout(y, 0.1, train=True)
for drop in (nn.Dropout(0.1), lambda y: nn.functional.dropout(y, 0.1), by_keyword):
    torch.manual_seed(0)
    dropped = drop(y)
    torch.manual_seed(0)
    print(torch.equal(dropped, torch.native_dropout(y, 0.1, True)[0]), dropped.is_cuda)
print(torch.equal(nn.Dropout(0.1).eval()(y), y), nn.functional.dropout(y, p=0.0, inplace=True) is y)
"""
    assert run(code, tmp_path).splitlines() == ["True True"] * 4


def test_a_module_that_moves_leaves_what_was_taken_before(tmp_path):
    code = """
net = nn.BatchNorm1d(3)
optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
before, buffer = net.state_dict(), net.running_mean
net.cuda()(x).sum().backward()
optimizer.step()
print(torch.equal(before["bias"], net.bias.cpu()), buffer.sum().item(), net.running_mean.sum().item() > 0)
print(net.bias.grad.is_cuda, net.cpu().bias.is_cuda)
"""
    assert run(code, tmp_path).splitlines() == ["False 0.0 True", "True False"]


def test_the_default_device(tmp_path):
    code = "torch.set_default_device('cuda')\nprint(nn.Linear(2, 2)(torch.ones(2)).shape)\n"
    assert run(code, tmp_path) == "torch.Size([2])"


def test_data_parallel_splits_the_batch(tmp_path):
    code = """
net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).cuda()
whole = nn.DataParallel(net)
y = torch.arange(12.0).reshape(4, 3).cuda()
out = whole(y)
parts = torch.cat([nn.functional.batch_norm(net[0](p), None, None, training=True) for p in y.chunk(2)])
print(torch.allclose(out, parts), net[1].num_batches_tracked.item(), out.is_cuda)
out.sum().backward()
print(net[0].weight.grad.is_cuda, net[0].weight.grad.shape)
print(nn.DataParallel(net, device_ids=[0])(y).shape, whole(y[:1].repeat(5, 1)).shape)
"""
    assert run(code, tmp_path).splitlines() == [
        "True 1 True",
        "True torch.Size([2, 3])",
        "torch.Size([4, 2]) torch.Size([5, 2])",
    ]


def test_generators(tmp_path):
    code = """
seeded = torch.Generator(device="cuda").manual_seed(3)
drawn = torch.randn(2, generator=seeded, device="cuda:1")
print(seeded.device, torch.Generator("cuda:1").device, torch.Generator().device, drawn.device)
print(torch.equal(drawn.cpu(), torch.randn(2, generator=torch.Generator().manual_seed(3))))
print(isinstance(seeded, torch.Generator), isinstance(torch.default_generator, torch.Generator))
print(len(torch.cuda.default_generators) == torch.cuda.device_count())
"""
    assert run(code, tmp_path).splitlines() == ["cuda:0 cuda:1 cpu cuda:1", "True", "True True", "True"]


def test_programs_that_ask_about_autocast(tmp_path):
    code = """
def answers():
    return torch.is_autocast_enabled(), torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")

print(*answers())
with torch.autocast("cuda", dtype=torch.bfloat16):
    print(*answers())
"""
    assert run(code, tmp_path).splitlines() == ["False False torch.float16", "True True torch.bfloat16"]


@pytest.mark.parametrize("reentrant", [False, True])
def test_dropout_in_a_checkpoint(tmp_path, reentrant):
    code = f"""
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.ReLU()).cuda()

def gradient(call):
    torch.manual_seed(1)
    y = x.clone().requires_grad_()
    call(y).sum().backward()
    return y.grad

kept, computed = gradient(net), gradient(lambda y: checkpoint(net, y, use_reentrant={reentrant}))
print(torch.equal(kept, computed))
"""
    assert run(code, tmp_path) == "True"


def test_threads_and_backward_passes_find_the_device(tmp_path):
    code = """
import threading

class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y):
        return y * 2

    @staticmethod
    def backward(ctx, gradient):
        print(torch.ones(1).cuda().is_cuda)
        return gradient * 2

thread = threading.Thread(target=lambda: print(torch.ones(1).cuda().device))
thread.start()
thread.join()
Function.apply(x.requires_grad_()).sum().backward()
"""
    assert run(code, tmp_path).splitlines() == ["cuda:0", "True"]


def test_compile_leaves_the_program_as_it_is(tmp_path):
    code = """
net = nn.Linear(3, 1).cuda()
compiled = torch.compile(net, mode="max-autotune")
double = torch.compile(fullgraph=True)(lambda y: y * 2)
print(torch.equal(compiled(x), net(x)), compiled._orig_mod is net, double(x).is_cuda)
print(sorted(compiled.state_dict()))
"""
    assert run(code, tmp_path).splitlines() == ["True True True", "['_orig_mod.bias', '_orig_mod.weight']"]


def test_the_gradients_of_parts_are_summed_part_by_part(tmp_path):
    code = """
net = nn.Linear(1, 1, bias=False).cuda()
twice = lambda module: nn.DataParallel(module, device_ids=[0, 1])

class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net
        self.seen = 0

    def forward(self, y):
        self.seen += 1
        print(y.shape[0], torch.cuda.current_device(), self.net.weight.device)
        return self.net(y) + self.net(y * 2**24)

both = Both()
twice(both)(torch.tensor([[1.0], [-1.0], [1.0]]).cuda()).sum().backward()
print(both.seen, net.weight.grad.item())
"""
    # Each part alone: 1 - 1 + (1 - 1) * 2**24 and 1 + 2**24, which rounds to 2**24.
    assert run(code, tmp_path).splitlines() == ["2 0 cuda:0", "1 1 cuda:1", "0 16777216.0"]


def test_two_processes(tmp_path):
    (tmp_path / "train.py").write_text(
        """
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank)
layers = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))
layers = torch.nn.SyncBatchNorm.convert_sync_batchnorm(layers).cuda(rank)
net = DistributedDataParallel(layers, device_ids=[rank])
t = torch.tensor([rank + 1.0]).cuda()
pair = dist.new_group([0, 1], backend="nccl")
dist.all_reduce(t, group=pair)
average = torch.tensor([rank + 2.0]).cuda()
dist.all_reduce(average, op=dist.ReduceOp.AVG, async_op=True).wait()
net(torch.full((2, 2), float(rank)).cuda()).sum().backward()
backends = dist.get_backend(), dist.get_backend(pair), dist.is_nccl_available()
mean = layers[0].running_mean.tolist()  # a tenth of that over both processes
# At once, as two processes write.
sys.stdout.write(f"{t.item()} {average.item()} {t.device} {backends} {mean}\\n")
dist.destroy_process_group()
""",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "cuda2npu", "run", "-q", "--device", "cpu-as-cuda"]
    command += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "train.py"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, env=environment)
    rest = "('nccl', 'nccl', True) [0.05000000074505806, 0.05000000074505806]"
    assert sorted(ran.stdout.splitlines()) == [f"3.0 2.5 cuda:{rank} {rest}" for rank in (0, 1)], ran.stderr


def test_a_packed_sequence_moves(tmp_path):
    code = """
packed = nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 4).cuda(), torch.tensor([3, 2]))
output, hidden = nn.LSTM(4, 4).cuda()(packed)
print(output.data.device, packed.cuda().is_cuda, packed.batch_sizes.device)
"""
    assert run(code, tmp_path) == "cuda:0 True cpu"


def test_a_device_that_is_not_there(tmp_path):
    code = """
for call in (lambda: torch.ones(1, device='cuda:99'), lambda: torch.cuda.set_device(99), lambda: x.to(99)):
    try:
        call()
    except RuntimeError as error:
        print(str(error)[:40])
"""
    assert run(code, tmp_path).splitlines() == ["CUDA error: invalid device ordinal 99: t"] * 3


def test_profilers_leave_the_gpu_alone(tmp_path):
    code = """
import sys, os
os.dup2(1, 2)  # what C++ complains of
with torch.profiler.profile(activities=list(torch.profiler.ProfilerActivity.__members__.values())[:2]):
    x + 1
with torch.autograd.profiler.profile(use_device="cuda"), torch.autograd.profiler.emit_nvtx():
    x + 1
print("done")
"""
    said = run(code, tmp_path)
    assert said.endswith("done")
    assert "Failed to record" not in said


def test_a_cuda_graph_is_refused_in_words(tmp_path):
    code = """
try:
    torch.cuda.CUDAGraph()
except NotImplementedError as error:
    print(error)
"""
    assert run(code, tmp_path) == "CUDA graphs can't be run on the CPU: run the original without them"
