"""Names of CUDA members in strings: getattr and its like, and dotted names that are patched or imported."""

from __future__ import annotations

import re

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.codemods.imports import importable
from cuda2npu.rewrite.members import COUNTERPART
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import dotted, written

MEMBER = "NPU014"
DOTTED = "NPU015"
_BY_NAME = {"getattr", "hasattr", "setattr", "delattr"}
_TAKES_DOTTED = {"patch", "setattr", "delattr", "import_module", "find_spec"}
_DOTTED = re.compile(r"torch\.cuda(?:\.\w+)+|torch\.backends\.cuda(?:\.\w+)+")


class MemberName(Codemod):
    """Renames the member where the object that has it is torch's."""

    def visit_Call(self, node: cst.Call) -> None:
        if isinstance(node.func, cst.Name) and node.func.value in _BY_NAME and len(node.args) >= 2:
            self.member(node)
        name = (dotted(node.func) or "").rpartition(".")[2]
        if name in _TAKES_DOTTED and node.args:
            self.dotted_name(node, name)

    def member(self, node: cst.Call) -> None:
        """``getattr(torch, "cuda")``, ``getattr(x, "is_cuda", False)``."""
        text = node.args[1].value
        name = written(text) if isinstance(text, cst.SimpleString) else None
        if name not in COUNTERPART or not isinstance(text, cst.SimpleString):
            return
        self.unit.claimed.add(text)
        owner = node.args[0].value
        targets = self.names.qualified(owner)
        start = self.spans[text].start + text.value.index(name)
        if f"torch.version.{name}" in {f"{target}.{name}" for target in targets}:
            self.unit.report("NPU113", node, severity=self.severity_of_none(node))
        elif "torch" in targets or name == "is_cuda" or self.is_called_too(owner):
            self.unit.replace(MEMBER, Span(start, start + len(name)), COUNTERPART[name], at=node)

    def is_called_too(self, owner: cst.BaseExpression) -> bool:
        """Whether the file calls ``.cuda()`` on the same object, so that the member is the method."""
        for attribute in self.names.attributes.get("cuda", ()):
            call = self.names.parents[attribute]
            if isinstance(call, cst.Call) and call.func is attribute and attribute.value.deep_equals(owner):
                return True
        return False

    def dotted_name(self, node: cst.Call, function: str) -> None:
        """``mock.patch("torch.cuda.is_available")``, ``import_module("torch.cuda")``."""
        text = node.args[0].value
        if not isinstance(text, cst.SimpleString):
            return
        name = written(text)
        if name is None or not _DOTTED.fullmatch(name):
            return
        mapping = self.unit.mapping(name)
        if mapping is None:
            return
        self.unit.claimed.add(text)
        if not mapping.to:
            self.unit.report_missing(text, mapping)
            return
        after = mapping.to + name[len(mapping.name) :]
        after = importable(after) if function in ("import_module", "find_spec") else after
        start = self.spans[text].start + text.value.index(name)
        self.unit.replace(DOTTED, Span(start, start + len(name)), after, at=node)
