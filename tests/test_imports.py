"""Imports run one way, as DESIGN's flow does: no part knows one above it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src/cuda2npu"

# Each part, and the parts that it must not know.
NOT_ABOVE = {
    "catalog": {"rewrite", "codemods", "project", "report", "cli", "runner", "simulator", "verify", "doctor"},
    "rewrite": {"project", "report", "cli", "runner", "simulator", "verify", "doctor"},
    "codemods": {"project", "report", "cli", "runner", "simulator", "verify", "doctor"},
    "report": {"project", "codemods", "cli", "runner", "simulator", "verify", "doctor"},
    "simulator": {"rewrite", "codemods", "project", "report", "cli", "runner", "verify", "doctor"},
    "runner": {"rewrite", "codemods", "project", "report", "cli", "verify", "doctor"},
    "verify": {"rewrite", "codemods", "project", "cli", "doctor"},
    "doctor": {"rewrite", "codemods", "project", "cli", "runner", "simulator", "verify"},
}
NO_TORCH = ("catalog", "rewrite", "codemods", "report", "cli")


def imported(folder: str) -> set[tuple[str, str]]:
    """Return the modules that the files of a folder import anywhere, with the file."""
    found = set()
    for path in sorted((SOURCE / folder).rglob("*.py")):
        if "site" in path.relative_to(SOURCE).parts:  # the simulated torch_npu, a package of its own
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {(alias.name, path.name) for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add((node.module, path.name))
    return found


@pytest.mark.parametrize("part", NOT_ABOVE)
def test_no_part_knows_one_above_it(part: str) -> None:
    above = {
        (module, file)
        for module, file in imported(part)
        if module.startswith("cuda2npu.") and module.split(".")[1] in NOT_ABOVE[part]
    }
    assert not above


@pytest.mark.parametrize("part", NO_TORCH)
def test_what_converts_needs_no_torch(part: str) -> None:
    assert not {(module, file) for module, file in imported(part) if module.split(".")[0] == "torch"}


def test_the_parts_are_there() -> None:
    assert all(imported(part) for part in {*NOT_ABOVE, *NO_TORCH})
