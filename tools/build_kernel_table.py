#!/usr/bin/env python3
"""Rebuild ``npu_kernels.json``, the table of ATen operators for which each torch_npu release has a kernel.

    python tools/build_kernel_table.py [--wheels FOLDER] [--output FILE]

Downloads the public wheels with pip and reads the lists of operators that lie in them as YAML, from
which torch_npu generates its registrations. Needs PyYAML. The same wheels give the same file.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import yaml
from wheels import fetch, rebuild

OUTPUT = Path(__file__).parents[1] / "src/cuda2npu/catalog/npu_kernels.json"
FOLDER = "torch_npu/csrc/aten/"


def operators(wheel: Path) -> set[str]:
    """Return the names, without overload, of the operators under ``supported`` in a wheel's lists.

    An overload that is computed through another one (``isin`` through ``isin.out``) isn't listed, so
    that names without overload tell more than names with it.
    """
    found = set()
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith(FOLDER) and name.endswith(".yaml"):
                listed = yaml.safe_load(archive.read(name)).get("supported") or ()
                found.update(_name(entry) for entry in listed)
    return found


def _name(entry: str | dict[str, object]) -> str:
    function = entry if isinstance(entry, str) else str(entry["func"])
    return function.partition("(")[0].partition(".")[0]


def build(folder: Path) -> dict[str, object]:
    """Return the table: per operator one ``0`` or ``1`` for each wheel."""
    wheels = []
    present: dict[str, list[str]] = {}
    listed = []
    for path, entry in fetch(folder):
        wheels.append(entry)
        listed.append(operators(path))
    for name in sorted(set().union(*listed)):
        present.setdefault("".join("01"[name in names] for names in listed), []).append(name)
    return {
        "schema": 1,
        "source": "torch_npu wheels on PyPI (cp311, x86_64), read by tools/build_kernel_table.py",
        "wheels": wheels,
        "operators": dict(sorted(present.items(), reverse=True)),
    }


if __name__ == "__main__":
    rebuild(__doc__, OUTPUT, lambda folder: json.dumps(build(folder), indent=0) + "\n")
