"""Imports of packages that exist for NVIDIA's hardware only."""

from __future__ import annotations

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.change import Severity
from cuda2npu.rewrite.tree import dotted
from cuda2npu.rewrite.unit import Unit


class PackageImport(Codemod):
    """Reports them where they stand; less gravely where the program can do without them."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        rows = unit.catalog.rows.items()
        self.rows = {name: found for name, found in rows if found[0].codemod == "package_import"}

    def visit_Import(self, node: cst.Import) -> None:
        for alias in node.names:
            self.check(alias, dotted(alias.name) or "")

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        if node.relative or node.module is None:
            return
        module = dotted(node.module) or ""
        names = [] if isinstance(node.names, cst.ImportStar) else [dotted(alias.name) for alias in node.names]
        for name in (module, *(f"{module}.{name}" for name in names)):
            if self.check(node, name):
                return

    def check(self, node: cst.CSTNode, module: str) -> bool:
        """Report ``node`` if it imports such a package, or a module of one."""
        parts = module.split(".")
        for count in range(len(parts), 0, -1):
            name = ".".join(parts[:count])
            if name in self.rows and not self.unit.index.is_own(self.unit.path, parts[0]):
                rule, row = self.rows[name]
                severity = Severity.INFO if self.may_be_missing(node) else None
                self.unit.report(rule.code, node, note=row.note, severity=severity)
                return True
        return False

    def may_be_missing(self, node: cst.CSTNode) -> bool:
        """Whether the import stands in a ``try`` that goes on without the package."""
        attempt = self.names.enclosing(node, cst.Try)
        return attempt is not None and any(
            handler.type is None
            or "Error" in self.spans.text(handler.type)
            or "Exception" in self.spans.text(handler.type)
            for handler in attempt.handlers
        )


class ProviderName(Codemod):
    """Reports strings that name something of NVIDIA's to another program; the row is the string itself."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        rows = unit.catalog.rows.items()
        self.rows = {name: found for name, found in rows if found[0].codemod == "provider_name"}

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        name = node.evaluated_value
        if name in self.rows and isinstance(name, str) and node not in self.unit.claimed:
            rule, row = self.rows[name]
            self.unit.claimed.add(node)
            self.unit.report(rule.code, node, note=row.note)
