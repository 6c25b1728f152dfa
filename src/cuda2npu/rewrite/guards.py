"""Code that handles the NPU already: its branch for CUDA is right as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from cuda2npu.rewrite.names import Names
from cuda2npu.rewrite.spans import Spans
from cuda2npu.rewrite.tree import children, dotted

_KERNEL = re.compile(r"(?:^|\.)(?:\w+_cuda|cuda_(?!is_available)\w+|\w*triton\w*)(?:\.|$)", re.I)
_NPU = re.compile(r"(?<![a-zA-Z])(?:npu|hccl)(?![a-zA-Z])", re.I)


class Guards:
    """Tells whether the alternatives beside a node include one for the NPU."""

    def __init__(self, names: Names, spans: Spans, text: str) -> None:
        self.names = names
        self.spans = spans
        self.possible = _NPU.search(text) is not None

    def has_npu_branch(self, node: cst.CSTNode) -> bool:
        """Whether ``node`` is one of several alternatives, another of which is the NPU's.

        Alternatives are the branches of an ``if`` chain or of a ``match``, the sides of a conditional
        expression or of an ``or``, and the entries of a tuple, list, set or dict.
        """
        if not self.possible:
            return False
        child: cst.CSTNode = node
        for parent in self.names.ancestors(node):
            if any(self._mentions_npu(other) for other in self._alternatives(child, parent)):
                return True
            if isinstance(parent, (cst.FunctionDef, cst.ClassDef)):
                return False
            child = parent
        return False

    def leads_to_kernel(self, node: cst.CSTNode) -> bool:
        """Whether ``node`` is part of a condition whose branch calls code that is made for CUDA.

        Such a branch (``if x.is_cuda: return median_cuda(x)``) fails on the NPU, where the other one may
        work: that the condition should be true there is a guess.
        """
        child: cst.CSTNode = node
        for parent in self.names.ancestors(node):
            if isinstance(parent, (cst.If, cst.IfExp)):
                return child is parent.test and any(self._is_kernel(call) for call in _calls(parent.body))
            if isinstance(parent, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
                return False
            child = parent
        return False

    def _is_kernel(self, call: cst.Call) -> bool:
        """Whether a function is called whose name says that it is a CUDA or Triton kernel."""
        name = dotted(call.func) or ""
        return not name.startswith("self.") and _KERNEL.search(name) is not None

    def _mentions_npu(self, node: cst.CSTNode) -> bool:
        return _NPU.search(self.spans.text(node)) is not None

    def _alternatives(self, child: cst.CSTNode, parent: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield what stands in ``parent`` for the other cases than ``child``."""
        if isinstance(parent, cst.If):
            yield from (test for test in self._tests(parent) if test is not parent.test)
        elif isinstance(parent, cst.Else):
            chain = self.names.parents[parent]
            if isinstance(chain, cst.If):
                yield from self._tests(chain)
        elif isinstance(parent, cst.IfExp):
            yield from (part for part in (parent.test, parent.body, parent.orelse) if part is not child)
        elif isinstance(parent, cst.BooleanOperation):
            yield parent.right if child is parent.left else parent.left
        elif isinstance(parent, (cst.Tuple, cst.List, cst.Set)):
            yield from (e.value for e in parent.elements if e is not child and _is_string(e.value))
        elif isinstance(parent, cst.Dict):
            pairs = (e for e in parent.elements if isinstance(e, cst.DictElement) and e is not child)
            yield from (e.key for e in pairs if _is_string(e.key))
        elif isinstance(parent, cst.Match):
            yield from (case.pattern for case in parent.cases if case is not child)
        elif isinstance(parent, cst.Call) and (dotted(parent.func) or "").endswith(".replace"):
            # name.replace("cuda", "npu")
            yield from (arg.value for arg in parent.args if arg is not child and _is_string(arg.value))

    def _tests(self, branch: cst.If) -> Iterator[cst.CSTNode]:
        """Yield the conditions of the whole ``if`` … ``elif`` chain that ``branch`` is part of."""
        parent = self.names.parents[branch]
        while isinstance(parent, cst.If) and parent.orelse is branch:
            branch, parent = parent, self.names.parents[parent]
        chain: cst.CSTNode | None = branch
        while isinstance(chain, cst.If):
            yield chain.test
            chain = chain.orelse


def _calls(node: cst.CSTNode) -> Iterator[cst.Call]:
    if isinstance(node, cst.Call):
        yield node
    for child in children(node):
        yield from _calls(child)


def _is_string(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.SimpleString)
