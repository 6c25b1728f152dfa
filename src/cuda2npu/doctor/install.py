"""What to install: the torch that fits, in its build for the CPU."""

from __future__ import annotations

from cuda2npu.catalog.compatibility import Compatibility, Release
from cuda2npu.catalog.releases import minor, order, release
from cuda2npu.doctor.environment import Environment
from cuda2npu.settings import DEFAULT_TORCH

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
# For x86-64, PyPI has the builds for CUDA; for aarch64 it has those for the CPU up to torch 2.10.
# Sources: pytorch/pytorch#160162, openmm/mlipops#10.
ARM = ("aarch64", "arm64")
FIRST_TORCH_WITH_CUDA_ON_ARM = (2, 11)


def torch_for_cpu(version: str, env: Environment) -> str:
    """Return what ``pip install`` is to be given for the CPU build of a version of torch."""
    wanted = release(version)
    is_for_cpu = env.processor in ARM and (order(wanted) or (0, 0))[:2] < FIRST_TORCH_WITH_CUDA_ON_ARM
    return f"torch=={wanted}" if is_for_cpu else f"torch=={wanted} --index-url {CPU_INDEX}"


def fitting(env: Environment, table: Compatibility) -> Release:
    """Return the release for this machine's CANN and Python, where torch leaves the choice.

    Of several it is the one for the torch that ``convert`` converts for unless told otherwise.
    """
    cann, python = env.cann.version if env.cann else None, minor(env.python)
    return (
        table.suggestion(torch=DEFAULT_TORCH, cann=cann, python=python)
        or table.suggestion(cann=cann, python=python)
        or table.suggestion(torch=DEFAULT_TORCH, python=python)
        or table.suggestion(python=python)
        or table.releases[0]
    )
