"""Environment variables in Python code: NCCL_*, TORCH_NCCL_*, CUDA_* and the rest of their kind."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.environment_values import carries_over
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import dotted, string_value, written
from cuda2npu.rewrite.unit import Unit

OTHER_VALUE = "NPU602"
TOOL = "NPU604"
ELSEWHERE = "NPU605"
_READERS = {"get", "pop", "setdefault", "getenv", "putenv", "unsetenv", "setenv", "delenv"}
_RUNNERS = {"run", "call", "check_call", "check_output", "Popen", "system", "popen", "getoutput", "which"}
_IN_COMMAND = re.compile(r"\b(?:CUDA_VISIBLE_DEVICES|NCCL_\w+)=")


class Environment(Codemod):
    """Renames the variables whose values carry over, and reports those whose values don't."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.rows = unit.catalog.rows_of("environment")

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        name = written(node)
        if name is None:
            return
        if name in self.rows and self.is_key(node):
            self.unit.claimed.add(node)
            start = self.spans[node].start + node.value.index(name)
            self.decide(node, name, Span(start, start + len(name)))
        elif (name in self.rows and self.is_held(node)) or (_IN_COMMAND.search(name) and self.is_run(node)):
            self.unit.claimed.add(node)
            self.unit.report(ELSEWHERE, node)

    def visit_FormattedString(self, node: cst.FormattedString) -> None:
        """``os.system(f"CUDA_VISIBLE_DEVICES={i} python train.py")``."""
        if _IN_COMMAND.search(self.spans.text(node)) and self.is_run(node):
            self.unit.report(ELSEWHERE, node)

    def is_held(self, node: cst.SimpleString) -> bool:
        """Whether the name of a variable is kept in a variable or a list, to be used later."""
        parent = self.names.parents[node]
        while isinstance(parent, (cst.Element, cst.List, cst.Tuple, cst.Set)):
            parent = self.names.parents[parent]
        return isinstance(parent, (cst.Assign, cst.AnnAssign, cst.For, cst.CompFor))

    def is_run(self, node: cst.CSTNode) -> bool:
        """Whether a string is, or is part of, a command that is started."""
        call = self.names.enclosing(node, cst.Call)
        return call is not None and (dotted(call.func) or "").rpartition(".")[2] in _RUNNERS

    def visit_Arg(self, node: cst.Arg) -> None:
        """``dict(os.environ, CUDA_VISIBLE_DEVICES="0")``, ``env.update(NCCL_DEBUG="INFO")``."""
        if node.keyword is None or node.keyword.value not in self.rows:
            return
        call = self.names.parents[node]
        if isinstance(call, cst.Call) and self.makes_environment(call):
            self.decide(node, node.keyword.value, self.spans[node.keyword])

    def decide(self, node: cst.CSTNode, name: str, span: Span) -> None:
        rule, row = self.rows[name]
        if not row.to:
            self.unit.report(rule.code, node, span=span, note=row.note)
        elif any(not carries_over(name, value) for value in self.values(node)):
            self.unit.report(OTHER_VALUE, node, span=span, note=row.note)
        else:
            self.unit.replace(rule.code, span, row.to, at=node, npu=False)

    # Where a string is the name of an environment variable

    def is_key(self, node: cst.SimpleString) -> bool:
        parent = self.names.parents[node]
        if isinstance(parent, cst.Index):
            subscript = self.names.enclosing(parent, cst.Subscript)
            return subscript is not None and self.is_environment(subscript.value)
        if isinstance(parent, cst.Comparison):
            return any(self.is_environment(target.comparator) for target in parent.comparisons)
        if isinstance(parent, cst.DictElement) and parent.key is node:
            return self.is_environment(self.names.parents[parent])
        call = self.names.parents.get(parent)
        if not isinstance(parent, cst.Arg) or not isinstance(call, cst.Call) or call.args[0] is not parent:
            return False
        name = (dotted(call.func) or "").rpartition(".")[2]
        if name in ("getenv", "putenv", "unsetenv", "setenv", "delenv"):
            return True
        return (
            name in _READERS and isinstance(call.func, cst.Attribute) and self.is_environment(call.func.value)
        )

    def is_environment(self, node: cst.CSTNode, depth: int = 0) -> bool:
        """Whether ``node`` is the environment, a copy of it, or a dict that becomes one."""
        if "os.environ" in self.names.qualified(node):
            return True
        if isinstance(node, cst.Call):
            return self.makes_environment(node)
        if isinstance(node, cst.Dict):
            return self.is_environment_dict(node)
        if isinstance(node, cst.Name) and depth < 5:
            values = [b.value for b in self.names.lookup(node) if b.value is not None]
            named = "env" in node.value.lower().split("_") or node.value.lower().endswith(("environ", "env"))
            return named or any(self.is_environment(value, depth + 1) for value in values)
        if isinstance(node, cst.Attribute):
            return node.attr.value in ("environ", "env", "env_vars")
        return False

    def makes_environment(self, call: cst.Call) -> bool:
        """Whether ``call`` is ``os.environ.copy()``, ``dict(os.environ, …)``, ``env.update(…)`` …"""
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in ("copy", "update"):
            return self.is_environment(call.func.value)
        return any(
            arg.keyword is None and "os.environ" in self.names.qualified(arg.value) for arg in call.args
        )

    def is_environment_dict(self, node: cst.Dict) -> bool:
        """A dict with ``**os.environ`` in it, or one that is given to ``env=`` or to the environment."""
        if any(isinstance(e, cst.StarredDictElement) and self.is_environment(e.value) for e in node.elements):
            return True
        parent = self.names.parents[node]
        if isinstance(parent, cst.Arg):
            if parent.keyword is not None:
                return parent.keyword.value in ("env", "environ", "env_vars")
            call = self.names.parents[parent]
            return isinstance(call, cst.Call) and self.makes_environment(call)
        if isinstance(parent, cst.Assign):
            name = (dotted(parent.targets[0].target) or "").rpartition(".")[2]
            return name.lower().endswith(("env", "environ", "env_vars"))
        return False

    # Values

    def values(self, node: cst.CSTNode) -> Iterator[str]:
        """Yield the literal values that the variable is set to, or falls back to, at ``node``."""
        if isinstance(node, cst.Arg):
            yield from _literal(node.value)
            return
        parent = self.names.parents[node]
        if isinstance(parent, cst.Index):
            assign = self.names.enclosing(parent, cst.Assign)
            if assign is not None:
                yield from _literal(assign.value)
        elif isinstance(parent, cst.DictElement):
            yield from _literal(parent.value)
        elif isinstance(parent, cst.Arg):
            call = self.names.parents[parent]
            if isinstance(call, cst.Call) and len(call.args) > 1:
                yield from _literal(call.args[1].value)

    # Programs

    def visit_Call(self, node: cst.Call) -> None:
        """A program of NVIDIA's that is started."""
        if (dotted(node.func) or "").rpartition(".")[2] not in _RUNNERS or not node.args:
            return
        first = node.args[0].value
        if isinstance(first, (cst.List, cst.Tuple)) and first.elements:
            first = first.elements[0].value
        command = string_value(first)
        if command is not None and re.match(r"(\S*/)?nvidia-smi\b|(\S*/)?nvcc\b|(\S*/)?nsys\b", command):
            self.unit.report(TOOL, first)


def _literal(node: cst.CSTNode) -> Iterator[str]:
    value = string_value(node)
    if value is not None:
        yield value
