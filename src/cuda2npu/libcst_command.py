"""The same rules as a LibCST codemod.

Run it with ``python -m libcst.tool codemod cuda2npu.libcst_command.Cuda2NpuCommand PATH``. It sees one
file at a time, so what the project defines in other files isn't known to it; ``cuda2npu convert`` sees
them all.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import libcst as cst
from libcst.codemod import CodemodCommand, CodemodContext

from cuda2npu.rewrite.change import Status
from cuda2npu.rewrite.engine import convert
from cuda2npu.rewrite.index import build_index
from cuda2npu.settings import DEFAULT_SOC, DEFAULT_TORCH, Settings, Target


class Cuda2NpuCommand(CodemodCommand):
    """Applies the safe changes, and warns of what is left to a person."""

    DESCRIPTION = "Rewrites PyTorch code from CUDA to Huawei Ascend NPUs."

    def __init__(
        self,
        context: CodemodContext,
        torch: str = DEFAULT_TORCH,
        soc: str = DEFAULT_SOC,
        unsafe: bool = False,
    ) -> None:
        super().__init__(context)
        self.settings = Settings(target=Target(torch, soc), unsafe=unsafe)

    @staticmethod
    def add_args(arg_parser: argparse.ArgumentParser) -> None:
        """Add the options that ``cuda2npu convert`` has for the rewriting itself."""
        arg_parser.add_argument("--torch", default=DEFAULT_TORCH, help="PyTorch version of the target")
        arg_parser.add_argument("--soc", default=DEFAULT_SOC, help="chip of the target")
        arg_parser.add_argument("--unsafe", action="store_true", help="apply unsafe changes, too")

    def transform_module_impl(self, tree: cst.Module) -> cst.Module:
        """Return the converted module."""
        data = tree.bytes
        path = Path(self.context.filename or "module.py").name
        result = convert(data, path, self.settings, build_index([(path, lambda: data)]))
        if result.status is Status.FAILED:
            self.warn(f"{path}: {result.error}")
        for finding in result.findings:
            line = result.text.count("\n", 0, finding.start) + 1
            self.warn(f"{path}:{line}: {finding.rule} {finding.message}. {finding.advice}")
        return cst.parse_module(result.data) if result.status is Status.CHANGED else tree
