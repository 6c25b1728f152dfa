"""``.cuda()``: torch's own is renamed, and the program's own one moves with its definition."""

from __future__ import annotations

import re

import libcst as cst

from cuda2npu.catalog.versions import holds
from cuda2npu.codemods.base import Codemod
from cuda2npu.codemods.own_members import OwnMembers
from cuda2npu.codemods.torchscript import TorchScript
from cuda2npu.rewrite.kinds import Kind, Known
from cuda2npu.rewrite.members import assigns_data
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import argument, dotted, string_value
from cuda2npu.rewrite.unit import Unit

RULE = "NPU002"
DEVICE_IGNORED = "NPU016"
# nn.Module.npu(device) ignores its argument in the wheels of 2.1 to 2.6, 2.8 and 2.9 (utils/_module.py).
MODULE_TAKES_NUMBER = ">=2.7, !=2.8, !=2.9"
_MOCKED = re.compile(r"return_value$|side_effect$|assert_|call")  # model.cuda.assert_called_once()
_MAKE_FUNCTION = {"MethodType", "partial", "Mock", "MagicMock"}


class Method(Codemod):
    """Decides about every attribute called ``cuda`` that is no module's member."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.own = OwnMembers(unit)
        self.script = TorchScript(unit)

    def visit_Attribute(self, node: cst.Attribute) -> None:
        if node.attr.value == "cuda":
            self.decide(node)

    def decide(self, node: cst.Attribute) -> None:
        targets = self.names.qualified(node)
        if any(target.startswith("torch.") for target in targets):
            return  # torch.cuda itself, and torch.Tensor.cuda, are dotted names
        if targets and not self.own.is_method(targets):
            self.unit.keep(node.attr, "foreign-module")
            return
        parent = self.names.parents[node]
        known = self.unit.kinds.of(node.value)
        if self.own.is_method(targets) or self.is_given_function(node):
            self.script.rename(node, RULE, "npu")
        elif isinstance(parent, cst.Call) and parent.func is node:
            self.decide_call(node, known)
        elif self.replaces_method(node, known) or self.reads_method(node, known):
            self.script.rename(node, RULE, "npu")
        elif isinstance(parent, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign)):
            self.unit.keep(node.attr, "own-member")
        else:
            self.unit.keep(node.attr, "flag")

    def decide_call(self, node: cst.Attribute, known: Known) -> None:
        member = self.own.of(node, known, "cuda")
        if known.kind in (Kind.FOREIGN, Kind.MODULE):
            self.unit.keep(node.attr, "foreign-object")
        elif member is not None and not member.moves:
            self.unit.keep(node.attr, "own-member")
        elif member is None and known.kind is Kind.OWN:
            self.unit.keep(node.attr, "own-object")
        elif member is None and self.takes_device(node):
            self.move_with_to(node)
        else:
            self.script.rename(node, RULE, "npu")
            if member is None:
                self.check_number(node)

    def takes_device(self, node: cst.Attribute) -> bool:
        """Whether ``.cuda(…)`` is given a device, and no number: nn.Module.npu takes numbers only."""
        call = self.names.parents[node]
        arg = argument(call, 0, "device") if isinstance(call, cst.Call) else None
        if arg is None or self.is_storage(node.value):
            return False
        value = arg.value
        if isinstance(value, (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)):
            return True
        return self.is_device_object(value) or self.is_made_of_text(value)

    def is_made_of_text(self, value: cst.BaseExpression) -> bool:
        """Whether a value is a device's name: put together, or a variable that is given one here."""
        if isinstance(value, cst.BinaryOperation):
            return string_value(value.left) is not None
        if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute):
            return string_value(value.func.value) is not None  # "cuda:{}".format(i)
        cells = self.unit.devices.cells
        cell = cells.of(value)
        texts = (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)
        return cell is not None and any(isinstance(given, texts) for given in cells.values(cell))

    def is_storage(self, node: cst.BaseExpression) -> bool:
        return "storage" in self.spans.text(node)

    def move_with_to(self, node: cst.Attribute) -> None:
        """``.cuda("cuda:0")`` to ``.to("npu:0")``, which modules and tensors both take."""
        call = self.names.parents[node]
        assert isinstance(call, cst.Call)
        if not self.unit.replace(RULE, self.spans[node.attr], "to", at=node):
            return
        if len(call.args) > 1 and call.args[1].keyword is None and not call.args[1].star:
            start = self.spans.whole(call.args[1].value).start
            self.unit.replace(RULE, Span(start, start), "non_blocking=", at=node, site=False)

    def check_number(self, node: cst.Attribute) -> None:
        """Tell where the target's modules ignore the number that they are given."""
        call = self.names.parents[node]
        if not isinstance(call, cst.Call) or holds(MODULE_TAKES_NUMBER, self.unit.version):
            return
        arg = argument(call, 0, "device")
        if arg is not None and not self.is_storage(node.value):
            self.unit.report(DEVICE_IGNORED, arg)

    def is_given_function(self, node: cst.Attribute) -> bool:
        """``net.cuda = lambda: net``: what is called in place of the method."""
        target = self.names.parents[node]
        assign = self.names.parents.get(target)
        if not isinstance(target, cst.AssignTarget) or not isinstance(assign, cst.Assign):
            return False
        value = assign.value
        if isinstance(node.value, cst.Name) and node.value.value == "self":
            return False  # a member of the class itself
        if isinstance(value, cst.Call):
            return (dotted(value.func) or "").rpartition(".")[2] in _MAKE_FUNCTION
        bindings = self.names.lookup(value) if isinstance(value, cst.Name) else ()
        return isinstance(value, cst.Lambda) or any(isinstance(b.node, cst.FunctionDef) for b in bindings)

    def reads_method(self, node: cst.Attribute, known: Known) -> bool:
        """Whether ``x.cuda``, without a call, is the method: torch's, or one of the program's own."""
        if isinstance(self.names.parents[node], (cst.AssignTarget, cst.AnnAssign, cst.AugAssign)):
            return False
        member = self.own.of(node, known, "cuda")
        if member is None and isinstance(node.value, cst.Name):
            member = self.own.of_class(node.value.value, "cuda")  # Crate.cuda, taken from the class
        if member is not None:
            return member.moves
        parent = self.names.parents[node]
        if isinstance(node.value, cst.Call) and dotted(node.value.func) == "super":
            return True
        is_mock = isinstance(parent, cst.Attribute) and _MOCKED.match(parent.attr.value) is not None
        return known.kind is Kind.TORCH or is_mock or self.stands_beside_cpu(node)

    def stands_beside_cpu(self, node: cst.Attribute) -> bool:
        """Whether the same choice offers ``x.cpu``: then both are methods."""
        parent = self.names.parents[node]
        if not isinstance(parent, cst.IfExp) or node is parent.test:
            return False
        other = parent.orelse if parent.body is node else parent.body
        return isinstance(other, cst.Attribute) and other.attr.value == "cpu"

    def replaces_method(self, node: cst.Attribute, known: Known) -> bool:
        """Whether ``node`` takes part in ``x.cuda = wrap(x.cuda)``: both sides move.

        ``args.cuda = bool(args.cuda)`` has the same form: the object must visibly have the method.
        """
        statement = self.names.enclosing(node, cst.Assign)
        if statement is None or not (known.kind is Kind.TORCH or self.is_called(node)):
            return False
        return any(
            isinstance(target.target, cst.Attribute)
            and target.target.deep_equals(node)
            and not assigns_data(target.target, self.names)
            for target in statement.targets
        )

    def is_called(self, node: cst.Attribute) -> bool:
        """Whether the same member of the same object is called somewhere in the file."""
        for attribute in self.names.attributes[node.attr.value]:
            call = self.names.parents[attribute]
            if isinstance(call, cst.Call) and call.func is attribute and attribute.deep_equals(node):
                return True
        return False
