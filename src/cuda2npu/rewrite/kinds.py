"""What an expression visibly is: torch's, another library's, an object of the program's own class."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import Enum

import libcst as cst

from cuda2npu.rewrite.names import Names
from cuda2npu.rewrite.scopes import Binding, find_scope
from cuda2npu.rewrite.tree import children

# Python 3.9 doesn't list its standard library; these are the modules that matter here.
_STDLIB: frozenset[str] = getattr(sys, "stdlib_module_names", frozenset()) or frozenset(
    {
        "abc", "argparse", "ast", "asyncio", "base64", "bisect", "collections", "configparser",
        "contextlib", "copy", "csv", "ctypes", "dataclasses", "datetime", "enum", "fnmatch",
        "functools", "glob", "gzip", "hashlib", "heapq", "importlib", "inspect", "io", "itertools",
        "json", "logging", "math", "multiprocessing", "numbers", "operator", "os", "pathlib", "pickle",
        "platform", "pprint", "queue", "random", "re", "shlex", "shutil", "signal", "socket", "sqlite3",
        "statistics", "string", "struct", "subprocess", "sys", "tempfile", "textwrap", "threading",
        "time", "traceback", "types", "typing", "unittest", "urllib", "uuid", "warnings", "weakref",
        "zipfile",
    }
)  # fmt: skip
# Methods that return the object itself, as torch's modules have them.
_RETURN_SELF = {"cuda", "npu", "cpu", "to", "eval", "train", "half", "float", "double"}
_NOT_FOREIGN = {"typing", "functools", "multiprocessing", "concurrent", "contextlib"}


class Kind(Enum):
    """What is known about the value of an expression."""

    TORCH = "torch"  # a tensor, a module, or something else of torch
    FOREIGN = "foreign"  # belongs to a library with devices of its own
    OWN = "own"  # an object of a class that this file defines, and that isn't torch's
    MODULE = "module"  # an imported module or a member of one, torch's aside
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Known:
    """A kind, and for OWN and TORCH objects the name of their class, if it is one of this program's."""

    kind: Kind
    owner: str = ""


UNKNOWN = Known(Kind.UNKNOWN)


class Kinds:
    """Tells what expressions of one file visibly are.

    :param foreign: top-level names of packages whose devices and ``cuda`` members aren't torch's.
    """

    def __init__(self, names: Names, foreign: frozenset[str]) -> None:
        self.names = names
        self.foreign = foreign
        self._active: set[Binding | str] = set()  # what is being worked out: bindings, names of attributes

    def is_foreign(self, dotted_name: str) -> bool:
        """Whether a dotted name belongs to a library with devices of its own, or to Python."""
        root = dotted_name.partition(".")[0]
        return root in self.foreign or (root in _STDLIB and root not in _NOT_FOREIGN)

    def of(self, node: cst.CSTNode | None) -> Known:
        """Return what ``node`` visibly is."""
        if isinstance(node, cst.Call):
            return self._of_call(node)
        if isinstance(node, cst.Name):
            return self._of_name(node)
        if isinstance(node, cst.Attribute):
            return self._of_attribute(node)
        if isinstance(node, (cst.Subscript, cst.UnaryOperation, cst.Await)):
            inner = getattr(node, "value", None) or getattr(node, "expression", None)
            return self.of(inner)
        if isinstance(node, cst.BinaryOperation):
            left = self.of(node.left)
            return left if left.kind is Kind.TORCH else self.of(node.right)
        if isinstance(node, cst.IfExp):
            return self.of(node.body)
        return UNKNOWN

    def of_import(self, target: str) -> Known:
        """Return what an imported dotted name is."""
        root = target.partition(".")[0]
        if root in ("torch", "torch_npu"):
            return Known(Kind.TORCH)
        return Known(Kind.FOREIGN if root in self.foreign else Kind.MODULE)

    def _of_call(self, node: cst.Call) -> Known:
        for target in self.names.qualified(node.func):
            known = self.of_import(target)
            return UNKNOWN if known.kind is Kind.MODULE else known
        if isinstance(node.func, cst.Name):
            owner = self._class_named(node.func)
            if owner is not None:
                return self._instance_of(owner)
            return UNKNOWN
        if isinstance(node.func, cst.Attribute):
            receiver = self.of(node.func.value)
            if node.func.attr.value in _RETURN_SELF:
                return receiver
            # What a method of torch's or of a foreign object returns is mostly of the same library.
            return Known(receiver.kind) if receiver.kind in (Kind.TORCH, Kind.FOREIGN) else UNKNOWN
        return UNKNOWN

    def _of_name(self, node: cst.Name) -> Known:
        for binding in self.names.lookup(node):
            if binding in self._active:
                continue
            self._active.add(binding)
            try:
                known = self._of_binding(binding)
            finally:
                self._active.discard(binding)
            if known.kind is not Kind.UNKNOWN:
                return known
        return UNKNOWN

    def _of_binding(self, binding: Binding) -> Known:
        if binding.target is not None:
            return self.of_import(binding.target)
        if binding.kind == "assign":
            return self.of(binding.value)
        if binding.kind == "param" and isinstance(binding.node, cst.Param):
            annotation = binding.node.annotation
            if annotation is not None and any(
                target.startswith("torch.") for target in self.names.qualified(annotation.annotation)
            ):
                return Known(Kind.TORCH)
        return UNKNOWN

    def _of_attribute(self, node: cst.Attribute) -> Known:
        for target in self.names.qualified(node):
            return self.of_import(target)
        if isinstance(node.value, cst.Name) and node.value.value == "self":
            return self._of_own_attribute(node)
        receiver = self.of(node.value)
        return Known(receiver.kind) if receiver.kind in (Kind.TORCH, Kind.FOREIGN) else UNKNOWN

    def _of_own_attribute(self, node: cst.Attribute) -> Known:
        """``self.net`` is what is assigned to it, if that is the same everywhere in the file."""
        name = node.attr.value
        if name in self._active:
            return UNKNOWN
        self._active.add(name)
        try:
            return self._assigned_to(name)
        finally:
            self._active.discard(name)

    def _assigned_to(self, name: str) -> Known:
        found: set[Known] = set()
        for attribute in self.names.attributes[name]:
            target = self.names.parents[attribute]
            assign = self.names.parents.get(target)
            if isinstance(target, cst.AssignTarget) and isinstance(assign, cst.Assign):
                if any(attribute.deep_equals(part) for part in _attributes_in(assign.value)):
                    continue  # self.net = self.net.cuda() says nothing new
                found.add(self.of(assign.value))
        return found.pop() if len(found) == 1 else UNKNOWN

    def _class_named(self, node: cst.Name) -> cst.ClassDef | None:
        for binding in self.names.lookup(node):
            if isinstance(binding.node, cst.ClassDef):
                return binding.node
        return None

    def _instance_of(self, node: cst.ClassDef) -> Known:
        if "__getattr__" in self.names.scopes[node].bindings:  # it may hand on to an object of torch's
            return UNKNOWN
        kind = Kind.TORCH if self.is_torch_class(node) else Kind.OWN
        if kind is Kind.OWN and not self._bases_known(node):
            kind = Kind.UNKNOWN
        return Known(kind, node.name.value)

    def is_torch_class(self, node: cst.ClassDef, depth: int = 0) -> bool:
        """Whether a class of this file derives from a class of torch."""
        for base in node.bases:
            if any(target.startswith("torch.") for target in self.names.qualified(base.value)):
                return True
            own = self._class_named(base.value) if isinstance(base.value, cst.Name) else None
            if own is not None and own is not node and depth < 20 and self.is_torch_class(own, depth + 1):
                return True
        return False

    def _bases_known(self, node: cst.ClassDef) -> bool:
        """Whether all bases are Python's own or classes of this file."""
        for base in node.bases:
            targets = self.names.qualified(base.value)
            builtin = (
                isinstance(base.value, cst.Name)
                and find_scope(self.names.scope_at(node), base.value.value) is None
            )
            own = isinstance(base.value, cst.Name) and self._class_named(base.value) is not None
            if not (builtin or own or any(t.partition(".")[0] in _STDLIB for t in targets)):
                return False
        return True


def _attributes_in(node: cst.CSTNode) -> list[cst.Attribute]:
    found = [node] if isinstance(node, cst.Attribute) else []
    for child in children(node):
        found += _attributes_in(child)
    return found
