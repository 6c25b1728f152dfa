"""CUDA C++ that stands in a string, for CuPy, PyCUDA, NVRTC or load_inline."""

from __future__ import annotations

import re

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.tree import string_value

RULE = "NPU503"
# A kernel with its parameters, a header of CUDA's, or the number of a thread that is used: not a mere word.
_CUDA = re.compile(
    r"__global__\s[^;{}]*\(|#\s*include\s*[<\"](?:cuda|ATen/cuda|c10/cuda|cooperative_groups|cub/|thrust/)"
    r"|\b(?:blockIdx|threadIdx)\.[xyz]\b[^'\"]*[;{}]"
)


class SourceText(Codemod):
    """Reports the string."""

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        self.look_at(node, string_value(node))

    def visit_ConcatenatedString(self, node: cst.ConcatenatedString) -> None:
        self.look_at(node, string_value(node))

    def visit_FormattedString(self, node: cst.FormattedString) -> None:
        parts = (part.value if isinstance(part, cst.FormattedStringText) else "_" for part in node.parts)
        self.look_at(node, "".join(parts))

    def look_at(self, node: cst.BaseString, text: str | None) -> None:
        parent = self.names.parents[node]
        if text is None or isinstance(parent, (cst.ConcatenatedString, cst.Expr)):
            return  # the whole is looked at; a docstring
        if _CUDA.search(text):
            self.unit.claimed.add(node)
            self.unit.report(RULE, node)
