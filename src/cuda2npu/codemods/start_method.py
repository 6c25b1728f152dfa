"""Worker processes that are forked: a device that was used before can't be used in the child."""

from __future__ import annotations

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.tree import argument, string_value

RULE = "NPU307"
_POSITIONS = {"set_start_method": 0, "get_context": 0, "start_processes": 99}
_KEYWORDS = {"set_start_method": "method", "get_context": "method", "start_processes": "start_method"}


class StartMethod(Codemod):
    """Reports ``fork`` where it is asked for by name."""

    def visit_Call(self, node: cst.Call) -> None:
        for name in self.names.qualified(node.func):
            function = name.rpartition(".")[2]
            if "multiprocessing" not in name or function not in _POSITIONS:
                continue
            arg = argument(node, _POSITIONS[function], _KEYWORDS[function])
            if arg is not None and string_value(arg.value) == "fork":
                self.unit.report(RULE, arg)
        context = argument(node, None, "multiprocessing_context")
        if context is not None and string_value(context.value) == "fork":
            self.unit.report(RULE, context)
