"""Calls of a training program that work otherwise on an NPU: what is added, dropped, or reported."""

from __future__ import annotations

import pytest

from cuda2npu.catalog.grades import Severity
from cuda2npu.rewrite.change import FileResult
from cuda2npu.rewrite.engine import convert
from cuda2npu.rewrite.index import build_index
from cuda2npu.settings import Settings, Target

HEAD = "import torch\nimport torch_npu\n"


def converted(source: str, torch: str = "2.7.1", unsafe: bool = False) -> FileResult:
    data = f"{HEAD}{source}\n".encode()
    settings = Settings(target=Target(torch), unsafe=unsafe)
    return convert(data, "main.py", settings, build_index([("main.py", lambda: data)]))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("torch.load((path))", 'torch.load((path), map_location="cpu")'),
        ("torch.load(path,)", 'torch.load(path, map_location="cpu",)'),
        ("torch.load(\n    path\n)", 'torch.load(\n    path, map_location="cpu"\n)'),
        ("torch.load(path  # old\n)", 'torch.load(path, map_location="cpu"  # old\n)'),
        ("torch.load(a if b else c)", 'torch.load(a if b else c, map_location="cpu")'),
        ("torch.load(f=path)", 'torch.load(f=path, map_location="cpu")'),
    ],
)
def test_an_argument_is_added_behind_the_others(before: str, after: str) -> None:
    assert converted(before, unsafe=True).data.decode() == f"{HEAD}{after}\n"


@pytest.mark.parametrize("source", ["torch.load(part for part in parts)", "torch.load()"])
def test_where_it_cannot_be_added_it_is_reported(source: str) -> None:
    result = converted(source, unsafe=True)
    assert result.error is None
    assert [found.rule for found in result.findings] == ["NPU021"]


def test_what_is_good_to_know_is_reported_unless_it_may_be_changed() -> None:
    result = converted("torch.load(path)")
    assert [(found.rule, found.severity) for found in result.findings] == [("NPU021", Severity.INFO)]
    assert result.changes == []


def test_what_is_dropped_is_not_converted_besides() -> None:
    result = converted('torch.cuda.mem_get_info(torch.device("cuda"))', "2.5.1")
    assert result.data.decode() == f"{HEAD}torch.npu.mem_get_info()\n"
    assert "NPU003" not in {change.rule for change in result.changes}


@pytest.mark.parametrize(
    ("scaler", "severity"),
    [("", Severity.BLOCKER), ("enabled=half", Severity.MANUAL), ("enabled=False", None)],
)
def test_a_scaler_and_a_fused_optimizer(scaler: str, severity: Severity | None) -> None:
    source = f"opt = torch.optim.AdamW(weights, fused=True)\nscaler = torch.cuda.amp.GradScaler({scaler})"
    found = [finding.severity for finding in converted(source).findings if finding.rule == "NPU425"]
    assert found == ([] if severity is None else [severity])


def test_a_fused_optimizer_that_loses_the_argument_is_not_reported() -> None:
    source = "opt = torch.optim.Adam(weights, fused=True)\nscaler = torch.cuda.amp.GradScaler()"
    result = converted(source, "2.5.1")
    assert "Adam(weights)" in result.data.decode()
    assert result.findings == []


@pytest.mark.parametrize(
    "tensor",
    [
        "torch.tensor(sums, dtype=torch.double, device=device)",
        "torch.tensor(sums).double().cuda()",
        "torch.tensor(sums).cuda().to(torch.float64)",
        "torch.cuda.DoubleTensor(sums)",
        "torch.zeros(2, device='cuda', dtype=torch.float64).clone()",
    ],
)
def test_tensors_that_are_float64_on_the_device(tensor: str) -> None:
    found = converted(f"total = {tensor}\ntorch.distributed.all_reduce(total)").findings
    assert "NPU309" in {finding.rule for finding in found}


@pytest.mark.parametrize(
    "tensor",
    [
        "torch.tensor(sums, dtype=torch.double)",
        "torch.tensor(sums, device=device).double().float()",
        "torch.tensor(sums, dtype=torch.float64).to('cpu')",
        "torch.tensor(sums, dtype=torch.float64, device=device).sum()",
        "make(sums)",
    ],
)
def test_tensors_that_may_be_something_else(tensor: str) -> None:
    found = converted(f"total = {tensor}\ntorch.distributed.all_reduce(total)").findings
    assert "NPU309" not in {finding.rule for finding in found}
