"""For which ATen operators torch_npu has a kernel of its own, version by version.

The table beside this module, ``npu_kernels.json``, is written by ``tools/build_kernel_table.py`` from
the public wheels: operators, without overload, under one ``0`` or ``1`` for each wheel. An operator that
isn't listed may still be composed of others that are; if it isn't, it is computed on the CPU.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from cuda2npu.catalog.versions import columns


def has_kernel(operator: str, version: tuple[int, int]) -> bool:
    """Whether torch_npu of this minor version has a kernel for ``operator``, as ``linalg_qr`` or ``fmax``."""
    present = _operators().get(operator)
    return present is not None and all(present[column] == "1" for column in columns(_versions(), version))


@cache
def _operators() -> dict[str, str]:
    return {name: bits for bits, names in _data()["operators"].items() for name in names}


@cache
def _versions() -> list[tuple[int, int]]:
    pairs = (wheel["torch"].split(".") for wheel in _data()["wheels"])
    return [(int(major), int(minor)) for major, minor in pairs]


@cache
def _data() -> Any:
    table = resources.files("cuda2npu.catalog").joinpath("npu_kernels.json")
    return json.loads(table.read_text(encoding="utf-8"))
