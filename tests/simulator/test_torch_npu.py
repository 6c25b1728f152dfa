"""The simulated torch_npu: which names it shows, how they are called, and that programs run on it.

Every test is a program in a process of its own: a process can name its device only once. Importing torch
takes most of the time, so that those for the default target are forked from a process that has done it.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

SOURCE = Path(__file__).parents[2] / "src"
SITE = SOURCE / "cuda2npu/simulator/site"

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")

BEGIN = """
import copy, io, sys, warnings
warnings.simplefilter("ignore")
import torch, torch_npu
from torch import nn

def refused(error, call, text=""):
    try:
        call()
    except error as caught:
        assert text in str(caught), str(caught)
        return str(caught)
    raise AssertionError(f"no {error.__name__}")
"""


# Runs the programs that it is sent, each in a fork; the device hasn't been used when it forks.
SERVER = """
import json, os, sys, tempfile, traceback
import torch, torch_npu

for request in sys.stdin:
    with tempfile.TemporaryFile("w+") as printed:
        child = os.fork()
        if child == 0:
            os.dup2(printed.fileno(), 1)
            os.dup2(printed.fileno(), 2)
            try:
                exec(json.loads(request), {"__name__": "__main__"})
                code = 0
            except BaseException:
                traceback.print_exc()
                code = 1
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        code = os.waitpid(child, 0)[1]
        printed.seek(0)
        print(json.dumps([code, printed.read()]), flush=True)
"""


def environment(**extra: str) -> dict[str, str]:
    path = os.pathsep.join([str(SITE), str(SOURCE), os.environ.get("PYTHONPATH", "")])
    inherited = {name: value for name, value in os.environ.items() if name != "CUDA2NPU_SIM_TORCH"}
    return {**inherited, "PYTHONPATH": path, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", **extra}


@cache
def server() -> subprocess.Popen[str]:
    started = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(started.kill)
    return started


def run(program: str) -> str:
    """Run a program on the simulated NPU and return what it printed."""
    process = server()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(BEGIN + dedent(program)) + "\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    assert answer, "torch_npu couldn't be imported"
    code, printed = json.loads(answer)
    assert code == 0, printed
    return str(printed)


def run_for(version: str, program: str, **extra: str) -> str:
    """Run a program with another version of torch_npu as the target."""
    command = [sys.executable, "-c", BEGIN + dedent(program)]
    return _finished(command, environment(CUDA2NPU_SIM_TORCH=version, **extra))


def run_file(program: str, folder: Path) -> str:
    """Run a program from a file, which its spawned children import again."""
    file = folder / "program.py"
    file.write_text(BEGIN + dedent(program))
    return _finished([sys.executable, str(file)], environment())


def _finished(command: list[str], env: dict[str, str]) -> str:
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


# --- names --------------------------------------------------------------------------------------

# Compares everything that the version table knows with what can be reached from outside.
NAMES = """
    import inspect
    from cuda2npu.catalog import api
    from cuda2npu.simulator.names import UnimplementedModule, _UnimplementedClass, target

    table, wrong, compared, unknown = target().table, [], 0, object()
    # Read by the table from strings in a library, or no attributes: overloads, settings, a shim to import.
    apart = ("torch_npu._C.", "torch.npu.config.", "torch_npu.contrib.transfer_to_npu")

    def find(dotted):
        first, *rest = dotted.split(".")
        found = sys.modules[first]
        for name in rest:
            found = getattr(found, name, unknown)
        return found

    for dotted in api._data()["names"]:
        owner, _, name = dotted.rpartition(".")
        if not owner or dotted.startswith(apart) or dotted.endswith("default_capture_stream"):
            continue
        if inspect.isfunction(find(owner)) or owner in ("torch.npu.matmul", "torch.npu.conv"):
            continue
        found = find(dotted)
        inherited = isinstance(find(owner), type) and name not in vars(find(owner))
        if (found is not unknown) != table.has(dotted) and not inherited:
            wrong.append(dotted)
        known = table.parameters(dotted)
        if found is unknown or known is None or isinstance(found, (UnimplementedModule, _UnimplementedClass)):
            continue
        if "doesn't implement" in (found.__doc__ or ""):
            continue
        compared += 1
        own = [p.name for p in inspect.signature(found).parameters.values()]
        own = [name for name in own if name not in ("self", "args", "kwargs")]
        known = [name for name in known if name[0] not in "*/"]
        if own != known and not (own[:-1] == known and own[-1] == "cast_inputs"):
            wrong.append((dotted, own, known))
    assert not wrong, wrong
    assert compared > 250, compared
    print(torch_npu.__version__)
"""


@pytest.mark.parametrize(
    ("version", "release"),
    [("2.1", "2.1.0"), ("2.5", "2.5.1"), ("2.7", "2.7.1"), ("2.9.1", "2.9.1"), ("2.13", "2.13.0")],
)
def test_names_and_parameters_are_those_of_the_target(version: str, release: str) -> None:
    assert run_for(version, NAMES).splitlines()[0] == f"{release}+sim"


def test_a_name_that_the_target_lacks_is_missing() -> None:
    run_for(
        "2.7",
        """
        refused(AttributeError, lambda: torch.npu.nvtx, "torch_npu 2.7.1")
        refused(AttributeError, lambda: torch.npu.OutOfMemoryError, "torch_npu 2.7.1")
        refused(AttributeError, lambda: torch.npu.get_default_generator, "another version has it")
        refused(AttributeError, lambda: torch.npu.memory.caching_allocator_enable, "torch_npu 2.7.1")
        refused(AttributeError, lambda: torch_npu.npu_flash_attn, "torch_npu 2.7.1")
        refused(AttributeError, lambda: torch_npu.profiler.key_averages, "torch_npu 2.7.1")
        for line in ("from torch.npu import nvtx", "import torch.npu.nvtx", "import torch_npu.nccl"):
            refused(ImportError, lambda: exec(line))
        assert not hasattr(torch.npu, "cudart") and "nvtx" not in dir(torch.npu)
        """,
    )


def test_names_differ_between_targets() -> None:
    program = """
        print(hasattr(torch.npu, "ExternalStream"), hasattr(torch.npu.mstx, "range_push"))
        print(hasattr(torch_npu.profiler.profile, "get_trace_id"))
        properties = torch.npu.get_device_properties(0)
        print(hasattr(properties, "cube_core_num"), getattr(properties, "multi_processor_count", "missing"))
        print(torch.npu.get_device_capability())
    """
    setting = {"TORCH_NPU_DEVICE_CAPABILITY": "8.0"}
    assert run_for("2.5", program, **setting).split() == ["False"] * 4 + ["missing", "None"]
    assert run_for("2.7", program, **setting).split() == ["True"] * 4 + ["None", "(8,", "0)"]


def test_what_the_simulation_lacks_says_so_when_it_is_called() -> None:
    run(
        """
        from torch.npu.graphs import NPUGraph, graph
        from torch_npu.contrib.module import NpuDropPath
        import torch_npu.distributed.rpc, torch_npu.npu.aclnn, torch_npu.utils.affinity
        refused(NotImplementedError, lambda: torch.npu.NPUGraph(), "NPUGraph exists in torch_npu")
        refused(NotImplementedError, lambda: torch_npu.npu_conv2d(1), "torch_npu.npu_conv2d")
        refused(NotImplementedError, lambda: NpuDropPath(0.1), "NpuDropPath")
        refused(NotImplementedError, lambda: torch.npu.caching_allocator_alloc(8), "caching_allocator_alloc")
        refused(NotImplementedError, lambda: torch_npu.utils.set_asd_loss_scale(1), "set_asd_loss_scale")
        assert not isinstance(1, torch.npu.NPUGraph)
        assert torch_npu.IS_SIMULATED
        """
    )


def test_an_unknown_target_is_one_clear_line() -> None:
    for version, text in (("1.8", "the oldest is 2.1"), ("new", "is no version of torch")):
        with pytest.raises(AssertionError, match=text):
            run_for(version, "")


def test_modules_are_reached_by_every_path() -> None:
    run(
        """
        from torch.npu.amp import GradScaler
        from torch.npu.amp.grad_scaler import GradScaler as by_module
        from torch_npu.npu.amp import GradScaler as by_package
        assert GradScaler is by_module is by_package is torch.npu.amp.GradScaler
        import torch.npu.memory
        assert torch.npu is torch_npu.npu and torch.npu.memory is torch_npu.npu.memory
        assert "torch_npu.contrib.transfer_to_npu" not in sys.modules
        refused(AttributeError, lambda: torch_npu.contrib.transfer_to_npu)
        assert not torch.cuda.is_available()
        # A CPU build says "not compiled with CUDA", a CUDA build "no NVIDIA driver".
        refused((AssertionError, RuntimeError), lambda: torch.zeros(1, device="cuda"))
        """
    )


# --- what differs from torch.cuda ---------------------------------------------------------------


def test_traps_of_the_real_signatures() -> None:
    run_for(
        "2.7",
        """
        scaler = torch.npu.amp.GradScaler(2.0, 2.0, 0.5, 2000, False)  # dynamic, where CUDA has enabled
        assert scaler.is_enabled() and scaler.state_dict()["dynamic"] is False
        refused(ValueError, lambda: torch.npu.amp.GradScaler().scale(torch.ones(1)), "should be npu")
        refused(KeyError, lambda: scaler.load_state_dict(torch.amp.GradScaler("npu").state_dict()), "dynamic")
        refused(TypeError, lambda: torch.npu.get_device_properties(device=0), "device")
        refused(TypeError, lambda: torch.npu.get_device_name(device=0), "device")
        refused(TypeError, lambda: torch.npu.can_device_access_peer(device=0, peer_device=1))
        refused(TypeError, lambda: torch.npu.StreamContext(stream=None), "stream")
        refused(TypeError, lambda: torch.npu.Event(external=True), "external")
        assert torch.npu.get_device_capability() is None
        refused(ValueError, lambda: torch.npu.set_device("cuda:0"), "Expected a npu device")
        refused(ValueError, lambda: torch.npu.memory_allocated("cpu"), "Expected a npu device")
        refused(AssertionError, lambda: torch.npu.mem_get_info(99), "Invalid device id")
        for legacy in (torch.npu.FloatTensor, "torch.npu.FloatTensor"):
            refused(TypeError, lambda: torch.set_default_tensor_type(legacy))
        refused(TypeError, lambda: setattr(torch.npu.matmul, "allow_hf32", 1), "must be a bool")
        torch.npu.matmul.allow_hf32 = True
        assert torch.npu.matmul.allow_hf32 is True and torch.npu.conv.allow_hf32 is True
        config = torch_npu.profiler.schedule(1, 2)  # wait, active: torch takes wait, warmup by keyword
        assert [config(step).name for step in range(4)] == ["NONE", "RECORD", "RECORD_AND_SAVE", "NONE"]
        refused(TypeError, lambda: nn.Linear(1, 1).npu("npu:1"))
        refused(TypeError, lambda: nn.Linear(1, 1).npu(torch.device("npu:1")))
        assert str(nn.Linear(1, 1).npu(1).weight.device) == "npu:1"
        assert str(torch.ones(1).npu("npu:1").device) == str(torch.ones(1).npu(1).device) == "npu:1"
        """,
    )


def test_module_npu_ignores_its_argument_in_some_versions() -> None:
    program = 'print(nn.Linear(1, 1).npu(1).weight.device, nn.Linear(1, 1).npu("npu:1").weight.device)'
    assert run_for("2.9", program).split() == ["npu:0", "npu:0"]


# --- programs -----------------------------------------------------------------------------------


def test_training_equals_the_cpu() -> None:
    run(
        """
        from torch.utils.checkpoint import checkpoint

        torch.manual_seed(0)
        on_cpu = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Dropout(0.5), nn.Linear(16, 1))
        on_npu = copy.deepcopy(on_cpu).npu()
        x, y = torch.randn(32, 6), torch.randn(32, 1)

        def train(model, x, y, make, recompute):
            torch.manual_seed(1)
            optimizer, losses = make(model.parameters()), []
            for _ in range(3):
                def closure():
                    optimizer.zero_grad()
                    out = checkpoint(model, x, use_reentrant=False) if recompute else model(x)
                    loss = (out - y).pow(2).mean()
                    loss.backward()
                    return loss
                losses.append(float(optimizer.step(closure)))
            return losses

        makers = (
            lambda p: torch.optim.AdamW(p, fused=True), lambda p: torch.optim.LBFGS(p, max_iter=4),
            lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
        )
        for make, recompute in zip(makers, (True, False, False)):
            assert train(on_cpu, x, y, make, recompute) == train(on_npu, x.npu(), y.npu(), make, recompute)
        for p, q in zip(on_cpu.parameters(), on_npu.parameters()):
            assert torch.equal(p, q.cpu())
        get_ema = torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)
        averaged = torch.optim.swa_utils.AveragedModel(on_npu, multi_avg_fn=get_ema)
        averaged.update_parameters(on_npu)
        assert all(p.is_npu for p in averaged.parameters())
        fused = torch_npu.optim.NpuFusedAdamW(on_npu.parameters(), lr=1e-3)
        on_npu(x.npu()).sum().backward()
        fused.clip_grad_norm_fused_(1.0)
        fused.step()
        refused(TypeError, lambda: torch_npu.optim.NpuFusedAdamW(on_npu.parameters(), fused=True))
        """
    )


def test_mixed_precision() -> None:
    printed = run(
        """
        torch.manual_seed(0)
        model, optimizer = nn.Linear(4, 4).npu(), None
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        scaler = torch.npu.amp.GradScaler(init_scale=4.0)
        for factor in (1.0, float("inf"), 1.0):
            before = model.weight.detach().clone()
            optimizer.zero_grad()
            with torch.npu.amp.autocast():
                out = model(torch.full((2, 4), factor, device="npu"))
            assert out.dtype is torch.float16
            scaler.scale(out.float().sum()).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            assert torch.equal(before, model.weight) == (factor != 1.0)
        assert scaler.get_scale() == 2.0
        other = torch.npu.amp.GradScaler()
        other.load_state_dict(scaler.state_dict())
        assert other.get_scale() == 2.0
        fixed = torch.npu.amp.GradScaler(init_scale=8.0, dynamic=False)
        fixed.scale(model(torch.ones(1, 4, device="npu")).sum()).backward()
        fixed.step(optimizer)
        fixed.update()
        assert fixed.get_scale() == 8.0
        with torch.autocast("npu", dtype=torch.bfloat16):
            assert torch.npu.is_autocast_enabled() and torch.npu.get_autocast_dtype() is torch.bfloat16
            assert nn.Linear(2, 2)(torch.ones(1, 2)).dtype is torch.float32  # the CPU's is off

        class Double(torch.autograd.Function):
            @staticmethod
            @torch.npu.amp.custom_fwd(cast_inputs=torch.float32)
            def forward(ctx, x):
                assert x.dtype is torch.float32
                return x * 2

            @staticmethod
            @torch.npu.amp.custom_bwd
            def backward(ctx, grad):
                return grad * 2

        with torch.npu.amp.autocast():
            Double.apply(torch.ones(1, device="npu", dtype=torch.half, requires_grad=True)).backward()
        """
    )
    assert printed.count("Gradient overflow. Skipping step") == 1


def test_checkpoints_copies_and_layers_on_two_cards() -> None:
    run(
        """
        import pickle

        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(4, 4).to("npu:0")
                self.second = nn.Sequential(nn.Linear(4, 2)).to("npu:1")

            def forward(self, x):
                return self.second(self.first(x.to("npu:0")).to("npu:1"))

        model = Two()
        model(torch.randn(2, 4)).sum().backward()
        assert str(model.first.weight.grad.device) == "npu:0"
        assert str(model.second[0].weight.grad.device) == "npu:1"
        refused(RuntimeError, lambda: model.second(torch.ones(1, 4, device="npu:0")), "same device")
        saved = io.BytesIO()
        torch.save(model.state_dict(), saved)

        def loaded(**where):
            saved.seek(0)
            return str(torch.load(saved, **where)["second.0.weight"].device)

        assert loaded() == "npu:1" and loaded(map_location="npu:0") == "npu:0"
        assert loaded(map_location={"npu:1": "npu:2"}) == "npu:2" and loaded(map_location="cpu") == "cpu"
        assert loaded(map_location=torch.device("npu", 3), weights_only=True) == "npu:3"
        refused(RuntimeError, lambda: loaded(map_location="npu:99"))
        clone = copy.deepcopy(model)
        assert clone.first.weight.data_ptr() != model.first.weight.data_ptr()
        assert torch.equal(clone(torch.ones(1, 4)), model(torch.ones(1, 4)))
        again = pickle.loads(pickle.dumps(model.second[0].weight))
        assert str(again.device) == "npu:1" and isinstance(again, nn.Parameter)
        parts = nn.parallel.scatter_gather.scatter(torch.arange(4.0, device="npu"), [0, 1])
        assert [str(part.device) for part in parts] == ["npu:0", "npu:1"]
        parallel = nn.DataParallel(nn.Linear(2, 2).npu(), device_ids=[0, 1])
        parallel(torch.ones(4, 2, device="npu")).sum().backward()
        assert parallel.module.weight.grad.sum().item() == 16
        """
    )


def test_dropout_in_a_parallel_module_draws_the_same_in_each_run() -> None:
    run(
        """
        torch.manual_seed(0)
        layers = [layer for _ in range(9) for layer in (nn.Linear(8, 8), nn.Dropout())]
        model = nn.DataParallel(nn.Sequential(*layers))
        x = torch.randn(6, 8, device="npu")
        results = []
        for _ in range(8):
            torch.manual_seed(1)
            results.append(model.npu()(x))
        assert all(torch.equal(result, results[0]) for result in results)
        """
    )


def test_data_loaders_and_processes(tmp_path: Path) -> None:
    run_file(
        """
        class Numbers(torch.utils.data.Dataset):
            def __len__(self): return 8
            def __getitem__(self, index): return torch.full((2,), float(index))

        class OnNpu(Numbers):
            def __getitem__(self, index): return torch.npu.current_device()

        def send(queue, tensor, model):
            queue.put((tensor + 1, str(model.weight.device), isinstance(model.weight, nn.Parameter)))

        if __name__ == "__main__":
            made = torch.ones(3, device="npu:1")
            Loader = torch.utils.data.DataLoader
            for batch in Loader(Numbers(), 4, num_workers=2, pin_memory=True):
                assert batch.is_pinned() and batch.npu(non_blocking=True).is_npu
            refused(RuntimeError, lambda: list(Loader(OnNpu(), 4, num_workers=1)), "Cannot re-initialize NPU")
            list(Loader(OnNpu(), 4, num_workers=1, multiprocessing_context="spawn"))
            context = torch.multiprocessing.get_context("spawn")
            queue = context.Queue()
            child = context.Process(target=send, args=(queue, made, nn.Linear(2, 2).npu()))
            child.start()
            tensor, device, is_parameter = queue.get(timeout=60)
            child.join()
            assert str(tensor.device) == "npu:1" and tensor.tolist() == [2, 2, 2]
            assert device == "npu:0" and is_parameter
        """,
        tmp_path,
    )


def test_streams_and_events() -> None:
    run(
        """
        import threading
        stream, default = torch.npu.Stream(), torch.npu.default_stream()
        assert torch.npu.current_stream(device="npu:0") == default
        with torch.npu.stream(stream=stream):
            assert torch.npu.current_stream() == stream
            x = torch.ones(2, device="npu")
            seen = []
            thread = threading.Thread(target=lambda: seen.append(torch.npu.current_stream() == default))
            thread.start(); thread.join()
            assert seen == [True]
        assert torch.npu.current_stream() == default
        with torch.npu.stream(torch.npu.Stream(device=1)):
            assert torch.npu.current_device() == 1
        assert torch.npu.current_device() == 0
        with torch.npu.stream(None), torch.npu.device(-1):
            pass
        x.record_stream(stream)
        stream.wait_stream(default); default.wait_event(stream.record_event()); stream.synchronize()
        begin, end, untimed = torch.npu.Event(enable_timing=True), torch.npu.Event(True), torch.npu.Event()
        refused(RuntimeError, lambda: begin.elapsed_time(end), "recorded")
        for event in (begin, end, untimed):
            event.record(stream)
            assert event.query()
        assert begin.elapsed_time(end) >= 0
        refused(RuntimeError, lambda: begin.elapsed_time(untimed), "enable_timing=True")
        torch.npu.synchronize("npu:1")
        """
    )


def test_memory_and_random_numbers() -> None:
    run(
        """
        before = torch.npu.memory_allocated()
        torch.npu.reset_peak_memory_stats()
        x = torch.ones(1 << 18, device="npu")
        assert torch.npu.memory_allocated() == before + (1 << 20)
        del x
        assert torch.npu.memory_allocated() == before
        assert torch.npu.max_memory_allocated() == before + (1 << 20) == torch.npu.max_memory_reserved("npu")
        assert torch.npu.memory_stats()["allocated_bytes.all.peak"] == before + (1 << 20)
        assert torch.npu.max_memory_allocated(1) == 0
        free, total = torch.npu.mem_get_info()
        assert total == torch.npu.get_device_properties(0).total_memory and free == total - before
        assert "simulated" in torch.npu.memory_summary()
        torch.npu.empty_cache()
        refused(ValueError, lambda: torch.npu.set_per_process_memory_fraction(2.0))

        torch.npu.manual_seed_all(3)
        state = torch.npu.get_rng_state()
        first = torch.rand(4, device="npu")
        torch.npu.set_rng_state(state)
        assert torch.equal(first, torch.rand(4, device="npu"))
        with torch.random.fork_rng(devices=[0], device_type="npu"):
            torch.rand(9, device="npu")
        second = torch.rand(4, device="npu")
        torch.npu.set_rng_state_all([state] * torch.npu.device_count())
        torch.rand(4, device="npu")
        assert torch.equal(second, torch.rand(4, device="npu"))
        generator = torch.Generator("npu").manual_seed(7)
        torch.randn(2, device="npu", generator=generator)
        """
    )


def test_legacy_types() -> None:
    run(
        """
        x = torch.npu.FloatTensor([1, 2])
        assert x.is_npu and isinstance(x, torch.npu.FloatTensor) and not isinstance(x, torch.npu.HalfTensor)
        assert not isinstance(x.cpu(), torch.npu.FloatTensor)
        assert torch.npu.LongTensor(2, 3).shape == (2, 3) and torch.npu.HalfTensor().numel() == 0
        assert x.type() == "torch.npu.FloatTensor" and x.type("torch.npu.HalfTensor").dtype is torch.half
        assert x.cpu().type(torch.npu.IntTensor).is_npu and not x.type("torch.FloatTensor").is_npu
        assert torch.npu.FloatStorage.dtype is not None
        """
    )


def test_operators_are_counted_and_fused_ones_computed() -> None:
    run(
        """
        from torch.nn import functional as F
        (torch.ones(2, device="npu") + 1).sum()
        assert {"aten::add 1", "aten::sum 1"} <= set(torch.ops.cuda2npu_sim.operator_counts().splitlines())
        torch.manual_seed(0)
        x, weight = torch.randn(2, 3, 8, device="npu"), torch.randn(8, device="npu")
        normed = torch_npu.npu_rms_norm(x, weight)[0]
        assert torch.allclose(normed, F.rms_norm(x, (8,), weight, 1e-6), atol=1e-6)
        first, second = x.chunk(2, -1)
        assert torch.equal(torch_npu.npu_swiglu(x), F.silu(first) * second)
        cos, sin = torch.randn(2, 1, 3, 1, 8, device="npu").unbind()
        turned = torch.cat((-second, first), -1)
        expected = x[:, :, None] * cos + turned[:, :, None] * sin
        assert torch.equal(torch_npu.npu_rotary_mul(x[:, :, None], cos, sin), expected)
        assert torch_npu.get_npu_format(torch_npu.npu_format_cast(x, 29)) == torch_npu.Format.ND
        q, k, v = torch.randn(3, 2, 4, 6, 8, device="npu").unbind()
        later = torch.ones(6, 6, dtype=torch.bool, device="npu").triu(1)
        plain = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        for mode, mask in ((0, later), (2, torch.ones(2048, 2048, dtype=torch.bool, device="npu").triu(1))):
            out = torch_npu.npu_fusion_attention(
                q, k, v, 4, "BNSD", atten_mask=mask, scale=8**-0.5, sparse_mode=mode)[0]
            assert torch.allclose(out, plain, atol=1e-5)
        bsh = [t.transpose(1, 2).flatten(2) for t in (q, k[:, :2], v[:, :2])]
        out = torch_npu.npu_fusion_attention(*bsh, 4, "BSH", scale=8**-0.5)[0]
        grouped = [t[:, :2].repeat_interleave(2, 1) for t in (k, v)]
        plain = F.scaled_dot_product_attention(q, *grouped).transpose(1, 2).flatten(2)
        assert torch.allclose(out, plain, atol=1e-5)
        refused(NotImplementedError, lambda: torch_npu.npu_fusion_attention(q, k, v, 4, "TND"), "BNSD")
        """
    )


def test_profiler(tmp_path: Path) -> None:
    run(
        f"""
        import json, pathlib
        profiler = torch_npu.profiler
        config = profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1)
        with profiler.profile(
            activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
            schedule=profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
            on_trace_ready=profiler.tensorboard_trace_handler({str(tmp_path)!r}),
            experimental_config=config,
        ) as recorded:
            for _ in range(4):
                with torch.profiler.record_function("a step"):
                    torch.ones(2, device="npu") + 1
                number = torch.npu.mstx.range_start("range")
                torch.npu.mstx.range_end(number)
                recorded.step()
        folder, = pathlib.Path({str(tmp_path)!r}).glob("*_ascend_pt")
        trace = json.loads((folder / "ASCEND_PROFILER_OUTPUT/trace_view.json").read_text())
        assert sum(event.get("name") == "a step" for event in trace["traceEvents"]) == 2
        refused(AttributeError, lambda: recorded.key_averages())
        refused(AttributeError, lambda: profiler.ProfilerActivity.CUDA)
        refused(TypeError, lambda: profiler.tensorboard_trace_handler("x", use_gzip=True))
        refused(TypeError, lambda: profiler.profile([profiler.ProfilerActivity.NPU]))
        """
    )


OUT_OF_MEMORY = """
    big = lambda: torch.ones(1 << 24, device="npu")
    refused({error}, big, "NPU out of memory. Tried to allocate 64.00 MiB (NPU 0; 20.00 MiB total")
    held = [torch.ones(1 << 21, device="npu") for _ in range(2)]
    assert torch.npu.mem_get_info() == (4 << 20, 20 << 20)
    assert torch.npu.get_device_properties(0).total_memory == 20 << 20
    refused({error}, lambda: held[0] + held[1], "20.00 MiB total capacity; 16.00 MiB already allocated")
    del held
    assert torch.ones(1 << 22, device="npu").sum().item() == 1 << 22
    try:
        torch.ones(1 << 24, device="npu:1")
    except Exception as caught:
        assert isinstance(caught, torch.OutOfMemoryError) is {of_class}
    """


def test_out_of_memory() -> None:
    limit = {"CUDA2NPU_SIM_MEMORY": "20MiB"}
    run_for("2.7", OUT_OF_MEMORY.format(error="torch.OutOfMemoryError", of_class=True), **limit)
    run_for("2.6", OUT_OF_MEMORY.format(error="RuntimeError", of_class=False), **limit)


@pytest.mark.parametrize("wrong", ["2", "0MiB", "2 GB", "-1GiB", "much"])
def test_a_memory_size_that_is_none(wrong: str) -> None:
    env = environment(CUDA2NPU_SIM_MEMORY=wrong)
    done = subprocess.run([sys.executable, "-c", "import torch_npu"], env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"must be a whole number of MiB or GiB such as 512MiB or 2GiB, not '{wrong}'" in done.stderr


def test_compile_captures_and_notes_it_once() -> None:
    printed = run(
        """
        model = torch.compile(nn.Linear(2, 2).npu(), mode="reduce-overhead")
        model(torch.ones(1, 2, device="npu")).sum().backward()

        @torch.compile
        def double(x):
            return x * 2

        assert double(torch.ones(1, device="npu")).item() == 2
        """
    )
    assert printed.count('backend="aot_eager" in place of "inductor"') == 1


def test_compile_of_attention_equals_eager() -> None:
    run(
        """
        def losses(model):
            torch.manual_seed(0)
            x = torch.randn(2, 5, 8, device="npu")
            return [model(x).square().mean().item() for _ in range(2)]

        torch.manual_seed(1)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).npu()
        assert losses(torch.compile(layer)) == losses(layer)
        """
    )


def test_transfer_to_npu() -> None:
    run(
        """
        from torch_npu.contrib import transfer_to_npu
        assert torch.cuda.is_available() and torch.cuda.device_count() == torch.npu.device_count()
        model = nn.Linear(2, 2).cuda()
        assert model.weight.is_cuda and str(model.to("cuda:1").weight.device) == "npu:1"
        for made in (
            torch.ones(1, device="cuda"), torch.zeros(1).cuda(), torch.zeros(1).to(0),
            torch.rand(1, device=0),
            torch.zeros(1).to(torch.device("cuda")), torch.zeros(1).new_ones(1, device="cuda:0"),
        ):
            assert str(made.device) == "npu:0", made.device
        with torch.device("cuda:1"):
            assert str(torch.ones(1).device) == "npu:1"
        with torch.cuda.device("cuda:1"):
            assert torch.cuda.current_device() == 1
        saved = io.BytesIO()
        torch.save(torch.ones(1), saved); saved.seek(0)
        assert torch.load(saved, map_location="cuda:0").is_npu
        generator = torch.Generator(device="cuda")
        assert isinstance(torch.default_generator, torch.Generator) and generator.device.type == "npu"
        with torch.cuda.amp.autocast():
            assert model.to(0)(torch.ones(1, 2).cuda()).dtype is torch.float16
        with torch.autocast("cuda"):
            assert torch.is_autocast_enabled() and torch.get_autocast_gpu_dtype() is torch.float16
        assert torch.cuda.amp.GradScaler is torch.npu.amp.GradScaler
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            assert torch.cuda.current_stream("cuda:0") == stream
        assert torch.cuda.memory_allocated("cuda:0") > 0
        # Not patched: what the device itself is, nvtx, and what torch calls the build.
        assert torch.device("cuda").type == "cuda" and torch.cuda.nvtx.__name__ == "torch.cuda.nvtx"
        assert torch.jit.script(model) is model
        assert torch.profiler.ProfilerActivity.CUDA is torch_npu.profiler.ProfilerActivity.NPU
        """
    )
