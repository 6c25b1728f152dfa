"""``cuda2npu capture``: scripts and models in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from cuda2npu.verify.records import Kind  # noqa: E402
from cuda2npu.verify.store import Capture, open_captures  # noqa: E402

TRAIN = """
import sys, time
import torch
from torch import nn
import torch.nn.functional as F

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 3
WAIT = float(sys.argv[2]) if len(sys.argv) > 2 else 0
torch.manual_seed(0)
device = "npu" if hasattr(torch, "npu") else "cuda" if torch.cuda.is_available() else "cpu"
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(inplace=True), nn.Dropout(0.2), nn.Linear(8, 2)).to(device)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
for step in range(STEPS):
    x, y = torch.randn(6, 4).to(device), torch.randint(0, 2, (6,)).to(device)
    loss = nn.CrossEntropyLoss()(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    print("loss", repr(loss.item()), torch.rand(1).item(), flush=True)
    time.sleep(WAIT)
print("the end")
"""

MODEL = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.drop, self.head = nn.Conv2d(3, 4, 3), nn.Dropout(0.5), nn.Linear(4, 2)

    def forward(self, image, scale):
        x = self.conv(image).relu_()
        return {"logits": self.head(self.drop(x.mean((2, 3)))) * scale, "aux": None}

def build():
    return Net()

def inputs():
    return {"image": torch.randn(2, 3, 8, 8), "scale": 0.5}

def batches():
    for i in range(2):
        yield inputs(), torch.tensor([0, 1])

def metric(output, target):
    return (output["logits"].argmax(1) == target).float().mean()

def broken():
    return Net(colour="red")

def no_module():
    return 3

def wide():
    net = Net()
    net.head = nn.Linear(4, 7)
    return net
"""


def cli(*arguments: object, cwd: Path, command: str = "capture") -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-W", "ignore", "-m", "cuda2npu", command, *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)


def captured(*arguments: object, cwd: Path) -> str:
    ran = cli("-o", *arguments, cwd=cwd)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def keys(capture: Capture) -> list:
    return [
        [(r.key, r.order, r.dtype, r.shape, r.same_as) for r in capture.records(s)] for s in capture.steps
    ]


def losses(out: str) -> list[str]:
    return [line for line in out.splitlines() if line.startswith("loss")]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    return tmp_path


def test_a_script_computes_the_same_while_it_is_recorded(folder):
    plain = cli("-q", "--device", "cpu-as-cuda", "train.py", "3", cwd=folder, command="run").stdout
    devices = ("cpu", "cpu-as-cuda", "sim")
    outs = {
        d: captured(d, "--device", d, "--steps", 2, "--full-steps", 2, "train.py", "3", cwd=folder)
        for d in devices
    }
    assert losses(plain)[:2] == losses(outs["cpu-as-cuda"]) == losses(outs["sim"])
    assert "the end" not in outs["sim"]  # it ends after the steps that were asked for
    captures = {d: Capture(folder / d) for d in devices}
    assert keys(captures["cpu"]) == keys(captures["cpu-as-cuda"]) == keys(captures["sim"])
    for device, where in (("cpu", "cpu"), ("cpu-as-cuda", "cuda:0"), ("sim", "npu:0")):
        tensors = [r for r in captures[device].records(1) if r.module == "Linear" and r.shape]
        assert {r.device for r in tensors} == {where}
    mine, theirs = captures["cpu-as-cuda"], captures["sim"]
    for step in (0, 1):
        for a, b in zip(mine.records(step), theirs.records(step)):
            assert a.value == b.value
            tensor = mine.tensor(step, a)
            assert tensor is None or torch.equal(tensor, theirs.tensor(step, b))


def test_what_the_header_says(folder):
    captured("rec", "--device", "cpu", "--statistics", "train.py", "1", cwd=folder)
    capture = Capture(folder / "rec")
    header = capture.header
    assert (header.what, header.device, header.complete, header.error) == ("train.py 1", "cpu", True, "")
    assert header.environment["packages"]["torch"] == torch.__version__
    assert header.environment["seed"] == 0
    assert header.environment["variables"]["TORCHDYNAMO_DISABLE"] == "1"
    records = capture.records(0)
    assert not any(r.tensor for r in records)
    assert {r.source for r in records if r.module == "Sequential"} == {"train.py:16"}
    assert [r.value for r in records if r.key.kind is Kind.LEARNING_RATE] == [0.01]
    assert set(capture.weights()) == {f"Sequential.{n}" for n in ("0.weight", "0.bias", "3.weight", "3.bias")}


def test_a_script_that_never_trains_is_one_step(folder):
    (folder / "infer.py").write_text(
        "import torch\nfrom torch import nn\nnet = nn.Linear(2, 2)\n"
        "with torch.no_grad():\n    for _ in range(3):\n        net(torch.ones(1, 2))\n"
    )
    captured("rec", "--device", "cpu", "infer.py", cwd=folder)
    outputs = [r for r in Capture(folder / "rec").records(0) if r.key.kind is Kind.OUTPUT]
    assert [r.key.call for r in outputs] == [0, 1, 2]


def test_a_script_that_never_uses_the_device_is_told_so(folder):
    (folder / "elsewhere.py").write_text("import torch\ntorch.nn.Linear(2, 2)(torch.ones(1, 2))\n")
    ran = cli("-o", "rec", "--device", "sim", "elsewhere.py", cwd=folder)
    assert "SIMULATED" in ran.stderr
    assert "1 step(s) recorded in rec" in ran.stderr
    assert "no recorded tensor was on the NPU" in ran.stderr


def test_a_step_ends_with_the_first_optimizer(folder):
    (folder / "gan.py").write_text(
        "import torch\nfrom torch import nn\n"
        "d, g = nn.Linear(2, 1), nn.Linear(2, 2)\n"
        "one = torch.optim.SGD(d.parameters(), 0.1)\ntwo = torch.optim.SGD(g.parameters(), 0.1)\n"
        "for _ in range(3):\n"
        "    d(g(torch.ones(1, 2)).detach()).sum().backward()\n    one.step()\n"
        "    d(g(torch.ones(1, 2))).sum().backward()\n    two.step()\n"
    )
    captured("rec", "--device", "cpu", "--steps", 2, "gan.py", cwd=folder)
    capture = Capture(folder / "rec")
    assert capture.steps == [0, 1]
    paths = [r.key.path for r in capture.records(1) if r.key.kind is Kind.LEARNING_RATE]
    assert paths == ["1.0", "0"]  # the second optimizer's step belongs to the step that follows


def test_compiled_and_scaled(folder):
    (folder / "compiled.py").write_text(
        "import torch\nfrom torch import nn\n"
        "d = 'npu' if hasattr(torch, 'npu') else 'cuda'\ntorch.manual_seed(0)\n"
        "net = torch.compile(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to(d))\n"
        "opt = torch.optim.SGD(net.parameters(), 0.1)\nscaler = torch.amp.GradScaler(d)\n"
        "for i in range(2):\n"
        "    with torch.autocast(d, dtype=torch.float16):\n"
        "        loss = net(torch.ones(4, 4).to(d)).square().mean()\n"
        "    opt.zero_grad()\n    scaler.scale(loss).backward()\n"
        "    scaler.step(opt)\n    scaler.update()\n"
    )
    for device in ("cpu-as-cuda", "sim"):
        captured(device, "--device", device, "--steps", 2, "compiled.py", cwd=folder)
    mine, theirs = Capture(folder / "cpu-as-cuda"), Capture(folder / "sim")
    assert keys(mine) == keys(theirs)
    assert mine.steps == [0, 1]
    assert {r.key.name for r in mine.records(1) if r.module} == {
        "Sequential",
        *(f"Sequential.{i}" for i in range(3)),
    }
    assert set(mine.weights()) == set(theirs.weights())


def test_workers_of_a_loader_record_nothing(folder):
    (folder / "loader.py").write_text(
        "import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader, Dataset\n"
        "class Data(Dataset):\n"
        "    scale = nn.Linear(2, 2)\n"
        "    def __len__(self): return 4\n"
        "    def __getitem__(self, i): return self.scale(torch.full((2,), float(i))).detach()\n"
        "if __name__ == '__main__':\n"
        "    net = nn.Linear(2, 1)\n    net(torch.ones(1, 2))\n"
        "    for x in DataLoader(Data(), num_workers=2): net(x)\n"
    )
    captured("rec", "--device", "cpu", "loader.py", cwd=folder)
    outputs = [r for r in Capture(folder / "rec").records(0) if r.key.kind is Kind.OUTPUT]
    assert [r.key.name for r in outputs] == ["Linear"] * 5


def test_several_processes_write_a_capture_each(folder):
    captured("rec", "--device", "cpu", "--nproc", 2, "train.py", "2", cwd=folder)
    captures = open_captures(folder / "rec")
    assert [(c.header.rank, c.header.ranks, c.header.complete) for c in captures] == [
        (0, 2, True),
        (1, 2, True),
    ]
    assert keys(captures[0]) == keys(captures[1])


def test_names_are_those_of_one_process(folder):
    for number in (1, 2):
        captured(number, "--device", "cpu", "--nproc", number, "model.py:build", cwd=folder)
    (one,), two = open_captures(folder / "1"), open_captures(folder / "2")
    assert keys(one) == keys(two[0]) == keys(two[1])
    assert set(one.weights()) == set(two[1].weights())


def test_an_interrupted_capture_is_taken_up_again(folder):
    words = [sys.executable, "-m", "cuda2npu", "capture", "-o", "rec", "--device", "cpu", "--steps", "4"]
    running = subprocess.Popen(
        [*words, "train.py", "4", "1.5"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while not (folder / "rec/step-000001/done.json").exists():
        assert running.poll() is None
        time.sleep(0.05)
    os.kill(running.pid, signal.SIGINT)  # goes on to the script, once
    running.communicate(timeout=60)
    assert running.returncode == 128 + signal.SIGINT
    capture = Capture(folder / "rec")
    assert not capture.header.complete
    assert "KeyboardInterrupt" in capture.header.error
    assert capture.steps[:2] == [0, 1]
    before = (folder / "rec/step-000000/records.jsonl").stat().st_mtime_ns
    refused = cli("-o", "rec", "--device", "cpu", "train.py", cwd=folder)
    assert refused.returncode == 2
    assert "--resume" in refused.stderr
    # It is the same program only if its words are the same.
    other = cli("-o", "rec", "--device", "cpu", "--resume", "--steps", 4, "train.py", "4", cwd=folder)
    assert "another one" in other.stderr
    captured("rec", "--device", "cpu", "--resume", "--steps", 4, "train.py", "4", "1.5", cwd=folder)
    capture = Capture(folder / "rec")
    assert capture.steps == [0, 1, 2, 3]
    assert capture.header.complete
    assert (folder / "rec/step-000000/records.jsonl").stat().st_mtime_ns == before


def test_a_script_that_fails_keeps_its_code_and_traceback(folder):
    (folder / "fails.py").write_text(TRAIN.replace('print("the end")', "raise ValueError('no luck')"))
    ran = cli("-o", "rec", "--device", "cpu", "--steps", 5, "fails.py", "2", cwd=folder)
    assert ran.returncode == 1
    assert "ValueError: no luck" in ran.stderr
    header = Capture(folder / "rec").header
    assert (header.complete, header.error) == (False, "ValueError: no luck")
    assert Capture(folder / "rec").steps == [0, 1]


def test_a_model_on_all_devices(folder):
    for device in ("cpu", "sim"):
        captured(device, "--device", device, "--steps", 2, "model.py:build", cwd=folder)
    cpu, sim = Capture(folder / "cpu"), Capture(folder / "sim")
    assert keys(cpu) == keys(sim)
    assert sim.header.device == "simulated"
    assert sim.header.settings["reached"] == "train"
    first = [str(r.key.kind.value) for r in cpu.records(0)]
    assert first[0] == "random_state"
    assert {"input", "output", "output_gradient", "loss", "learning_rate", "gradient", "parameter"} < set(
        first
    )


def test_a_golden_with_weights_and_inputs_of_another(folder):
    captured("ref", "--device", "cpu", "--no-dropout", "model.py:build", cwd=folder)
    (folder / "model.py").write_text(
        "import torch\ntorch.rand(3)\n" + MODEL.replace("return Net()", "torch.rand(2); return Net()")
    )
    arguments = ("--dtype", "float64", "--no-dropout", "--like", "ref", "model.py:build")
    captured("golden", "--device", "cpu", *arguments, cwd=folder)
    ref, golden = Capture(folder / "ref"), Capture(folder / "golden")
    assert golden.header.dtype == "float64"
    for a, b in zip(ref.records(0), golden.records(0)):
        if a.shape is not None and a.key.kind in (Kind.INPUT, Kind.OUTPUT) and a.same_as is None:
            assert b.dtype == "float64"
            assert torch.allclose(ref.tensor(0, a).double(), golden.tensor(0, b), atol=1e-6)


@pytest.mark.parametrize(
    "words", [("--statistics",), ("--depth", 0), ("--pattern", "nothing"), ("--level", "build")]
)
def test_inputs_are_in_every_capture_of_a_model(folder, words):
    captured("ref", "--device", "cpu", *words, "model.py:build", cwd=folder)
    (folder / "model.py").write_text(MODEL.replace("torch.randn(2, 3, 8, 8)", "torch.zeros(2, 3, 8, 8)"))
    captured("cand", "--device", "cpu", "--like", "ref", *words, "model.py:build", cwd=folder)
    mine, theirs = Capture(folder / "ref").inputs(), Capture(folder / "cand").inputs()
    assert list(mine) == ["image"]
    assert torch.equal(mine["image"], theirs["image"])
    assert mine["image"].any()


def test_levels(folder):
    arguments = ("--level", "evaluate", "--data", "model.py:batches", "model.py:build")
    captured("all", "--device", "cpu", *arguments, cwd=folder)
    capture = Capture(folder / "all")
    assert capture.steps == [0, 1, 2]
    kinds = [r.key.kind for r in capture.records(2)]
    assert kinds == [Kind.RANDOM_STATE, Kind.OUTPUT, Kind.OUTPUT, Kind.METRIC]
    captured("forward", "--device", "cpu", "--level", "forward", "model.py:build", cwd=folder)
    kinds = {r.key.kind for r in Capture(folder / "forward").records(0)}
    assert kinds == {Kind.RANDOM_STATE, Kind.INPUT, Kind.OUTPUT}
    captured("build", "--device", "cpu", "--level", "build", "model.py:build", cwd=folder)
    assert Capture(folder / "build").steps == []
    assert "Net.conv.weight" in Capture(folder / "build").weights()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "what?"),
        (("gone.py",), "gone.py: there is no such file"),
        (("gone.py:build",), "gone.py: there is no such file"),
        (("model.py:make",), "there is no function make(): it has build, inputs"),
        (("model.py:no_module",), "it returned int, and no module"),
        (("--dtype", "float64", "train.py"), "--dtype is for models"),
        (("--pattern", "(", "model.py:build"), "no regular expression"),
        (("--device", "npu", "model.py:build"), "no NPU"),
        (("--level", "evaluate", "model.py:build"), "needs --data"),
        (("--dtype", "float65", "model.py:build"), "float65"),
        (("--like", "gone", "model.py:build"), "gone: no such folder"),
        (("--like", ".", "model.py:build"), "this is no capture"),
    ],
)
def test_bad_usage(folder, words, message):
    device = () if "--device" in words else ("--device", "cpu")
    ran = cli("-o", "rec", *device, *words, cwd=folder)
    assert ran.returncode == 2, ran.stderr
    assert message in ran.stderr.splitlines()[-1]
    assert "Traceback" not in ran.stderr


def test_an_error_in_the_users_file_names_its_place(folder):
    ran = cli("-o", "rec", "--device", "cpu", "model.py:broken", cwd=folder)
    assert ran.returncode == 2
    last = ran.stderr.splitlines()[-1]
    assert "TypeError" in last
    assert "model.py:" in last
    assert "in broken" in ran.stderr


def test_weights_that_do_not_fit_are_named(folder):
    captured("ref", "--device", "cpu", "model.py:build", cwd=folder)
    ran = cli("-o", "rec", "--device", "cpu", "--like", "ref", "model.py:wide", cwd=folder)
    assert ran.returncode == 2
    assert "Net.head.weight is [2, 4] there and [7, 4] here" in ran.stderr


def test_a_folder_that_holds_something_else_is_left_alone(folder):
    (folder / "rec").mkdir()
    (folder / "rec" / "thesis.tex").write_text("x")
    ran = cli("-o", "rec", "--device", "cpu", "model.py:build", cwd=folder)
    assert ran.returncode == 2
    assert "holds no capture" in ran.stderr
    assert [path.name for path in (folder / "rec").iterdir()] == ["thesis.tex"]


def test_nothing_recorded_is_an_error(folder):
    (folder / "empty.py").write_text("import torch\nprint(torch.ones(1))\n")
    ran = cli("-o", "rec", "--device", "cpu", "empty.py", cwd=folder)
    assert ran.returncode == 2
    assert "nothing was recorded" in ran.stderr


def test_a_full_disk_is_one_line(folder):
    (folder / "limit.py").write_text(
        "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))\n" + TRAIN
    )
    ran = cli("-o", "rec", "--device", "cpu", "limit.py", cwd=folder)
    assert ran.returncode == 2
    assert "can't be written" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.soak
@pytest.mark.parametrize("device", ["cpu-as-cuda", "sim"])
def test_statistics_cost_at_most_as_much_as_the_step(device, tmp_path):
    benchmark = Path(__file__).parents[2] / "benchmarks/capture.py"
    ran = cli("-q", "--device", device, benchmark, cwd=tmp_path, command="run")
    found = json.loads(ran.stdout)
    assert found["cpu_ratio"] < 2
    assert found["growth_mb"] < 50
