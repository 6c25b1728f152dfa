"""``cuda2npu verify``: original and conversion in processes of their own, and what is said of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

MODEL = """
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.norm = nn.BatchNorm1d(16)
        self.last = nn.Linear(16, 4)

    def forward(self, x):
        x = F.relu(self.norm(self.first(x)))
        return self.last(x)


def build():
    return Net().DEVICE()


def inputs():
    return torch.randn(32, 8)


def batches():
    for number in range(2):
        yield torch.randn(8, 8), torch.arange(8) % 4


def metric(output, target):
    return (output.argmax(1).cpu() == target.cpu()).float().mean().item()
"""
SCRIPT = """
import torch
from model import build
torch.manual_seed(0)
print("training")
net = build()
optimizer = torch.optim.SGD(net.parameters(), lr=LR)
for step in range(3):
    optimizer.zero_grad()
    net(torch.randn(32, 8).DEVICE()).square().mean().backward()
    optimizer.step()
"""


@pytest.fixture
def pair(tmp_path: Path) -> Callable[..., tuple[Path, Path]]:
    """Write an original and its conversion, in which ``old`` becomes ``new``."""

    def write(old: str = "", new: str = "") -> tuple[Path, Path]:
        for name, device in (("original", "cuda"), ("converted", "npu")):
            folder = tmp_path / name
            folder.mkdir()
            model = MODEL.replace("DEVICE", device)
            script = SCRIPT.replace("DEVICE", device).replace("LR", "0.1")
            if name == "converted" and old:
                assert old in model + script
                model, script = model.replace(old, new), script.replace(old, new)
            (folder / "model.py").write_text(model)
            (folder / "train.py").write_text(script)
        return tmp_path / "original", tmp_path / "converted"

    return write


@pytest.fixture
def verify(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(folders, *arguments):
        return cli("verify", *folders, "--device", "sim", "-o", "out", *arguments)

    return run


def test_a_conversion_that_computes_the_same(pair, verify, tmp_path):
    ran = verify(pair(), "--model", "model.py:build", "--steps", "2", "--data", "model.py:batches")
    assert ran.code == 0, ran.out + ran.err
    assert "SIMULATED" in ran.err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "compare_result.csv",
        "comparison.json",
        "report.html",
    ]
    found = json.loads((tmp_path / "out/comparison.json").read_text())
    assert (found["verdict"], found["candidate"]["device"]) == ("pass", "simulated")
    levels = {level["name"]: level["verdict"] for level in found["levels"]}
    assert levels == dict.fromkeys(("build", "forward", "backward", "train", "evaluate"), "pass")
    assert (found["reference"]["dtype"], found["benchmark"]["dtype"]) == ("float64", "")
    classes = {row["name"]: row.get("class") for row in found["candidate"]["inventory"]["operators"]}
    assert classes["aten::addmm"] == "kernel"
    assert any(curve["name"].startswith("metric") for curve in found["curves"])


def test_the_line_at_fault_is_named(pair, verify, tmp_path):
    folders = pair("F.relu(self.norm(self.first(x)))", "1.01 * F.relu(self.norm(self.first(x)))")
    ran = verify(folders, "--model", "model.py:build", "--steps", "1")
    assert ran.code == 1
    first = json.loads((tmp_path / "out/comparison.json").read_text())["first"]
    assert (first["name"], first["source"]) == ("Net", "model.py:16")
    assert "Net.last" in first["reason"]


def test_the_forward_at_fault_is_named(pair, verify, tmp_path):
    ran = verify(
        pair("return self.last(x)", "return 1.01 * self.last(x)"), "--model", "model.py:build", "--steps", "1"
    )
    assert ran.code == 1
    first = json.loads((tmp_path / "out/comparison.json").read_text())["first"]
    assert (first["name"], first["source"]) == ("Net", "model.py:14")


def test_what_the_conversion_breaks_off_with_decides_the_level(pair, verify, tmp_path):
    folders = pair("return self.last(x)", "return self.last(x).missing()")
    ran = verify(folders, "--model", "model.py:build", "--lang", "zh")
    assert ran.code == 1
    assert "前向" in ran.out
    levels = json.loads((tmp_path / "out/comparison.json").read_text())["levels"]
    verdicts = [level["verdict"] for level in levels]
    assert verdicts == ["pass", "fail", None, None]
    assert "missing" in levels[1]["message"]


def test_a_conversion_that_does_not_build(pair, verify):
    ran = verify(
        pair("super().__init__()", "super().__init__(); nothing_of_the_kind()"), "--model", "model.py:build"
    )
    assert ran.code != 0
    assert "nothing_of_the_kind" in ran.out + ran.err


def test_an_original_that_does_not_run_is_no_verdict(pair, verify, tmp_path):
    folders = pair()
    (tmp_path / "original/model.py").write_text("def build():\n    raise ValueError('no weights here')\n")
    ran = verify(folders, "--model", "model.py:build")
    assert ran.code == 2
    assert "no weights here" in ran.err.splitlines()[-1]


def test_a_model_that_has_no_float64(pair, verify, tmp_path):
    folders = pair()
    for folder in folders:
        path = folder / "model.py"
        path.write_text(path.read_text().replace("self.first(x)", "self.first(x.float())"))
    ran = verify(folders, "--model", "model.py:build", "--level", "backward")
    assert ran.code == 0, ran.out + ran.err
    found = json.loads((tmp_path / "out/comparison.json").read_text())
    assert (found["reference"]["dtype"], found["benchmark"]) == ("", None)
    assert any("float64" in english for english, _ in found["notes"])
    assert [level["name"] for level in found["levels"]] == ["build", "forward", "backward"]


def test_a_script(pair, verify, tmp_path):
    ran = verify(pair(), "--script", "train.py", "--steps", "2", "--format", "json", "--keep", "--noise")
    assert ran.code == 0, ran.out + ran.err
    assert json.loads(ran.out)["verdict"] == "pass"  # what the script prints is no part of it
    assert "training" in ran.err
    assert {"reference", "candidate", "repeat"} < {path.name for path in (tmp_path / "out").iterdir()}


def test_a_script_that_trains_otherwise(pair, verify, tmp_path):
    ran = verify(pair("lr=0.1", "lr=0.2"), "--script", "train.py", "--steps", "2")
    assert ran.code == 1
    levels = json.loads((tmp_path / "out/comparison.json").read_text())["levels"]
    assert [level["verdict"] for level in levels] == ["pass", "pass", "pass", "fail"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere", "converted", "--model", "model.py:build"), "nowhere: there is no such folder"),
        (("original", "--model", "model.py:build"), "give both folders"),
        (("original", "converted"), "either --model FILE:FUNCTION or --script"),
        (("original", "converted", "--model", "a.py:b", "--script", "train.py"), "either --model"),
        (("original", "converted", "--model", "model.py"), "as pkg/model.py:build"),
        (("original", "converted", "--script", "train.py", "--data", "a.py:b"), "are for --model"),
        (("original", "converted", "--model", "none.py:build"), "none.py: there is no such file"),
        (("original", "converted", "--model", "model.py:make"), "there is no function make()"),
        (("original", "converted", "--script", "none.py"), "none.py"),
        (("original", "converted", "--model", "model.py:build", "--device", "npu"), "no NPU"),
        (("original", "converted", "--model", "model.py:build", "-o", "original"), "another folder"),
    ],
)
def test_wrong_usage_is_one_line(pair, cli, tmp_path, monkeypatch, arguments, message):
    pair()
    monkeypatch.chdir(tmp_path)
    device = () if "--device" in arguments else ("--device", "sim")
    ran = cli("verify", *arguments, *device)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err.splitlines()[-1]


@pytest.mark.parametrize("name", ["{root}/original/model.py:build", "../original/model.py:build"])
def test_the_original_is_not_compared_with_itself(pair, cli, tmp_path, monkeypatch, name):
    pair()
    monkeypatch.chdir(tmp_path)
    name = name.format(root=tmp_path)
    ran = cli("verify", "original", "converted", "--model", name, "--device", "sim")
    assert ran.code == 2
    assert "both folders" in ran.err


def test_a_script_is_not_taken_from_the_original(pair, cli, tmp_path, monkeypatch):
    pair()
    monkeypatch.chdir(tmp_path)
    script = f"{tmp_path}/original/train.py"
    ran = cli("verify", "original", "converted", "--script", script, "--device", "sim")
    assert ran.code == 2
    assert "both folders" in ran.err


@pytest.mark.parametrize("script", ["train.py 'x", " "])
def test_a_command_that_is_none(pair, cli, tmp_path, monkeypatch, script):
    pair()
    monkeypatch.chdir(tmp_path)
    ran = cli("verify", "original", "converted", "--script", script, "--device", "sim")
    assert (ran.code, ran.err.count("\n")) == (2, 1)


def test_a_script_that_only_infers(pair, verify, tmp_path):
    folders = pair()
    for folder, device in zip(folders, ("cuda", "npu")):
        (folder / "infer.py").write_text(
            "import torch\nfrom model import build\ntorch.manual_seed(0)\nnet = build().eval()\n"
            f"with torch.no_grad():\n    net(torch.randn(4, 8).{device}())\n"
        )
    ran = verify(folders, "--script", "python infer.py")
    assert ran.code == 0, ran.out + ran.err
    levels = json.loads((tmp_path / "out/comparison.json").read_text())["levels"]
    assert [level["verdict"] for level in levels] == ["pass", "pass", None, None]


def test_building_alone(pair, verify):
    assert verify(pair(), "--model", "model.py:build", "--level", "build").code == 0


def test_other_inputs_are_no_fault(pair, verify, tmp_path):
    ran = verify(pair("torch.manual_seed(0)", "torch.manual_seed(1)"), "--script", "train.py", "--steps", "1")
    assert ran.code == 2
    found = json.loads((tmp_path / "out/comparison.json").read_text())
    assert {level["verdict"] for level in found["levels"]} <= {"pass", "incomparable"}


def test_a_model_that_draws_random_numbers(pair, verify, tmp_path):
    folders = pair()
    for folder in folders:
        path = folder / "model.py"
        path.write_text(path.read_text().replace("self.last(x)", "self.last(x + torch.randn_like(x))"))
    ran = verify(folders, "--model", "model.py:build", "--steps", "2")
    assert ran.code == 0, ran.out + ran.err
    found = json.loads((tmp_path / "out/comparison.json").read_text())
    assert found["benchmark"] is None
    assert any("draws" in english for english, _ in found["notes"])


def test_a_validation_behind_the_training(pair, verify, tmp_path):
    folders = pair()
    for folder, factor in zip(folders, ("1", "2")):
        path = folder / "train.py"
        device = "cuda" if factor == "1" else "npu"
        end = f"net.eval()\nwith torch.no_grad():\n    net({factor} * torch.ones(4, 8).{device}())\n"
        path.write_text(path.read_text() + end)
    ran = verify(folders, "--script", "train.py", "--steps", "4")
    assert ran.code != 0, ran.out
    assert json.loads((tmp_path / "out/comparison.json").read_text())["rows"][-1]["step"] == 3


def test_an_optimizer_that_computes_the_loss_itself(pair, verify):
    folders = pair()
    for folder in folders:
        with (folder / "model.py").open("a") as file:
            file.write(
                "\n\ndef optimizer(parameters):\n    return torch.optim.LBFGS(parameters, max_iter=3)\n"
            )
    ran = verify(folders, "--model", "model.py:build", "--steps", "2")
    assert ran.code == 0, ran.out + ran.err
