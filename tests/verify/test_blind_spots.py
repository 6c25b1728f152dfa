"""What once hid from the comparison: each of these must not pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from torch import nn  # noqa: E402

from cuda2npu.verify.capture.recorder import Recorder  # noqa: E402
from cuda2npu.verify.capture.settings import Settings  # noqa: E402
from cuda2npu.verify.compare.compare import compare  # noqa: E402
from cuda2npu.verify.comparison import Comparison, Verdict  # noqa: E402
from cuda2npu.verify.records import Header, Kind  # noqa: E402
from cuda2npu.verify.store import Capture, Writer  # noqa: E402


class Net(nn.Module):
    """The gradient of the convolution's bias is 0 in exact arithmetic, for BatchNorm follows."""

    def __init__(self, momentum: float = 0.1):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8, momentum=momentum)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        return self.head(torch.relu(self.norm(self.conv(x))).mean((2, 3)))


def record(folder: Path, make=Net, dtype=torch.float32, steps: int = 2, spoil=None, **settings) -> Capture:
    torch.manual_seed(0)
    model = make().to(dtype)
    x = torch.randn(8, 3, 12, 12).to(dtype)
    named = {torch.float64: "float64"}.get(dtype, "")
    header = Header("test", "cpu", named)
    writer = Writer(folder, header)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with Recorder(writer, Settings(steps=steps, **settings)) as recorder:
        for step in range(steps):
            if spoil and step:
                spoil(model)
            recorder.begin_step()
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
            recorder.end_step()
    writer.write_header(Header("test", "cpu", named, complete=True, replaced=recorder.replaced))
    return Capture(folder)


def compared(tmp_path: Path, candidate: Capture, **settings) -> Comparison:
    golden = record(tmp_path / "golden", dtype=torch.float64, **settings)
    benchmark = record(tmp_path / "benchmark", **settings)
    return compare(golden, candidate, benchmark=benchmark)


def test_what_is_right_passes(tmp_path):
    assert compared(tmp_path, record(tmp_path / "candidate")).verdict is Verdict.PASS


@pytest.mark.parametrize("name", ["conv", "norm", "head"])
@pytest.mark.parametrize("whole", [True, False])
def test_a_gradient_of_zero_hides_no_fault_of_later_steps(tmp_path, name, whole):
    def spoil(model):
        getattr(model, name).register_forward_hook(lambda module, args, output: output * 1.1)

    settings = {"full_steps": 2 if whole else 1}
    found = compared(tmp_path, record(tmp_path / "candidate", spoil=spoil, **settings), **settings)
    assert found.verdict is Verdict.FAIL
    assert (found.first.step, found.first.name) == (1, f"Net.{name}")


def test_a_buffer_that_is_updated_otherwise(tmp_path):
    found = compared(tmp_path, record(tmp_path / "candidate", lambda: Net(momentum=0.01)))
    assert found.verdict is Verdict.FAIL
    failed = [row for row in found.rows if row.verdict is Verdict.FAIL]
    assert {row.key.kind for row in failed} == {Kind.BUFFER}
    assert found.first.name == "Net.norm"
    assert "Net.norm.running_mean" in found.first.reason


def test_a_capture_without_numbers(tmp_path):
    candidate = record(tmp_path / "candidate")
    for folder in (tmp_path / "candidate").glob("step-*"):
        lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
        for line in lines:
            for name in ("statistics", "tensor", "shard"):
                line.pop(name, None)
        (folder / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert compared(tmp_path, candidate).verdict is Verdict.INCOMPARABLE


@pytest.mark.parametrize("whole", [True, False])
def test_nothing_but_nan_proves_nothing(tmp_path, whole):
    def make():
        model = Net()
        with torch.no_grad():
            model.conv.weight.fill_(float("nan"))
        return model

    captures = [record(tmp_path / name, make, tensors=whole) for name in ("reference", "candidate")]
    assert compare(*captures).verdict is Verdict.INCOMPARABLE


def test_weights_that_were_others_are_told(tmp_path):
    reference = record(tmp_path / "reference")

    def make():
        model = Net()
        nn.init.zeros_(model.head.bias)
        return model

    found = compare(reference, record(tmp_path / "candidate", make, like=str(tmp_path / "reference")))
    assert found.verdict is Verdict.FAIL
    assert any("Net.head.bias" in english for english, _ in found.notes)
