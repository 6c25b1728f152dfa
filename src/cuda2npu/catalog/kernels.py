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


# Overloads that are computed on the CPU though another one of the same name has a kernel: so says the
# dispatcher of torch 2.13.0 with torch_npu 2.13.0, and no wheel's list names them.
_WITHOUT_KERNEL = frozenset(
    (
        *("_add_relu.Scalar", "_add_relu_.Scalar", "_ctc_loss.Tensor", "_ctc_loss_backward.Tensor"),
        *("_fused_adamw_.tensor_lr", "_native_batch_norm_legit.no_stats"),
        *("quantize_per_tensor.tensor_qparams", "quantize_per_tensor.tensors"),
        *("scatter.reduce", "scatter.value_reduce", "scatter_.reduce", "scatter_.value_reduce"),
    )
)


def overload_has_kernel(operator: str, overload: str, version: tuple[int, int]) -> bool:
    """Whether ``operator`` has a kernel for this overload, as ``scatter`` for ``value`` but not ``reduce``.

    An operator that changes its input, as ``gelu_``, counts by the one that doesn't: torch_npu computes
    both by the same kernel.
    """
    if f"{operator}.{overload}" in _WITHOUT_KERNEL:
        return False
    return has_kernel(operator, version) or (
        operator.endswith("_") and not operator.endswith("__") and has_kernel(operator[:-1], version)
    )


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
