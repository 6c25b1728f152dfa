"""Python code that stands in a string: for ``exec``, for ``python -c``, for a file that is written out."""

from __future__ import annotations

import ast
import textwrap
import warnings

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.tree import string_value
from cuda2npu.rewrite.words import CUDA_WORD

RULE = "NPU904"
_RUNS = {"exec", "eval", "compile"}


class CodeText(Codemod):
    """Reports the string: where and how it will run can't be seen."""

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        self.look_at(node)

    def visit_ConcatenatedString(self, node: cst.ConcatenatedString) -> None:
        self.look_at(node)

    def look_at(self, node: cst.SimpleString | cst.ConcatenatedString) -> None:
        parent = self.names.parents[node]
        if isinstance(parent, (cst.ConcatenatedString, cst.Expr)):  # the whole is looked at; a docstring
            return
        text = string_value(node)
        if text is None or not CUDA_WORD.search(text):
            return
        tree = _parse(text)
        if tree is not None and (_acts(tree) or self.is_run(parent)):
            self.unit.report(RULE, node)

    def is_run(self, parent: cst.CSTNode) -> bool:
        """Whether the text is an argument of a built-in that runs code."""
        call = self.names.parents[parent]
        return isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value in _RUNS


def _parse(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(textwrap.dedent(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _acts(tree: ast.Module) -> bool:
    """Whether the code imports or calls something; a message that is but an expression doesn't count."""
    if len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
        return False
    return any(isinstance(node, (ast.Import, ast.ImportFrom, ast.Call)) for node in ast.walk(tree))
