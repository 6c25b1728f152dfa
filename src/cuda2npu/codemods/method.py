"""``.cuda()`` and ``.is_cuda``: torch's own are renamed, and the program's own ones move with them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

import libcst as cst

from cuda2npu.catalog.versions import holds
from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.kinds import Kind, Known
from cuda2npu.rewrite.members import COUNTERPART, Member, assigns_data, class_members
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import argument, dotted, string_value
from cuda2npu.rewrite.unit import Unit

CUDA = "NPU002"
IS_CUDA = "NPU005"
OWN_CUDA = "NPU009"
DEVICE_IGNORED = "NPU016"
# nn.Module.npu(device) ignores its argument in the wheels of 2.1 to 2.6, 2.8 and 2.9 (utils/_module.py).
MODULE_TAKES_NUMBER = ">=2.7, !=2.8, !=2.9"
_SCRIPTED = {"torch.jit.script", "torch.jit.script_method", "torch.jit.export", "torch.jit.script_if_tracing"}
_MOCKED = re.compile(r"return_value$|side_effect$|assert_|call")  # model.cuda.assert_called_once()
_MAKE_FUNCTION = {"MethodType", "partial", "Mock", "MagicMock"}
_SETTINGS = {
    "self",
    "ctx",
    "cfg",
    "config",
    "args",
    "opt",
    "opts",
    "options",
    "params",
    "hparams",
    "state",
    "settings",
}


class Method(Codemod):
    """Decides about every attribute called ``cuda`` or ``is_cuda`` that is no module's member."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.members: dict[tuple[str, str], Member] = {}
        for member in (*unit.index.members, *class_members(unit.names)):
            self.members[member.owner, member.name] = member
        self.has_own_flag = any(m.name == "is_cuda" and m.kind == "data" for m in self.members.values())

    def visit_Attribute(self, node: cst.Attribute) -> None:
        if node.attr.value == "cuda":
            self.decide_cuda(node)
        elif node.attr.value == "is_cuda":
            self.decide_is_cuda(node)

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        """A program's own ``def cuda`` is renamed, as every call of it is."""
        for name, new in COUNTERPART.items():
            bindings = [b for b in self.names.scopes[node].bindings.get(name, ()) if b.kind != "import"]
            if not bindings:
                continue
            moves = self.members[node.name.value, name].moves
            defined = [b.node.name if isinstance(b.node, cst.FunctionDef) else b.node for b in bindings]
            for place in (*defined, *self.names.references(bindings[0])) if moves else ():
                self.unit.replace(OWN_CUDA, self.spans[place], new, at=place, npu=False)
            if not moves:
                for place in defined:
                    self.unit.keep(place, "own-member", OWN_CUDA)

    # .cuda

    def decide_cuda(self, node: cst.Attribute) -> None:
        targets = self.names.qualified(node)
        if any(target.startswith("torch.") for target in targets):
            return  # torch.cuda itself, and torch.Tensor.cuda, are dotted names
        if targets and not self.is_own_method(targets):
            self.unit.keep(node.attr, "foreign-module")
            return
        parent = self.names.parents[node]
        known = self.unit.kinds.of(node.value)
        if self.is_own_method(targets) or self.is_given_function(node):
            self.rename(node, CUDA, "npu")
        elif isinstance(parent, cst.Call) and parent.func is node:
            self.decide_call(node, known)
        elif self.replaces_method(node, known) or self.reads_method(node, known):
            self.rename(node, CUDA, "npu")
        elif isinstance(parent, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign)):
            self.unit.keep(node.attr, "own-member")
        else:
            self.unit.keep(node.attr, "flag")

    def decide_call(self, node: cst.Attribute, known: Known) -> None:
        member = self.member_of(node, known, "cuda")
        if known.kind in (Kind.FOREIGN, Kind.MODULE):
            self.unit.keep(node.attr, "foreign-object")
        elif member is not None and not member.moves:
            self.unit.keep(node.attr, "own-member")
        elif member is None and known.kind is Kind.OWN:
            self.unit.keep(node.attr, "own-object")
        elif member is None and self.takes_device(node):
            self.move_with_to(node)
        else:
            self.rename(node, CUDA, "npu")
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
        if not self.unit.replace(CUDA, self.spans[node.attr], "to", at=node):
            return
        if len(call.args) > 1 and call.args[1].keyword is None and not call.args[1].star:
            start = self.spans.whole(call.args[1].value).start
            self.unit.replace(CUDA, Span(start, start), "non_blocking=", at=node, site=False)

    def check_number(self, node: cst.Attribute) -> None:
        """Tell where the target's modules ignore the number that they are given."""
        call = self.names.parents[node]
        if not isinstance(call, cst.Call) or holds(MODULE_TAKES_NUMBER, self.unit.version):
            return
        arg = argument(call, 0, "device")
        if arg is not None and not self.is_storage(node.value):
            self.unit.report(DEVICE_IGNORED, arg)

    def member_of(self, node: cst.Attribute, known: Known, name: str) -> Member | None:
        """Return the program's own member that ``node`` means, if its class is in sight."""
        owner = known.owner or self.class_around(node) or self.class_elsewhere(node)
        return self.members.get((owner, name))

    def class_elsewhere(self, node: cst.Attribute) -> str:
        """Return the class, imported from another file of the project, that the receiver was made by."""
        for binding in self.names.lookup(node.value) if isinstance(node.value, cst.Name) else ():
            if isinstance(binding.value, cst.Call):
                for target in self.names.qualified(binding.value.func):
                    if self.is_of_project(target):
                        return target.rpartition(".")[2]
        return ""

    def class_around(self, node: cst.Attribute) -> str:
        """Return the class whose ``self`` (or ``cls``) the attribute is taken from."""
        if isinstance(node.value, cst.Name) and node.value.value in ("self", "cls"):
            around = self.names.enclosing(node, cst.ClassDef)
            return around.name.value if around is not None else ""
        return ""

    def is_own_method(self, targets: Iterable[str]) -> bool:
        """Whether a dotted name is a method that a class in another file of the project has."""
        for target in targets:
            module, _, name = target.rpartition(".")
            member = self.members.get((module.rpartition(".")[2], name))
            if member is not None and member.moves and self.is_of_project(target):
                return True
        return False

    def is_of_project(self, target: str) -> bool:
        return target.startswith(".") or self.unit.index.is_own(self.unit.path, target.partition(".")[0])

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
        member = self.member_of(node, known, "cuda")
        if member is None and isinstance(node.value, cst.Name):
            member = self.members.get((node.value.value, "cuda"))  # Crate.cuda, taken from the class
        if member is not None:
            return member.moves
        parent = self.names.parents[node]
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

    # .is_cuda

    def decide_is_cuda(self, node: cst.Attribute) -> None:
        if self.names.qualified(node):
            return
        parent = self.names.parents[node]
        known = self.unit.kinds.of(node.value)
        member = self.member_of(node, known, "is_cuda")
        own = self.is_own_flag(node) if member is None else not member.moves
        if own or self.is_given_by_keyword(node) or isinstance(parent, (cst.AssignTarget, cst.AnnAssign)):
            self.unit.keep(node.attr, "own-member")
        elif known.kind in (Kind.FOREIGN, Kind.OWN, Kind.MODULE):
            self.unit.keep(node.attr, "foreign-object")
        else:
            self.rename(node, IS_CUDA, "is_npu")

    def is_own_flag(self, node: cst.Attribute) -> bool:
        """Whether ``node`` reads a flag of the program's own: set in this file, or in some settings."""
        receiver = self.spans.text(node.value)
        if self.has_own_flag and receiver.rpartition(".")[2] in _SETTINGS:
            return True
        targets = (self.names.parents[attribute] for attribute in self.names.attributes["is_cuda"])
        return any(
            isinstance(t, cst.AssignTarget) and self.spans.text(t.target) == f"{receiver}.is_cuda"
            for t in targets
        )

    def is_given_by_keyword(self, node: cst.Attribute) -> bool:
        """Whether the receiver was made by a call that names the attribute: ``Opts(is_cuda=…)``."""
        if not isinstance(node.value, cst.Name):
            return False
        for binding in self.names.lookup(node.value):
            call = binding.value
            if isinstance(call, cst.Call):
                return any(
                    arg.keyword is not None and arg.keyword.value == node.attr.value for arg in call.args
                )
        return False

    def rename(self, node: cst.Attribute, code: str, name: str) -> None:
        if not self.in_torchscript(node):
            self.unit.replace(code, self.spans[node.attr], name, at=node)
        elif code == IS_CUDA:
            self.unit.replace(
                code,
                self.spans[node.attr],
                'device.type == "npu"',
                at=node,
                unsafe=not self.stands_alone(node),
            )
        else:
            self.script_call(node)

    def in_torchscript(self, node: cst.CSTNode) -> bool:
        """Whether the code is compiled by TorchScript, which knows no ``.npu()`` and no ``.is_npu``."""
        for owner in self.names.ancestors(node):
            if isinstance(owner, (cst.FunctionDef, cst.ClassDef)):
                if owner in self.scripted:
                    return True
                decorators = (decorator.decorator for decorator in owner.decorators)
                functions = (d.func if isinstance(d, cst.Call) else d for d in decorators)
                if any(name in _SCRIPTED for f in functions for name in self.names.qualified(f)):
                    return True
        return False

    @cached_property
    def scripted(self) -> set[cst.CSTNode]:
        """The functions and classes of this file that are given to ``torch.jit.script``."""
        found: set[cst.CSTNode] = set()
        for call in self.names.nodes(cst.Call):
            if call.args and self.names.qualified(call.func) & _SCRIPTED:
                given = call.args[0].value
                given = given.func if isinstance(given, cst.Call) else given
                if isinstance(given, cst.Name):
                    found.update(binding.node for binding in self.names.lookup(given))
        return found

    def stands_alone(self, node: cst.Attribute) -> bool:
        """Whether a comparison may take the place of ``node`` without brackets."""
        return isinstance(
            self.names.parents[node],
            (cst.If, cst.IfExp, cst.BooleanOperation, cst.Assert, cst.Assign, cst.Return),
        )

    def script_call(self, node: cst.Attribute) -> None:
        """``x.cuda()`` in TorchScript: ``x.to("npu")``."""
        call = self.names.parents[node]
        if not isinstance(call, cst.Call) or call.args:
            self.unit.replace(CUDA, self.spans[node.attr], "npu", at=node, unsafe=True)
            return
        span = Span(self.spans[node.attr].start, self.spans[call].end)
        self.unit.replace(CUDA, span, 'to("npu")', at=node)
