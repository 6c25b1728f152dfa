"""The table of operators that have a kernel on the NPU, and the rows that rest on it."""

from __future__ import annotations

import importlib
import zipfile
from pathlib import Path

import pytest

from cuda2npu.catalog.kernels import has_kernel
from cuda2npu.catalog.load import load_catalog

ROWS = sorted((row.name, row.op) for rows in load_catalog().others.values() for _, row in rows if row.op)


@pytest.mark.parametrize(
    ("operator", "version", "expected"),
    [
        ("linalg_qr", (2, 1), True),
        ("scatter_reduce", (2, 6), False),
        ("scatter_reduce", (2, 7), True),
        ("scatter_reduce", (2, 9), False),  # post releases aren't monotonic
        ("histogram", (2, 13), False),
        ("no_such_operator", (2, 7), False),
        ("isin", (2, 2), True),  # no wheel: what 2.1 and 2.3 both have
        ("isin", (2, 99), True),
    ],
)
def test_which_version_has_a_kernel(operator: str, version: tuple[int, int], expected: bool) -> None:
    assert has_kernel(operator, version) is expected


def test_a_version_older_than_all_wheels_is_refused() -> None:
    with pytest.raises(ValueError, match=r"2\.0; the oldest is 2\.1"):
        has_kernel("isin", (2, 0))


@pytest.mark.parametrize(("name", "operator"), ROWS)
def test_what_rows_say_is_computed_on_the_cpu_is_so(name: str, operator: str) -> None:
    """The dispatcher has a CPU kernel for the operator, and composes it of no others."""
    torch = pytest.importorskip("torch")
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    packet = getattr(torch.ops.aten, operator)
    names = [packet._qualified_op_name + f".{o}".replace(".default", "") for o in packet.overloads()]
    composite = [f"Composite{kind}" for kind in ("ImplicitAutograd", "ExplicitAutograd")]
    on_the_cpu = [
        name
        for name in names
        if torch._C._dispatch_has_kernel(name)  # some are for TorchScript only
        and has(name, "CPU")
        and not any(has(name, key) for key in composite)
    ]
    assert on_the_cpu


@pytest.mark.parametrize("name", sorted({name.partition("(")[0] for name, _ in ROWS}))
def test_rows_name_what_torch_has(name: str) -> None:
    torch = pytest.importorskip("torch")
    root, *parts = name.split(".")
    found = torch.Tensor if root == "*" else torch
    for part in parts:
        found = getattr(found, part)
    assert callable(found)


def test_operators_of_a_wheel_are_read_from_its_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("yaml")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "tools"))
    builder = importlib.import_module("build_kernel_table")
    lists = {
        "torch_npu/csrc/aten/a.yaml": "supported:\n- clone\n- func: add.out(Tensor a) -> Tensor\n",
        "torch_npu/csrc/aten/b.yaml": "custom:\n- func: npu_own(Tensor a) -> Tensor\n",
        "torch_npu/other.yaml": "supported:\n- elsewhere\n",
    }
    with zipfile.ZipFile(tmp_path / "w.whl", "w") as wheel:
        for name, text in lists.items():
            wheel.writestr(name, text)
    assert builder.operators(tmp_path / "w.whl") == {"clone", "add"}
