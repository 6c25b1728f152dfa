"""A simulated torch_npu: the same names as the real one of the target version, over host memory.

Importing it makes ``npu`` a device of this process. Numbers are computed by torch's CPU kernels; where
tensors lie, and what may be mixed, follows the rules of a real device. It shows what a program may call,
not what an NPU computes or how fast.
"""
# ruff: noqa: E402, F401 - the order is that of the start; the names are what this module offers

from __future__ import annotations

import os
import sys

# A real torch_npu beside this one must not be loaded by `import torch`, nor in the children of this process.
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"

from cuda2npu.simulator.names import MissingModules, only_names_of_target, target

target()  # before anything else: an unknown version must say so

from torch_npu import _start

_start.refuse_second_accelerator()
sys.meta_path.append(MissingModules())

from torch_npu import _backend

_start.name_device()

from torch_npu import npu

_start.register(npu)

from torch_npu import _C, _operators, _patches, contrib, distributed, optim, profiler, utils
from torch_npu.version import __version__

_patches.apply()

for _name in _operators.NAMES:
    globals()[_name] = getattr(_operators, _name)
Format = _operators.Format
unsupported_dtype = _start.UNSUPPORTED_DTYPES

IS_SIMULATED = True
"""A name that only the simulation has; ``getattr(torch_npu, "IS_SIMULATED", False)`` tells the two apart."""

_ALSO = ("IS_SIMULATED",)


def _autoload() -> None:
    """Do nothing: the entry point that ``import torch`` calls in the real package."""


only_names_of_target(__name__)
