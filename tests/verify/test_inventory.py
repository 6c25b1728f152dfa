"""The inventory of operators: what is seen of a run, and what becomes of it on a target."""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import nn
from torch.nn import functional

from cuda2npu.settings import Target
from cuda2npu.verify.operators.classes import InventoryError, State, classify, with_classes
from cuda2npu.verify.operators.inventory import SHAPES, Inventory
from cuda2npu.verify.operators.run import merged
from cuda2npu.verify.operators.text import run_line

MODELS = Path(__file__).with_name("inventory_models.py")
_spec = importlib.util.spec_from_file_location("inventory_models", MODELS)
assert _spec is not None
assert _spec.loader is not None
models = importlib.util.module_from_spec(_spec)
sys.modules["inventory_models"] = models
_spec.loader.exec_module(models)

SOURCE = Path(__file__).parents[2] / "src"


def names(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["name"].partition("::")[2]: row for row in found["operators"]}


def states(found: dict[str, Any], version: tuple[int, int], soc: str = "ascend910b") -> dict[str, State]:
    target = Target("{}.{}".format(*version), soc)
    return {each.full_name.partition("::")[2]: each.state for each in classify(found, target)}


def on_the_npu(name: str) -> dict[str, Any]:
    paths = [str(SOURCE), str(SOURCE / "cuda2npu/simulator/site"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    ran = subprocess.run(
        [sys.executable, str(MODELS), name, "npu"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
        check=True,
    )
    return json.loads(ran.stdout.splitlines()[-1])


# What differs by device: the copies there, and what is called in their place.
ONLY_THERE = {"_to_copy", "scalar_tensor", "copy_", "_has_compatible_shallow_copy_type", "lift_fresh"}


def summary(found: dict[str, Any]) -> dict[tuple[str, str], Any]:
    """Of each operator on whatever device; the simulated NPU computes an LSTM on the CPU."""
    sums: dict[tuple[str, str], Any] = {}
    for row in found["operators"]:
        if row["name"][6:] in ONLY_THERE:
            continue
        calls, backward, dtypes, shapes = sums.get((row["name"], row["overload"]), (0, 0, set(), []))
        sums[row["name"], row["overload"]] = (
            calls + row["calls"],
            backward + row["backward"],
            dtypes | set(row["dtypes"]),
            sorted(shapes + [shape for shape in row["shapes"] if shape not in shapes]),
        )
    return sums


@pytest.mark.parametrize("name", sorted(models.MODELS))
def test_the_same_is_seen_on_the_cpu_and_on_the_simulated_npu(name: str) -> None:
    here, there = models.taken(name, "cpu"), on_the_npu(name)
    assert (here["device"], there["device"]) == ("cpu", "npu")
    assert summary(here) == summary(there)
    waits = [(row["operator"], row["calls"]) for row in there["syncs"] if row["device"] == "npu"]
    assert waits == [(row["operator"], row["calls"]) for row in here["syncs"]]
    assert here["transfers"] == []
    assert {(row["from"], row["to"]) for row in there["transfers"]} == {("cpu", "npu")}
    assert {each.state for each in classify(there, Target("2.7"))} == {State.KERNEL, State.COMPOSITE}
    assert [each.full_name for each in classify(there, Target("2.7")) if each.instead] == [
        each.full_name for each in classify(here, Target("2.7")) if each.instead
    ]


def test_backward_steps_places_and_shapes_are_seen() -> None:
    found = models.taken("cnn", "cpu")
    rows = names(found)
    assert found["steps"] == 2
    convolution = rows["convolution"]
    assert convolution["calls"] == 10
    assert convolution["backward"] == 0
    assert convolution["shapes"][0] == [[2, 3, 8, 8], [4, 3, 3, 3], [4]]
    assert len(convolution["shapes"]) == 2
    assert rows["convolution_backward"]["backward"] == 10
    lines = MODELS.read_text(encoding="utf-8").splitlines()
    file, _, line = rows["convolution_backward"]["source"].rpartition(":")
    assert file.endswith("inventory_models.py")
    assert "loss.backward()" in lines[int(line) - 1]
    sync = found["syncs"][0]
    assert (sync["operator"], sync["calls"]) == ("aten::_local_scalar_dense", 2)
    assert "loss.item()" in lines[int(sync["source"].rpartition(":")[2]) - 1]
    assert found["dynamic"] == []  # one line of Sequential, several shapes, the same in each step
    assert json.loads(json.dumps(found)) == found


def test_nothing_changes_and_nothing_is_kept() -> None:
    torch.manual_seed(0)
    plain = models.cnn("cpu")(), torch.get_rng_state()
    torch.manual_seed(0)
    with Inventory() as inventory:
        watched = models.cnn("cpu")(), torch.get_rng_state()
        gone = weakref.ref(functional.relu(torch.randn(3)))
    gc.collect()
    assert plain[0] == watched[0]
    assert torch.equal(plain[1], watched[1])
    assert gone() is None
    assert inventory.as_json()["steps"] == 2
    assert not nn.modules.module._global_forward_hooks


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_the_same_operators_are_seen(mode: Any) -> None:
    net, x = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Dropout(0.5)).eval(), torch.randn(2, 4)
    with mode(), Inventory() as inventory:
        y = net(x)
    assert torch.equal(y, net(x))
    assert {"addmm", "gelu"} <= set(names(inventory.as_json()))


def test_other_modes_may_stand_around_it_and_within_it() -> None:
    with Inventory() as outer, Inventory() as inner:
        (torch.ones(2) + 1).sum()
    assert names(outer.as_json())["add"]["calls"] == names(inner.as_json())["add"]["calls"] == 1


def test_shapes_that_change_are_told_from_those_that_repeat() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    with Inventory() as inventory:
        for length in (3, 3, 5):
            net(torch.randn(length, 4))
    places = inventory.as_json()["dynamic"]
    assert [(row["operator"], row["from_data"]) for row in places] == [("aten::addmm", False)]
    assert places[0]["shapes"] == [[[3, 2]], [[3, 4]], [[5, 2]], [[5, 4]]]


def test_what_depends_on_data_waits() -> None:
    found = models.taken("masks", "cpu")
    waits = {row["operator"][6:] for row in found["syncs"]}
    assert waits == {"index_put_", "index", "_local_scalar_dense", "nonzero", "_unique2", "masked_select"}
    from_data = {row["name"][6:] for row in found["operators"] if row["from_data"]}
    assert from_data == {"index", "nonzero", "_unique2", "masked_select"}


def test_many_shapes_are_counted() -> None:
    with Inventory() as inventory:
        for length in range(20):
            torch.ones(length).neg()
    row = names(inventory.as_json())["neg"]
    assert len(row["shapes"]) == SHAPES
    assert row["more_shapes"] == 20 - SHAPES


def test_the_state_of_an_optimizer_is_no_wait() -> None:
    net = nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(net.parameters(), foreach=False)
    with Inventory() as inventory:
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    found = inventory.as_json()
    assert names(found)["_local_scalar_dense"]["calls"]
    assert found["syncs"] == []


@pytest.fixture(scope="module")
def odd() -> dict[str, Any]:
    """An inventory of operators whose state differs by version, chip, type or overload."""
    x, at = torch.rand(2, 3, 4, 4, requires_grad=True), torch.zeros(2, 3, 4, 4, dtype=torch.long)
    with Inventory() as inventory:
        torch.fmax(x, x)
        torch.logcumsumexp(x, 0)
        torch.linalg.det(torch.eye(3))
        torch.linalg.qr(torch.eye(3))
        x.scatter_reduce(0, at, x, "amax")
        x.detach().scatter(0, at, 1.0)
        x.detach().scatter(0, at, 1.0, reduce="add")
        functional.huber_loss(x, x.detach()).backward()
        functional.interpolate(x, (8, 8), mode="nearest-exact").sum().backward()
        functional.interpolate(x, (8, 8), mode="bicubic", antialias=True)
        x.detach().clone().gelu_() if hasattr(x, "gelu_") else functional.gelu(x)
        x.double() @ x.double()
        x.bfloat16() * 2
        x.view(-1).t()
    return inventory.as_json()


@pytest.mark.parametrize(
    ("operator", "at_2_1", "at_2_7", "at_2_13"),
    [
        ("fmax", State.CPU, State.CPU, State.CPU),
        ("logcumsumexp", State.CPU, State.CPU, State.CPU),  # composed of _logcumsumexp
        ("_linalg_det", State.CPU, State.CPU, State.CPU),
        ("linalg_qr", State.KERNEL, State.KERNEL, State.KERNEL),
        ("scatter_reduce.two", State.CPU, State.KERNEL, State.KERNEL),
        ("scatter.value", State.KERNEL, State.KERNEL, State.KERNEL),
        ("scatter.value_reduce", State.CPU, State.CPU, State.CPU),
        ("huber_loss", State.CPU, State.CPU, State.CPU),
        ("huber_loss_backward", State.CPU, State.CPU, State.CPU),
        ("_upsample_nearest_exact2d", State.KERNEL, State.KERNEL, State.KERNEL),
        ("gelu", State.KERNEL, State.KERNEL, State.KERNEL),
        ("t", State.COMPOSITE, State.COMPOSITE, State.COMPOSITE),
    ],
)
def test_states_by_version(
    odd: dict[str, Any], operator: str, at_2_1: State, at_2_7: State, at_2_13: State
) -> None:
    found = tuple(states(odd, version)[operator] for version in ((2, 1), (2, 7), (2, 13)))
    assert found == (at_2_1, at_2_7, at_2_13)


@pytest.mark.parametrize(
    ("soc", "forward", "backward", "antialiased"),
    [
        ("ascend910b", State.KERNEL, State.KERNEL, State.KERNEL),
        ("ascend910a", State.NONE, State.NONE, State.CPU),
        ("ascend310p", State.KERNEL, State.NONE, State.CPU),
    ],
)
def test_states_by_chip(
    odd: dict[str, Any], soc: str, forward: State, backward: State, antialiased: State
) -> None:
    found = states(odd, (2, 7), soc)
    assert found["_upsample_nearest_exact2d"] is forward
    assert found["_upsample_nearest_exact2d_backward"] is backward
    assert found["_upsample_bicubic2d_aa"] is antialiased


def test_types_that_the_chip_lacks(odd: dict[str, Any]) -> None:
    def rules(soc: str) -> dict[str, set[str]]:
        operators = classify(odd, Target("2.7", soc))
        return {each.full_name[6:]: {one.rule for one in each.limits} for each in operators}

    assert rules("ascend910b")["bmm"] == {"NPU411"}
    assert rules("ascend910b")["_to_copy"] == set()  # it can be stored
    assert "NPU414" not in rules("ascend910b")["mul.Tensor"]
    assert "NPU414" in rules("ascend310p")["mul.Tensor"]


@pytest.mark.parametrize(
    ("name", "seen", "taken"),
    [
        ("lstm", "mkldnn_rnn_layer", "lstm"),
        ("lstm", "mkldnn_rnn_layer_backward", "lstm"),
        ("transformer", "_scaled_dot_product_flash_attention_for_cpu", "scaled_dot_product_attention"),
        (
            "transformer",
            "_scaled_dot_product_flash_attention_for_cpu_backward",
            "scaled_dot_product_attention",
        ),
    ],
)
def test_what_only_the_cpu_chooses(name: str, seen: str, taken: str) -> None:
    operators = {each.name[6:]: each for each in classify(models.taken(name, "cpu"), Target("2.7"))}
    if seen not in operators:
        pytest.skip("this build of torch chooses another")
    assert operators[seen].instead == taken
    assert operators[seen].state is State.KERNEL


# ResNet-50's operators in training, looked up by hand in torch_npu's lists and the dispatcher of torch 2.13.
@pytest.mark.parametrize(
    ("operator", "state"),
    [
        *((name, State.KERNEL) for name in ("convolution", "convolution_backward", "native_batch_norm")),
        *(
            (name, State.KERNEL)
            for name in ("native_batch_norm_backward", "threshold_backward", "addmm", "mm")
        ),
        *((name, State.KERNEL) for name in ("max_pool2d_with_indices", "max_pool2d_with_indices_backward")),
        *((name, State.KERNEL) for name in ("add.Tensor", "view", "relu")),
        *((name, State.COMPOSITE) for name in ("detach", "t", "expand")),
    ],
)
def test_a_residual_network(operator: str, state: State) -> None:
    assert states(models.taken("cnn", "cpu"), (2, 13))[operator] is state


def test_operators_of_ones_own() -> None:
    library = torch.library.Library("c2n_inventory_test", "DEF")
    library.define("on_cpu(Tensor x) -> Tensor")
    library.impl("on_cpu", lambda x: x.clone(), "CPU")
    library.define("composed(Tensor x) -> Tensor")
    library.impl("composed", lambda x: x + 1, "CompositeExplicitAutograd")
    with Inventory() as inventory:
        torch.ops.c2n_inventory_test.on_cpu(torch.ones(2))
        torch.ops.c2n_inventory_test.composed(torch.ones(2))
    found = inventory.as_json()
    for row in found["operators"]:  # as a build of torch for CUDA has it
        row["kernels"] = ["CUDA"] if row["name"].endswith("on_cpu") else row["kernels"]
    operators = {each.name: each.state for each in classify(found, Target("2.7"))}
    assert operators["c2n_inventory_test::on_cpu"] is State.NONE
    assert operators["c2n_inventory_test::composed"] is State.COMPOSITE


def test_what_is_no_inventory_is_refused() -> None:
    with pytest.raises(InventoryError, match="cuda2npu-run/1"):
        classify({"schema": "cuda2npu-run/1"}, Target("2.7"))


def test_inventories_of_several_processes_add_up() -> None:
    one, other = models.taken("cnn", "cpu"), models.taken("lstm", "cpu")
    both = merged([one, other, one])
    assert merged([one]) == one
    rows = names(both)
    assert rows["convolution"]["calls"] == 2 * names(one)["convolution"]["calls"]
    assert "mean" in rows
    assert sum(row["calls"] for row in both["syncs"]) == 6
    assert both["steps"] == 2


def test_the_line_names_what_is_lacking(odd: dict[str, Any]) -> None:
    operators = classify(odd, Target("2.7", "ascend910a"))
    assert "_upsample_nearest_exact2d" in run_line(operators, "2.7", "en")
    assert "缺失的算子：aten::_upsample_nearest_exact2d" in run_line(operators, "2.7", "zh")
    assert "lacks: none" in run_line([], "2.7", "en")


def test_the_notes_say_what_the_target_makes_of_an_operator(odd: dict[str, Any]) -> None:
    target = Target("2.7", "ascend910a")
    classed = with_classes(odd, target, classify(odd, target))
    rows = {row["name"][6:]: row for row in classed["operators"] if "class" in row}
    assert rows["_upsample_nearest_exact2d"]["class"] == "none"
    assert all(isinstance(text, str) for row in rows.values() for text in row["note"])
    assert any("float64" in row["note"][0] and "float64" in row["note"][1] for row in rows.values())


def test_a_run_writes_its_inventory(tmp_path: Path) -> None:
    script = "import torch\nx = torch.ones(3).npu()\nprint(torch.fmax(x, x).sum().item())\n"
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "cuda2npu",
            "run",
            "--device",
            "sim",
            "--inventory",
            "found.json",
            "script.py",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])},
    )
    assert (ran.returncode, ran.stdout) == (0, "3.0\n")
    assert "aten::fmax" in ran.stderr
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert [(row["source"], row["calls"]) for row in found["transfers"]] == [("script.py:2", 1)]
    assert found["target"]["soc"] == "ascend910b"
    classes = {row["name"]: row["class"] for row in found["operators"] if "class" in row}
    assert classes["aten::fmax"] == "cpu"


def test_operators_that_call_functions_go_on() -> None:
    x = torch.ones(3)
    with Inventory() as inventory:
        result = torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (x,))
        compiled = torch.compile(lambda y: y * 2, backend="eager")(x)
    assert result.tolist() == compiled.tolist() == [2, 2, 2]
    assert "sum" in names(inventory.as_json())
