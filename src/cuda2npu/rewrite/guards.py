"""Code that handles the NPU already: its branch for CUDA is right as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from cuda2npu.rewrite.flow.cells import Cells
from cuda2npu.rewrite.names import Names
from cuda2npu.rewrite.spans import Spans
from cuda2npu.rewrite.tree import dotted

_NPU = re.compile(r"(?<![a-zA-Z])(?:npu|hccl|privateuse1)(?![a-zA-Z])|privateuse1_backend", re.I)
_MAKER = re.compile(r"npu|cuda|gpu|hccl|nccl", re.I)
_FLAG_DEPTH = 3


class Guards:
    """Tells whether the alternatives beside a node include one for the NPU."""

    def __init__(self, names: Names, spans: Spans, cells: Cells, text: str) -> None:
        self.names = names
        self.spans = spans
        self.cells = cells
        self.possible = _NPU.search(text) is not None

    def has_npu_branch(self, node: cst.CSTNode, depth: int = 0) -> bool:
        """Whether ``node`` is one of several alternatives, another of which is the NPU's.

        Alternatives are the branches of an ``if`` chain, of ``if`` statements in a row or of a ``match``,
        the sides of a conditional expression or of an ``or``, the entries of a tuple, list, set or dict,
        and the handlers of a ``try`` that imports torch_npu. A value that is assigned belongs to where
        the variable is tested, and a comparison to the other comparisons of the same value.
        """
        if not self.possible:
            return False
        child: cst.CSTNode = node
        for parent in self.names.ancestors(node):
            if any(self._mentions_npu(other) for other in self._alternatives(child, parent)):
                return True
            if isinstance(parent, cst.If) and child is parent.body and self._is_cudas_own(parent.test):
                return True
            if isinstance(parent, (cst.FunctionDef, cst.ClassDef)):
                return False
            is_value = isinstance(parent, cst.Assign) and child is parent.value and depth < _FLAG_DEPTH
            if is_value and self._decides_beside_npu(parent, depth):
                return True
            child = parent
        return False

    def is_replaced(self, node: cst.CSTNode) -> bool:
        """Whether ``node`` is the old word in ``name.replace("cuda", "npu")``."""
        call = self.names.enclosing(node, cst.Call)
        return call is not None and (dotted(call.func) or "").endswith(".replace")

    def _mentions_npu(self, node: cst.CSTNode) -> bool:
        return _NPU.search(self.spans.text(node)) is not None

    def _decides_beside_npu(self, assign: cst.CSTNode, depth: int) -> bool:
        """Whether what is assigned is tested beside the NPU, or is the NPU's elsewhere."""
        assert isinstance(assign, cst.Assign)
        cell = self.cells.of(assign.targets[0].target)
        if cell is None:
            return False
        others = (value for value in self.cells.values(cell) if value is not assign.value)
        if any(isinstance(value, cst.SimpleString) and self._mentions_npu(value) for value in others):
            return True
        reads = [read for read in self.cells.reads(cell) if self._is_tested(read)]
        return any(self.has_npu_branch(read, depth + 1) for read in reads)

    def _is_cudas_own(self, test: cst.CSTNode) -> bool:
        """Whether a condition compares with CUDA what is compared with the NPU elsewhere, or may be it."""
        if isinstance(test, cst.BooleanOperation):
            return self._is_cudas_own(test.left) or self._is_cudas_own(test.right)
        if not isinstance(test, cst.Comparison) or _is_negative(test):
            return False
        return any(self._mentions_npu(other) for other in self._other_comparisons(test))

    def _is_tested(self, node: cst.CSTNode) -> bool:
        """Whether ``node`` is, or is part of, a condition."""
        child = node
        for parent in self.names.ancestors(node):
            if isinstance(parent, (cst.If, cst.IfExp)):
                return child is parent.test
            if not isinstance(parent, (cst.BooleanOperation, cst.UnaryOperation, cst.Comparison)):
                return False
            child = parent
        return False

    def _alternatives(self, child: cst.CSTNode, parent: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield what stands in ``parent``, or beside it, for the other cases than ``child``."""
        if isinstance(parent, cst.If):
            yield from (test for test in self._tests(parent) if test is not parent.test)
            yield from self._in_a_row(parent)
            if child is parent.body and _is_negative(parent.test):
                yield parent.test  # if device.type != "npu": …
        elif isinstance(parent, cst.Else):
            chain = self.names.parents[parent]
            if isinstance(chain, cst.If):
                yield from self._tests(chain)
        elif isinstance(parent, cst.ExceptHandler):
            attempt = self.names.parents[parent]
            if isinstance(attempt, cst.Try):
                yield attempt.body
        elif isinstance(parent, cst.IfExp):
            yield from (part for part in (parent.test, parent.body, parent.orelse) if part is not child)
        elif isinstance(parent, cst.BooleanOperation):
            yield parent.right if child is parent.left else parent.left
        elif isinstance(parent, (cst.Tuple, cst.List, cst.Set)):
            yield from (element.value for element in parent.elements if element is not child)
        elif isinstance(parent, cst.Dict):
            pairs = (e for e in parent.elements if isinstance(e, cst.DictElement) and e is not child)
            yield from (pair.key for pair in pairs)
        elif isinstance(parent, cst.Match):
            yield from (case.pattern for case in parent.cases if case is not child)
        elif isinstance(parent, cst.Comparison):
            yield from self._other_comparisons(parent)
        elif isinstance(parent, cst.Call) and (dotted(parent.func) or "").endswith(".replace"):
            yield from (arg.value for arg in parent.args if arg is not child)  # name.replace("cuda", "npu")

    def _tests(self, branch: cst.If) -> Iterator[cst.CSTNode]:
        """Yield the conditions of the whole ``if`` … ``elif`` chain that ``branch`` is part of."""
        chain: cst.CSTNode | None = self._head(branch)
        while isinstance(chain, cst.If):
            yield chain.test
            chain = chain.orelse

    def _head(self, branch: cst.If) -> cst.If:
        parent = self.names.parents[branch]
        while isinstance(parent, cst.If) and parent.orelse is branch:
            branch, parent = parent, self.names.parents[parent]
        return branch

    def _in_a_row(self, branch: cst.If) -> Iterator[cst.CSTNode]:
        """Yield the conditions of the ``if`` statements right before and right after that ask the same."""
        head = self._head(branch)
        block = self.names.parents[head]
        if not isinstance(block, (cst.IndentedBlock, cst.Module)):
            return
        statements = list(block.body)
        index = statements.index(head)
        for near in statements[max(index - 1, 0) : index + 2]:
            if isinstance(near, cst.If) and near is not head and self._asks_the_same(near, head):
                yield near.test

    def _asks_the_same(self, one: cst.If, other: cst.If) -> bool:
        """Whether two conditions differ in the device that they ask for, and in nothing else."""
        first, second = (_MAKER.sub("x", self.spans.text(branch.test)) for branch in (one, other))
        return first == second

    def _other_comparisons(self, comparison: cst.Comparison) -> Iterator[cst.CSTNode]:
        """Yield what else the same value is compared with in the same function, or set to."""
        cell = self.cells.of(comparison.left)
        if cell is not None and cell.kind == "variable":
            yield from (value for value in self.cells.values(cell) if isinstance(value, cst.SimpleString))
        subject = self.spans.text(comparison.left)
        function = self.names.enclosing(comparison, cst.FunctionDef)
        if isinstance(function, cst.FunctionDef):  # @pytest.mark.parametrize("device", ["cuda", "npu"])
            yield from (
                decorator for decorator in function.decorators if subject in self.spans.text(decorator)
            )
        for other in self.names.nodes(cst.Comparison):
            if other is comparison or self.spans.text(other.left) != subject:
                continue
            if self.names.enclosing(other, cst.FunctionDef) is function:
                yield from (target.comparator for target in other.comparisons)


def _is_negative(test: cst.BaseExpression) -> bool:
    """Whether a condition excludes what it names: ``!=``, ``not in``, ``not``, alone or in an ``and``."""
    if isinstance(test, cst.BooleanOperation):
        return _is_negative(test.left) or _is_negative(test.right)
    if isinstance(test, cst.Comparison):
        return any(isinstance(target.operator, (cst.NotEqual, cst.NotIn)) for target in test.comparisons)
    return isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not)
