"""Imports of packages that exist for NVIDIA's hardware only, or in another build for Ascend."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from cuda2npu.catalog.grades import Severity
from cuda2npu.catalog.rules import Text
from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.tree import children, dotted, string_value
from cuda2npu.rewrite.unit import Unit

_FALLBACK = Text("the program goes on without it", "缺少它时程序仍可继续")
_CONDITION = Text("imported under a condition", "仅在满足条件时导入")
_CALLED = Text("imported when the function is called", "调用该函数时才导入")
_ASKED = Text("asked for, and not there on the NPU", "此处查询它是否存在，NPU 上不存在")
_IMPORTS = {"importlib.import_module", "importlib.__import__"}
_QUESTIONS = {"importlib.util.find_spec", "pkgutil.find_loader", "importlib.find_loader"}
# A condition of this kind asks whether the package is there; one that asks for CUDA holds on an NPU, too.
_IS_THERE = re.compile(
    r"(?<!un)available|find_spec|find_loader|installed|\bHAS_|\bhas_|\bHAVE_|\bhave_|TYPE_CHECKING", re.I
)


class PackageImport(Codemod):
    """Reports them where they stand; less gravely where the program can do without them."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.rows = unit.catalog.rows_of("package_import")
        self.said: set[tuple[str, Severity]] = set()

    def visit_Import(self, node: cst.Import) -> None:
        for alias in node.names:
            self.check(alias, dotted(alias.name) or "")

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        if node.relative or node.module is None:
            return
        module = dotted(node.module) or ""
        names = [] if isinstance(node.names, cst.ImportStar) else [dotted(alias.name) for alias in node.names]
        self.check(node, *(f"{module}.{name}" for name in names), module)

    def visit_Call(self, node: cst.Call) -> None:
        if not node.args or node.args[0].keyword is not None:
            return
        functions = self.names.qualified(node.func)
        imports = functions & _IMPORTS or (
            isinstance(node.func, cst.Name) and node.func.value == "__import__"
        )
        if not imports and not functions & _QUESTIONS:
            return
        for text in self.texts_in(node.args[0].value):
            name = string_value(text)
            if name is not None and name.partition(".")[0] in self.roots:
                at = node if text is node.args[0].value else text
                self.check(at, name, asked=not imports)

    def texts_in(self, node: cst.CSTNode, depth: int = 0) -> Iterator[cst.BaseExpression]:
        """Yield the literals that a name of a package is chosen from, here or where it is assigned."""
        if isinstance(node, cst.BaseString):
            yield node
        elif isinstance(node, cst.Name):
            cell = self.unit.devices.cells.of(node)
            for value in self.unit.devices.cells.values(cell) if cell is not None and depth < 9 else ():
                yield from self.texts_in(value, depth + 1)
        elif isinstance(node, cst.BaseExpression) and not isinstance(node, cst.Call):
            for child in children(node):
                yield from self.texts_in(child, depth + 1)
        elif isinstance(node, (cst.Element, cst.DictElement)):
            yield from self.texts_in(node.value, depth + 1)

    @property
    def roots(self) -> frozenset[str]:
        """Top-level names of the packages that rows are about."""
        return self.unit.catalog.roots

    def check(self, node: cst.CSTNode, *modules: str, asked: bool = False) -> None:
        """Report ``node`` if it imports one of ``modules``, under the row that is closest to it."""
        found = [row for row in map(self.row_of, modules) if row is not None]
        if not found:
            return
        rule, row = self.rows[max(found, key=lambda name: name.count("."))]
        if row.state == "works" or (asked and rule.severity is not Severity.BLOCKER):
            return
        severity, remark = (Severity.INFO, _ASKED) if asked else self.weight(node, rule.severity)
        if (row.name, severity) in self.said:
            return  # import triton and import triton.language say the same
        self.said.add((row.name, severity))
        self.unit.report(rule.code, node, note=row.note, severity=severity, remark=remark)

    def row_of(self, module: str) -> str | None:
        """Return the name of the row about ``module``, or about the package that it is in."""
        parts = module.split(".")
        if self.unit.index.is_own(self.unit.path, parts[0]):
            return None
        names = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
        return next((name for name in names if name in self.rows), None)

    def weight(self, node: cst.CSTNode, severity: Severity) -> tuple[Severity, Text | None]:
        """Return how grave it is that the import fails here, and what shows that."""
        inside, remark = node, None
        for ancestor in self.names.ancestors(node):
            if isinstance(ancestor, cst.Try) and ancestor.body is inside and self.goes_on(ancestor):
                return Severity.INFO, _FALLBACK
            if isinstance(ancestor, cst.If) and ancestor.body is inside:
                if self.asks_for_package(ancestor.test):
                    return Severity.INFO, _FALLBACK
                remark = remark or _CONDITION
            if isinstance(ancestor, (cst.Else, cst.IfExp, cst.DictElement)):
                remark = remark or _CONDITION
            if isinstance(ancestor, (cst.FunctionDef, cst.Lambda)):
                remark = remark or _CALLED
            inside = ancestor
        if remark is not None and severity is Severity.BLOCKER:
            severity = Severity.MANUAL
        return severity, remark

    def asks_for_package(self, test: cst.BaseExpression) -> bool:
        """Whether a condition only holds where the package is there."""
        text = self.spans.text(test)
        is_negated = isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not)
        return not is_negated and "cuda" not in text.lower() and _IS_THERE.search(text) is not None

    def goes_on(self, attempt: cst.Try) -> bool:
        """Whether a handler of ``attempt`` takes a failed import, and doesn't raise anew."""
        return any(
            handler.type is None
            or re.search(
                "ImportError|ModuleNotFoundError|Exception|OSError|RuntimeError",
                self.spans.text(handler.type),
            )
            for handler in attempt.handlers
            if not self.raises(handler)
        )

    def raises(self, handler: cst.ExceptHandler) -> bool:
        """Whether ``handler`` ends by raising, or by leaving the program."""
        last = handler.body.body[-1] if handler.body.body else None
        if isinstance(last, cst.SimpleStatementLine):
            last = last.body[-1]
        if isinstance(last, cst.Expr) and isinstance(last.value, cst.Call):
            return dotted(last.value.func) in ("sys.exit", "exit", "quit", "os._exit")
        return isinstance(last, cst.Raise)


class ProviderName(Codemod):
    """Reports strings that name something of NVIDIA's to another program; the row is the string itself."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.rows = unit.catalog.rows_of("provider_name")

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        name = node.evaluated_value
        if name in self.rows and isinstance(name, str) and node not in self.unit.claimed:
            rule, row = self.rows[name]
            self.unit.claimed.add(node)
            self.unit.report(rule.code, node, note=row.note)
