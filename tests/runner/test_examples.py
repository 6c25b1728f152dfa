"""The example with scripts and configurations: as it is, converted, and its notebook."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("yaml")

EXAMPLE = Path(__file__).parents[2] / "examples/launch_and_config"
STEPS = 2
TRAIN = ["train.py", "--config", "config.yaml", "--steps", str(STEPS)]
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def python(*arguments: str, cwd: Path) -> str:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", *arguments]
    ran = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def run(device: str, *arguments: str, cwd: Path) -> str:
    return python("-m", "cuda2npu", "run", "--quiet", "--device", device, *arguments, cwd=cwd)


def losses(out: str) -> list[str]:
    found = [line.split()[3] for line in out.splitlines() if line.startswith("step ")]
    assert len(found) == STEPS
    return found


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("converted") / "out"
    python("-m", "cuda2npu", "convert", str(EXAMPLE), "-o", str(out), "-q", cwd=EXAMPLE)
    return out


def test_it_runs_without_a_gpu() -> None:
    out = python(*TRAIN, cwd=EXAMPLE)
    assert "no GPU, training on the CPU" in out
    losses(out)


def test_the_conversion_computes_the_same(converted: Path) -> None:
    original = losses(run("cpu-as-cuda", *TRAIN, cwd=EXAMPLE))
    assert losses(run("sim", *TRAIN, cwd=converted)) == original


def test_the_conversion_runs_in_two_processes(converted: Path) -> None:
    losses(run("sim", *TORCHRUN, *TRAIN, cwd=converted))


def test_the_launch_script_starts_it_with_names_of_the_npu(converted: Path) -> None:
    script = (converted / "launch.sh").read_text(encoding="utf-8")
    assert "--backend hccl" in script
    assert 'export ASCEND_RT_VISIBLE_DEVICES="${ASCEND_RT_VISIBLE_DEVICES:-0,1}"' in script
    assert (converted / "launch.sh").stat().st_mode == (EXAMPLE / "launch.sh").stat().st_mode


def notebook(folder: Path) -> dict[str, Any]:
    text = (folder / "explore.ipynb").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def cells(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = notebook(folder)["cells"]
    return found


def test_the_notebook_keeps_all_but_its_code(converted: Path) -> None:
    before, after = notebook(EXAMPLE), notebook(converted)
    assert (before["nbformat"], before["nbformat_minor"]) == (4, 5)
    for old, new in zip(cells(EXAMPLE), cells(converted)):
        assert {**new, "source": old["source"]} == old
    assert {**after, "cells": before["cells"]} == before


def test_the_cells_of_the_notebook_run_one_after_the_other(converted: Path) -> None:
    code = ["".join(cell["source"]) for cell in cells(converted) if cell["cell_type"] == "code"]
    lines = "\n".join(code).splitlines()
    program = "\n".join("" if line.startswith(("%", "!")) else line for line in lines)
    (converted / "explore.py").write_text(program, encoding="utf-8")
    out = run("sim", "explore.py", cwd=converted)
    assert out.startswith("npu:0\n(1, 32, 32) npu:0\n")
