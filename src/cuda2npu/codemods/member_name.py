"""Names of CUDA members in strings: getattr and its like, and dotted names that are patched or imported."""

from __future__ import annotations

import re
from collections.abc import Iterable

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.codemods.imports import importable
from cuda2npu.rewrite.members import COUNTERPART
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import dotted, start_of_text, written

MEMBER = "NPU014"
DOTTED = "NPU015"
_BY_NAME = {"getattr", "hasattr", "setattr", "delattr"}
_MAKE_READER = {"operator.methodcaller", "operator.attrgetter"}
_TAKES_DOTTED = {"patch", "setattr", "delattr", "import_module", "find_spec"}
_DOTTED = re.compile(r"\w+(?:\.\w+)*\.(?:is_)?cuda(?:\.\w+)*")


class MemberName(Codemod):
    """Renames the member where the object that has it is torch's."""

    def visit_Call(self, node: cst.Call) -> None:
        if isinstance(node.func, cst.Name) and node.func.value in _BY_NAME and len(node.args) >= 2:
            self.member(node)
        name = (dotted(node.func) or "").rpartition(".")[2]
        if name in _TAKES_DOTTED and node.args:
            self.dotted_name(node, name)
        patches = name == "object" or (
            name in ("setattr", "delattr") and isinstance(node.func, cst.Attribute)
        )
        if patches and len(node.args) >= 2:  # mock.patch.object, monkeypatch.setattr
            self.member(node)
        if self.names.qualified(node.func) & _MAKE_READER and node.args:
            self.reader(node)

    def reader(self, node: cst.Call) -> None:
        """``methodcaller("cuda")``, ``attrgetter("is_cuda")``."""
        text = node.args[0].value
        name = written(text) if isinstance(text, cst.SimpleString) else None
        if name in COUNTERPART and isinstance(text, cst.SimpleString):
            self.rename(text, name)

    def rename(self, text: cst.SimpleString, name: str) -> None:
        self.unit.claimed.add(text)
        start = self.spans[text].start + start_of_text(text)
        self.unit.replace(MEMBER, Span(start, start + len(name)), COUNTERPART[name], at=text)

    def member(self, node: cst.Call) -> None:
        """``getattr(torch, "cuda")``, ``getattr(x, "is_cuda", False)``."""
        text = node.args[1].value
        name = written(text) if isinstance(text, cst.SimpleString) else None
        if name not in COUNTERPART or not isinstance(text, cst.SimpleString):
            return
        self.unit.claimed.add(text)
        owner = node.args[0].value
        targets = self.names.qualified(owner)
        if "torch.version" in targets:
            self.unit.report("NPU113", node, severity=self.severity_of_none(node))
        elif self.has_counterpart(targets, name) or name == "is_cuda" or self.is_called(node, owner):
            self.rename(text, name)

    def has_counterpart(self, targets: Iterable[str], name: str) -> bool:
        """Whether the owner is torch, or a class of torch's or of the project, that has the new name, too."""
        for target in targets:
            mapping = self.unit.mapping(f"{target}.{name}")
            if mapping is not None and mapping.to == f"{target}.{COUNTERPART[name]}":
                return True
        return self.is_own_class(targets, name)

    def is_own_class(self, targets: Iterable[str], name: str) -> bool:
        """Whether a class of the project is meant whose member ``name`` is renamed."""
        last = {target.rpartition(".")[2] for target in targets}
        return any(m.moves and m.name == name and m.owner in last for m in self.unit.index.members)

    def is_called(self, node: cst.Call, owner: cst.BaseExpression) -> bool:
        """Whether the member is called: at once, or elsewhere in the file on the same object."""
        parent = self.names.parents[node]
        if isinstance(parent, cst.Call) and parent.func is node:
            return True
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
        owner, _, member = name.rpartition(".")
        if member in COUNTERPART and self.is_own_class([owner], member):
            start = self.spans[text].start + start_of_text(text) + len(owner) + 1
            self.unit.claimed.add(text)
            self.unit.replace(
                DOTTED, Span(start, start + len(member)), COUNTERPART[member], at=node, npu=False
            )
            return
        mapping = self.unit.mapping(name)
        if mapping is None or mapping.to == name:
            return
        self.unit.claimed.add(text)
        if not mapping.to:
            self.unit.report_missing(text, mapping)
            return
        after = mapping.to + name[len(mapping.name) :]
        after = importable(after) if function in ("import_module", "find_spec") else after
        start = self.spans[text].start + text.value.index(name)
        self.unit.replace(DOTTED, Span(start, start + len(name)), after, at=node)
