"""What a call does with a value that it is given."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from cuda2npu.rewrite.flow.cells import LOOKUPS, Cell, last_name, option_name
from cuda2npu.rewrite.flow.uses import Use
from cuda2npu.rewrite.kinds import Kind
from cuda2npu.rewrite.tree import dotted, parameters, string_value

if TYPE_CHECKING:
    from cuda2npu.rewrite.flow.flow import Flow

# Methods of strings whose result is still the same device, and those that ask about it.
SAME_TEXT = {"format", "lower", "upper", "strip", "lstrip", "rstrip", "replace", "casefold", "removeprefix"}
ASKS = {
    "startswith", "endswith", "find", "index", "count", "split", "rsplit", "partition", "rpartition",
    "removesuffix", "__contains__",
}  # fmt: skip
# Functions that hand on what they are given.
TRANSPARENT = {
    "str",
    "list",
    "tuple",
    "set",
    "frozenset",
    "sorted",
    "iter",
    "next",
    "reversed",
    "cast",
    "Choice",
    "param",
}
# Functions that declare a field or an option by being assigned to it: what is given first is its default.
_DECLARE = {"field", "Field", "attrib", "ib", "Option", "Argument"}
_ASSERTS = {"assertEqual", "assertNotEqual", "assertIn", "assertNotIn", "assert_equal"}
_OPTION_PARTS = {"default", "const", "choices", "type", "nargs"}


class Given(NamedTuple):
    """A value that is given to a call, and how."""

    arg: cst.Arg
    call: cst.Call
    position: int | None
    keyword: str | None


class Calls:
    """Tells, for one flow, what calls do with their arguments."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.names = flow.names
        self.cells = flow.cells
        self.topic = flow.topic

    def use_of(self, arg: cst.Arg, call: cst.Call) -> Use:
        """Return what ``call`` uses the value of ``arg`` as."""
        if arg.star:
            return Use.UNKNOWN
        keyword = arg.keyword.value if arg.keyword is not None else None
        given = Given(arg, call, None if keyword is not None else call.args.index(arg), keyword)
        targets = self.names.qualified(call.func)
        about_text = isinstance(call.func, cst.Attribute) and call.func.attr.value in ASKS | SAME_TEXT
        if targets and not about_text:
            return max(self._by_import(target, given) for target in targets)
        if isinstance(call.func, cst.Name):
            return self._by_name(call.func, given)
        if isinstance(call.func, cst.Attribute):
            return self._by_method(call.func, given)
        return self._named(keyword)

    def _named(self, keyword: str | None) -> Use:
        return Use.NAMED if keyword is not None and self.flow.says(keyword) else Use.UNKNOWN

    def _member(self, name: str | None) -> Use:
        return self.flow.of_cell(Cell("member", name)) if name else Use.UNKNOWN

    def _by_import(self, target: str, given: Given) -> Use:
        """A function that was imported."""
        root, name = target.partition(".")[0], target.rpartition(".")[2]
        keyword = self._named(given.keyword) or (target == "torch.device" and given.keyword == "type")
        if self.topic.takes(target, given.position) and (given.keyword is None or keyword):
            return Use.PROVEN
        if root == "torch":
            return Use.PROVEN if self._named(given.keyword) else Use.UNKNOWN
        if root == "os" and name in LOOKUPS:
            return self._looked_up(given)
        if target in ("click.option", "click.argument"):
            return self._member(option_name(given.call)) if given.keyword in _OPTION_PARTS else Use.UNKNOWN
        if name.startswith("DEFINE_") and given.position != 0:  # absl: the first argument is the name
            return self._member(string_value(given.call.args[0].value))
        if name == "parametrize" and given.position == 1:
            return self._parametrized(given.call)
        if name == "fixture" and given.keyword == "params":
            function = self.names.enclosing(given.call, cst.FunctionDef)
            return self._named(function.name.value) if function is not None else Use.UNKNOWN
        if name in _DECLARE and (given.position == 0 or given.keyword in ("default", "default_factory")):
            return self.flow.use_of(given.call)
        if name in TRANSPARENT:
            return self.flow.use_of(given.call)
        if root in self.flow.kinds.foreign:
            return Use.OTHER
        if target == "functools.partial":
            return self._named(given.keyword)
        if self.flow.kinds.is_foreign(target):
            return self._member(given.keyword)
        if given.keyword is not None:
            return self._named(given.keyword)
        parameter = self.flow.parameter_of(target, given.position or 0)
        return Use.GUESS if parameter is None else self._named(parameter)

    def _by_name(self, func: cst.Name, given: Given) -> Use:
        """A function or class of this file, or one of Python's own."""
        for binding in self.names.lookup(func):
            if isinstance(binding.node, cst.ClassDef):
                return self._by_class(binding.node, given)
            if isinstance(binding.node, cst.FunctionDef):
                return self._by_parameter(binding.node, given, bound=False)
            return self._named(given.keyword)
        if func.value == "getattr":
            return self._looked_up(given, key=1) if given.position == 2 else Use.UNKNOWN
        if func.value == "dict" and given.keyword is not None:
            return max(self._member(given.keyword), self.flow.tables.values_of(given.call))
        if func.value in TRANSPARENT:
            return self.flow.use_of(given.call)
        if given.keyword is None and not hasattr(builtins, func.value):
            return Use.GUESS  # from a star import
        return self._named(given.keyword)

    def _by_class(self, node: cst.ClassDef, given: Given) -> Use:
        bindings = self.names.scopes[node].bindings
        for binding in bindings.get("__init__", ()):
            if isinstance(binding.node, cst.FunctionDef):
                return self._by_parameter(binding.node, given, bound=True)
        # A dataclass or a named tuple.
        fields = [b[0].name for b in bindings.values() if not isinstance(b[0].node, cst.FunctionDef)]
        if given.position is not None:
            return self._member(fields[given.position] if given.position < len(fields) else None)
        return self._member(given.keyword)

    def _by_method(self, func: cst.Attribute, given: Given) -> Use:
        name = func.attr.value
        if name in ASKS or (name in SAME_TEXT and name != "format"):
            return self.flow.source(func.value)
        if name == "format" and (string_value(func.value) or "").startswith(("{}", "{0}")):
            return self.flow.use_of(given.call) if given.position == 0 else Use.UNKNOWN
        if name in _ASSERTS:
            others = [arg.value for arg in given.call.args if arg is not given.arg]
            return max((self.flow.source(other) for other in others), default=Use.UNKNOWN)
        if name == "add_argument":
            return self._member(option_name(given.call)) if given.keyword in _OPTION_PARTS else Use.UNKNOWN
        if name in LOOKUPS and (given.position == 1 or given.keyword == "default"):
            return self._looked_up(given)
        if name in ("append", "add", "insert", "extend"):
            return self.flow.into(func.value)
        if name == "parametrize" and given.position == 1:
            return self._parametrized(given.call)
        if self.flow.kinds.of(func.value).kind is Kind.FOREIGN:
            return Use.OTHER
        if given.position is not None and self.topic.methods.get(name) == given.position:
            return Use.PROVEN
        own = self.cells.functions.get(name, [])
        return max([self._named(given.keyword), *(self._by_parameter(f, given, bound=True) for f in own)])

    def _by_parameter(self, function: cst.FunctionDef, given: Given, bound: bool) -> Use:
        """A function of this file: the value goes on as its parameter."""
        params = list(parameters(function.params))
        if given.position is None:
            found = [param for param in params if param.name.value == given.keyword]
        else:
            static = any(dotted(d.decorator) == "staticmethod" for d in function.decorators)
            position = given.position + (bound and not static)
            found = params[position : position + 1]
        if not found:
            return self._named(given.keyword)
        return self.flow.of_cell(self.cells.of_parameter(function, found[0]))

    def _looked_up(self, given: Given, key: int = 0) -> Use:
        """The default of a look-up: it goes where the result goes; the key may tell, too."""
        if given.position == key:
            return Use.UNKNOWN
        args = given.call.args
        name = string_value(args[key].value) if len(args) > key else None
        return max(self._member(name), self.flow.use_of(given.call))

    def _parametrized(self, call: cst.Call) -> Use:
        """A value for a parameter of a test function."""
        name = string_value(call.args[0].value)
        function = self.names.enclosing(call, cst.FunctionDef)
        if name is None or function is None:
            return Use.UNKNOWN
        return self._by_parameter(function, Given(call.args[1], call, None, name), bound=False)

    # What a call returns

    def source(self, call: cst.Call) -> Use:
        """Return whether the result of ``call`` is of the topic."""
        targets = self.names.qualified(call.func)
        if targets & self.topic.results:
            return Use.PROVEN
        if any(target.partition(".")[0] in self.flow.kinds.foreign for target in targets):
            return Use.OTHER
        name = last_name(call.func)
        key = string_value(call.args[0].value) if call.args else None
        if isinstance(call.func, cst.Attribute):
            if name in LOOKUPS and key:
                return self._member(key)
            if name in SAME_TEXT or name in ASKS:
                return self.flow.source(call.func.value)
            if name == "type" and not call.args:  # "cuda" in x.type()
                return Use.PROVEN
        if name == "getattr" and len(call.args) > 1:
            attribute = string_value(call.args[1].value)
            return self.flow.source_of_attribute(call.args[0].value, attribute) if attribute else Use.UNKNOWN
        if name in TRANSPARENT and call.args:
            return self.flow.source(call.args[0].value)
        return self.flow.of_cell(Cell("result", name)) if name else Use.UNKNOWN
