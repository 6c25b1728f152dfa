"""Arguments that are no tensors: equals pass, others don't, and what isn't known proves nothing."""

from __future__ import annotations

import argparse
import enum
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

import numpy as np  # noqa: E402
from torch import nn  # noqa: E402

from cuda2npu.verify.capture.recorder import Recorder  # noqa: E402
from cuda2npu.verify.capture.settings import Settings  # noqa: E402
from cuda2npu.verify.compare.compare import compare  # noqa: E402
from cuda2npu.verify.comparison import Verdict  # noqa: E402
from cuda2npu.verify.records import Header, Kind  # noqa: E402
from cuda2npu.verify.store import Capture, Writer  # noqa: E402


class Mode(enum.Enum):
    ONE = 1
    OTHER = 2


class Takes(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x, extra):
        return x * self.weight


class Cache:
    """As of a generation: it holds tensors, and is no container."""

    def __init__(self, value):
        self.keys = [torch.full((2,), float(value))]
        self.length = value


def record(folder: Path, extra, dtype=torch.float32) -> Capture:
    model, x = Takes().to(dtype), torch.ones(3, dtype=dtype)
    header = Header("test", "cpu", "float64" if dtype is torch.float64 else "", complete=True)
    writer = Writer(folder, header)
    with Recorder(writer, Settings(inventory=False)) as recorder:
        recorder.begin_step()
        model(x, extra)
        recorder.end_step()
    return Capture(folder)


EQUAL = {
    "enum": (Mode.ONE, Mode.ONE, Mode.OTHER),
    "range": (range(3), range(3), range(4)),
    "slice": (slice(1, 2), slice(1, 2), slice(1, 3)),
    "bytes": (b"a", b"a", b"b"),
    "complex": (1j, 1j, 2j),
    "class": (dict, dict, list),
    "function": (len, len, max),
    "set": ({"b", "a"}, {"a", "b"}, {"a"}),
    "layout": (torch.strided, torch.strided, torch.sparse_coo),
    "numpy scalar": (np.float32(2), np.float32(2), np.float32(3)),
    "numpy array": (np.ones(2, np.float32), np.ones(2, np.float32), np.zeros(2, np.float32)),
    "namespace": (argparse.Namespace(a=1), argparse.Namespace(a=1), argparse.Namespace(a=2)),
    "cache": (Cache(1), Cache(1), Cache(2)),
    "long text": ("x" * 300 + "a", "x" * 300 + "a", "x" * 300 + "b"),
    "path": (Path("/a/f.txt"), Path("/b/f.txt"), Path("/a/g.txt")),
    "empty": ([], [], [1]),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equals_pass_and_others_do_not(tmp_path, name):
    one, same, other = EQUAL[name]
    reference = record(tmp_path / "reference", one)
    assert compare(reference, record(tmp_path / "same", same)).verdict is Verdict.PASS
    found = compare(reference, record(tmp_path / "other", other))
    assert found.verdict in (Verdict.FAIL, Verdict.INCOMPARABLE)


def test_a_module_is_known_by_what_it_computes(tmp_path):
    captures = [record(tmp_path / name, nn.ReLU()) for name in ("reference", "candidate")]
    assert compare(*captures).verdict is Verdict.PASS


def test_an_object_of_an_unknown_class_proves_nothing(tmp_path):
    captures = [record(tmp_path / name, object()) for name in ("reference", "candidate")]
    assert compare(*captures).verdict is Verdict.INCOMPARABLE


def test_a_type_that_is_handed_on_may_be_the_goldens(tmp_path):
    golden = record(tmp_path / "golden", torch.float64, torch.float64)
    benchmark = record(tmp_path / "benchmark", torch.float32)
    same = record(tmp_path / "same", torch.float32)
    other = record(tmp_path / "other", torch.float16)
    assert compare(golden, same, benchmark=benchmark).verdict is Verdict.PASS
    assert compare(golden, other, benchmark=benchmark).verdict is not Verdict.PASS


def test_a_lazy_module_and_one_that_no_optimizer_trains(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.Linear(4, 2))
    frozen = nn.Linear(2, 2).requires_grad_(False)
    writer = Writer(tmp_path / "capture", Header("test", "cpu"))
    with Recorder(writer, Settings(inventory=False)) as recorder:
        recorder.begin_step()
        out = frozen(model(torch.ones(5, 3)))
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        out.sum().backward()
        optimizer.step()
        recorder.end_step()
    names = [
        each.key.name for each in Capture(tmp_path / "capture").records(0) if each.key.kind is Kind.PARAMETER
    ]
    assert sorted(names) == [
        "Linear.bias",
        "Linear.weight",
        "Sequential.0.bias",
        "Sequential.0.weight",
        "Sequential.2.bias",
        "Sequential.2.weight",
    ]
