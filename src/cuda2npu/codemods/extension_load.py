"""Extensions that are compiled while the program runs: a blocker only where CUDA is among the sources."""

from __future__ import annotations

import libcst as cst

from cuda2npu.catalog.grades import Severity
from cuda2npu.catalog.rules import Text
from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.tree import argument, string_value
from cuda2npu.rewrite.unit import Unit

_HOST = Text("from C++ sources alone", "仅含 C++ 源码")
_UNSEEN = Text("from sources that can't be seen here", "此处看不到源码列表")
_CUDA = (".cu", ".cuh")


class ExtensionLoad(Codemod):
    """Reports the calls that compile one."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.rows = unit.catalog.rows_of("extension_load")

    def visit_Call(self, node: cst.Call) -> None:
        for name in self.names.qualified(node.func) & self.rows.keys():
            rule, row = self.rows[name]
            severity, remark = self.weight(node, inline=name.endswith("load_inline"))
            self.unit.report(rule.code, node.func, note=row.note, severity=severity, remark=remark)

    def weight(self, call: cst.Call, inline: bool) -> tuple[Severity | None, Text | None]:
        """Return how grave it is, as far as the sources can be seen."""
        with_cuda = argument(call, None, "with_cuda")
        if with_cuda is not None and self.spans.text(with_cuda.value) == "True":
            return None, None
        if any(arg.star for arg in call.args):
            return Severity.MANUAL, _UNSEEN
        if inline:
            cuda = argument(call, 2, "cuda_sources")
            text = self.spans.text(cuda.value) if cuda is not None else "None"
            return (Severity.INFO, _HOST) if text in ("None", "''", '""', "[]") else (None, None)
        sources = argument(call, 1, "sources")
        files = self.files(sources.value) if sources is not None else None
        if files is None:
            return Severity.MANUAL, _UNSEEN
        return (None, None) if any(file.endswith(_CUDA) for file in files) else (Severity.INFO, _HOST)

    def files(self, sources: cst.BaseExpression) -> list[str] | None:
        """Return the last strings in the expressions for the files; None if one of them can't be seen."""
        if isinstance(sources, cst.Name):
            values = [binding.value for binding in self.names.lookup(sources)]
            if len(values) != 1 or not isinstance(values[0], (cst.List, cst.Tuple)):
                return None
            return self.files(values[0])
        if not isinstance(sources, (cst.List, cst.Tuple)):
            file = self.end(sources)
            return None if file is None else [file]
        ends = [self.end(element.value) for element in sources.elements]
        return None if None in ends else [end for end in ends if end is not None]

    def end(self, node: cst.BaseExpression) -> str | None:
        """Return the end of a path: ``"fast.cu"`` of ``os.path.join(folder, "fast.cu")`` too."""
        if isinstance(node, cst.Call) and node.args:
            return self.end(node.args[-1].value)
        if isinstance(node, cst.BinaryOperation):
            return self.end(node.right)
        if isinstance(node, cst.FormattedString) and isinstance(node.parts[-1], cst.FormattedStringText):
            return node.parts[-1].value
        return string_value(node)
