"""Native libraries that are loaded while the program runs."""

from __future__ import annotations

import re

import libcst as cst

from cuda2npu.catalog.grades import Severity
from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.tree import string_value

RULE = "NPU505"
_TORCH = {"torch.ops.load_library", "torch.classes.load_library"}
_CTYPES = {
    "ctypes.CDLL",
    "ctypes.PyDLL",
    "ctypes.WinDLL",
    "ctypes.cdll.LoadLibrary",
    "ctypes.util.find_library",
}
_CUDA = re.compile(
    r"cuda|cudnn|cublas|curand|cufft|cusparse|cusolver|nvrtc|nccl|nvml|nvidia|nvToolsExt", re.I
)


class NativeLibrary(Codemod):
    """Reports libraries of CUDA's, and those with operators for torch: what is in them can't be seen."""

    def visit_Call(self, node: cst.Call) -> None:
        functions = self.names.qualified(node.func)
        if functions & _TORCH:
            self.unit.report(RULE, node.func)
        elif functions & _CTYPES and node.args:
            name = string_value(node.args[0].value)
            if name is not None and _CUDA.search(name):
                self.unit.claimed.add(node.args[0].value)
                self.unit.report(RULE, node, severity=Severity.BLOCKER)
