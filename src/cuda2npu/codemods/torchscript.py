"""Code that TorchScript compiles, which knows no ``.npu()`` and no ``.is_npu``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.unit import Unit

_COMPILES = {"torch.jit.script", "torch.jit.script_method", "torch.jit.export", "torch.jit.script_if_tracing"}
# What binds less tightly than a comparison.
_LOOSE = (
    cst.Arg, cst.Assert, cst.Assign, cst.BooleanOperation, cst.If, cst.IfExp, cst.Return, cst.UnaryOperation,
)  # fmt: skip


class TorchScript:
    """Renames members of tensors and modules as TorchScript can take it."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.names = unit.names
        self.spans = unit.spans

    def rename(self, node: cst.Attribute, code: str, name: str) -> None:
        """Rename the attribute under the rule ``code``: to ``name``, or to what does the same."""
        if not self.compiles(node):
            self.unit.replace(code, self.spans[node.attr], name, at=node)
        elif name == "is_npu":
            start, end = self.spans[node]
            if not self.stands_alone(node):
                self.unit.replace(code, Span(start, start), "(", at=node, npu=False, site=False)
                self.unit.replace(code, Span(end, end), ")", at=node, npu=False, site=False)
            self.unit.replace(code, self.spans[node.attr], 'device.type == "npu"', at=node)
        else:
            self.rename_call(node, code)

    def compiles(self, node: cst.CSTNode) -> bool:
        """Whether the code is compiled by TorchScript."""
        for owner in self.names.ancestors(node):
            if isinstance(owner, (cst.FunctionDef, cst.ClassDef)):
                if owner in self.scripted:
                    return True
                decorators = (decorator.decorator for decorator in owner.decorators)
                functions = (d.func if isinstance(d, cst.Call) else d for d in decorators)
                if any(name in _COMPILES for f in functions for name in self.names.qualified(f)):
                    return True
        return False

    @cached_property
    def scripted(self) -> set[cst.CSTNode]:
        """The functions and classes of this file that are given to ``torch.jit.script``."""
        found: set[cst.CSTNode] = set()
        for call in self.names.nodes(cst.Call):
            if call.args and self.names.qualified(call.func) & _COMPILES:
                given = call.args[0].value
                given = given.func if isinstance(given, cst.Call) else given
                found.update(self.made_by(given))
        return found

    def made_by(self, given: cst.BaseExpression) -> Iterator[cst.CSTNode]:
        """Yield the function or class that a name means, or the class whose object a variable is."""
        for binding in self.names.lookup(given) if isinstance(given, cst.Name) else ():
            yield binding.node
            if isinstance(binding.value, cst.Call) and binding.value.func is not given:
                yield from self.made_by(binding.value.func)

    def stands_alone(self, node: cst.Attribute) -> bool:
        """Whether a comparison may take the place of ``node`` without brackets."""
        return isinstance(self.names.parents[node], _LOOSE)

    def rename_call(self, node: cst.Attribute, code: str) -> None:
        """``x.cuda()``: ``x.to("npu")``."""
        call = self.names.parents[node]
        if not isinstance(call, cst.Call) or call.args:
            self.unit.replace(code, self.spans[node.attr], "npu", at=node, unsafe=True)
            return
        span = Span(self.spans[node.attr].start, self.spans[call].end)
        self.unit.replace(code, span, 'to("npu")', at=node)
