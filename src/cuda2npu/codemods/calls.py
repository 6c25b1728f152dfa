"""Calls that rows are about: of a function, of a tensor's method, with the value of an argument."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import libcst as cst

from cuda2npu.catalog.grades import Applicability, Severity
from cuda2npu.catalog.rules import LANGUAGES, Row, Rule, Text
from cuda2npu.codemods.arguments import droppable
from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.kinds import Kind
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import argument, children, dotted, string_value
from cuda2npu.rewrite.unit import Unit

_ROW = re.compile(
    r"(?P<function>[*\w.]+)(?:\((?:(?P<position>\d+):)?(?P<keyword>\w+)=(?P<value>[^)]*)\))?",
)
_ANY = "*"
_GIVEN = "?"  # any value that turns the argument on
_ABSENT = "!"  # the argument isn't given
_OFF = {"None", "False", "0", "0.0", "0.", ".0"}


class Pattern(NamedTuple):
    """One row, taken apart."""

    rule: Rule
    row: Row
    position: int | None
    keyword: str | None
    value: str

    @property
    def is_method(self) -> bool:
        """Whether the row is about a method, of whatever object."""
        return self.row.name.startswith("*.")


class Calls(Codemod):
    """Reports calls, or changes an argument of them.

    A row is called ``torch.linalg.eigh``, ``*.nonzero`` (a method of a tensor) or ``*`` (any call), and
    with an argument ``torch.topk(4:sorted=False)``: its position, its keyword, its value. The position
    is left out where only the keyword will do. The value is a literal, a string without quotes, the
    dotted name of an object, ``?`` for anything but None, False and 0, or ``!`` for an argument that is
    missing. If the rule isn't manual, ``to`` takes the place of the value, or is added behind the other
    arguments; where it is empty, the argument is dropped.
    """

    CODEMOD: ClassVar[str] = "call"

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.patterns: dict[str, list[Pattern]] = defaultdict(list)
        for rule, row in unit.catalog.others.get(self.CODEMOD, ()):
            match = _ROW.fullmatch(row.name)
            if match is not None:
                position = int(match["position"]) if match["position"] else None
                self.patterns[match["function"]].append(
                    Pattern(rule, row, position, match["keyword"], match["value"] or "")
                )
        self.last_names = {name.rpartition(".")[2] for name in self.patterns}

    def visit_Call(self, node: cst.Call) -> None:
        for function in (*self.functions(node.func), _ANY):
            for pattern in self.patterns.get(function, ()):
                self.check(node, pattern)
        if node.args and _last_name(node.func) == "partial":
            for function in self.functions(node.args[0].value):
                for pattern in self.patterns.get(function, ()):
                    self.check_partial(node, pattern)

    def visit_Decorator(self, node: cst.Decorator) -> None:
        """``@torch.compile`` is a call, too."""
        for function in self.functions(node.decorator):
            for pattern in self.patterns.get(function, ()):
                if pattern.keyword is None:
                    self.report(node.decorator, pattern)

    def functions(self, function: cst.BaseExpression) -> frozenset[str]:
        """Return the names under which rows may be about ``function``."""
        if isinstance(function, cst.Attribute) and function.attr.value not in self.last_names:
            return frozenset()  # a cheap test before the exact one
        names = self.names.qualified(function)
        if names or not isinstance(function, cst.Attribute):
            return names
        method = f"*.{function.attr.value}"
        if function.attr.value in self.unit.devices.cells.functions:
            return frozenset()  # the file has a method of that name
        if method in self.patterns and self.may_be_tensor(function.value):
            return frozenset({method})
        return frozenset()

    def is_certain(self, call: cst.Call, pattern: Pattern) -> bool:
        """Whether ``call`` is torch's beyond doubt; a method may be one of the program's own, too."""
        if not pattern.is_method or not isinstance(call.func, cst.Attribute):
            return True
        return self.unit.kinds.of(call.func.value).kind is Kind.TORCH

    def check(self, call: cst.Call, pattern: Pattern) -> None:
        """Deal with a call of the function that ``pattern`` is about."""
        if any(argument(call, None, keyword) for keyword in pattern.row.unless) or self.is_moot(
            call, pattern
        ):
            return
        if pattern.keyword is None:
            self.report(call.func, pattern)
            return
        arg = argument(call, pattern.position, pattern.keyword)
        if pattern.value == _ABSENT:
            if arg is None and not any(other.star for other in call.args):
                self.add_argument(call, pattern)
            return
        if arg is None:
            self.check_unpacked(call, pattern)
            return
        if not self.may_have_value(arg.value, pattern.value):
            return
        if not self.has_value(arg.value, pattern.value) or not self.changed(call, arg, pattern):
            self.report(arg, pattern)

    def is_moot(self, call: cst.Call, pattern: Pattern) -> bool:
        """Whether the argument that the row needs is missing or 1, so that it isn't about ``call``."""
        if not pattern.row.needs or any(arg.star for arg in call.args):
            return False
        position, _, keyword = pattern.row.needs.partition(":")
        arg = argument(call, int(position), keyword)
        return arg is None or self.spans.text(arg.value) == "1"

    def check_unpacked(self, call: cst.Call, pattern: Pattern) -> None:
        """Report ``f(x, **{"mode": "nearest"})``, where the dictionary can be seen."""
        for arg in call.args:
            for value in (arg.value, *self.assigned(arg.value)) if arg.star == "**" else ():
                found = _items(value).get(pattern.keyword or "")
                if found is not None and self.may_have_value(found, pattern.value):
                    self.report(arg, pattern)

    def check_partial(self, call: cst.Call, pattern: Pattern) -> None:
        """Report ``partial(f, mode="nearest")``; which argument stands where can't be told there."""
        arg = argument(call, None, pattern.keyword) if pattern.keyword is not None else None
        if arg is not None and self.may_have_value(arg.value, pattern.value):
            self.report(arg, pattern)

    def changed(self, call: cst.Call, arg: cst.Arg, pattern: Pattern) -> bool:
        """Change ``arg`` as its rule says; False if that is left to a person."""
        rule, row = pattern.rule, pattern.row
        if not self.is_wanted(rule):
            return False
        if not row.to:
            span, after = droppable(self.unit, call, arg), ""
        elif pattern.value in self.names.qualified(arg.value):
            # The name of another member of the same module, by whatever name the file knows that.
            span = self.spans[arg.value.attr] if isinstance(arg.value, cst.Attribute) else None
            after = row.to.rpartition(".")[2]
        else:
            span, after = self.spans.whole(arg.value), row.to
        if span is None:
            return False
        unsafe = not self.is_certain(call, pattern)
        if self.unit.replace(rule.code, span, after, at=call, npu=False, note=row.note, unsafe=unsafe):
            self.unit.claimed.update(_literals(arg))  # what goes isn't to be converted besides
        return True

    def is_wanted(self, rule: Rule) -> bool:
        """Whether ``rule`` may change code; nobody has to decide about what is merely good to know."""
        if rule.applicability is Applicability.UNSAFE and rule.severity is Severity.INFO:
            return self.unit.settings.unsafe
        return rule.applicability is not Applicability.MANUAL

    def add_argument(self, call: cst.Call, pattern: Pattern) -> None:
        """Add ``to`` to the arguments of ``call``."""
        rule, row = pattern.rule, pattern.row
        bare = not call.args or isinstance(call.args[-1].value, cst.GeneratorExp)  # f(x for x in y)
        if bare or not self.is_wanted(rule):
            self.report(call.func, pattern)
            return
        end = self.spans.whole(call.args[-1].value).end
        self.unit.replace(rule.code, Span(end, end), f", {row.to}", at=call, npu=False, note=row.note)

    def report(self, node: cst.CSTNode, pattern: Pattern) -> None:
        """Report ``node``; where the row is about an operator of ATen, name it."""
        rule, row = pattern.rule, pattern.row
        note = row.note if row.note.en else rule.advice
        if row.op:
            note = Text(*(f"aten::{row.op}: {note.in_language(lang)}" for lang in LANGUAGES))
        self.unit.report(rule.code, node, note=note)

    def has_value(self, node: cst.BaseExpression, wanted: str) -> bool:
        """Whether the expression ``node`` itself is the value ``wanted`` of a row."""
        if self.is_device_object(node) and isinstance(node, cst.Call) and len(node.args) == 1:
            node = node.args[0].value  # torch.device("cuda") says the same as "cuda"
        text = self.spans.text(node)
        if wanted == _GIVEN:
            return text not in _OFF
        return wanted in (text, string_value(node)) or wanted in self.names.qualified(node)

    def may_have_value(self, node: cst.BaseExpression, wanted: str) -> bool:
        """Whether ``node`` is ``wanted``, or a name that is set to it somewhere."""
        return self.has_value(node, wanted) or any(self.has_value(v, wanted) for v in self.assigned(node))

    def assigned(self, node: cst.BaseExpression, steps: int = 3) -> Iterator[cst.BaseExpression]:
        """Yield what a name or ``self.name`` is set to in this file, the default of a parameter included.

        :param steps: over how many names it is followed, for ``self.mode = mode``.
        """
        for value in self._set_to(node) if steps else ():
            yield value
            yield from self.assigned(value, steps - 1)

    def _set_to(self, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        for binding in self.names.lookup(node) if isinstance(node, cst.Name) else ():
            value = binding.node.default if isinstance(binding.node, cst.Param) else binding.value
            if isinstance(value, cst.BaseExpression):
                yield value
        if isinstance(node, cst.Attribute) and dotted(node.value) == "self":
            for attribute in self.names.attributes[node.attr.value]:
                target = self.names.parents[attribute]
                assign = self.names.parents.get(target)
                if isinstance(target, cst.AssignTarget) and isinstance(assign, cst.Assign):
                    yield assign.value


def _last_name(function: cst.BaseExpression) -> str:
    return (dotted(function) or "").rpartition(".")[2]


def _items(node: cst.BaseExpression) -> dict[str, cst.BaseExpression]:
    """Return what a dictionary that is written out holds, by those of its keys that are strings."""
    if isinstance(node, cst.Call) and dotted(node.func) == "dict":
        return {arg.keyword.value: arg.value for arg in node.args if arg.keyword is not None}
    elements = node.elements if isinstance(node, cst.Dict) else ()
    found = ((string_value(e.key), e.value) for e in elements if isinstance(e, cst.DictElement))
    return {key: value for key, value in found if key is not None}


def _literals(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the string literals in ``node``."""
    if isinstance(node, cst.SimpleString):
        yield node
    for child in children(node):
        yield from _literals(child)
