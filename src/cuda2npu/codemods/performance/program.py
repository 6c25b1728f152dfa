"""Settings that a program makes once, where it starts."""

from __future__ import annotations

import libcst as cst

from cuda2npu.codemods.performance.advice import Advice

COMPILE_MODE = "NPU821"
HALF_FLOAT = "NPU822"
# Chips on which operators are compiled when they are first met, unless that is switched off.
_COMPILES = {"ascend310p", "ascend910a"}
_OTHER_PRECISION = (
    "autocast",
    "GradScaler",
    "bfloat16",
    "float16",
    "half",
    "allow_hf32",
    "set_float32_matmul_precision",
)


class Program(Advice):
    """Reports ``if __name__ == "__main__":`` of a program that trains or infers with torch."""

    CODES = (COMPILE_MODE, HALF_FLOAT)

    def visit_If(self, node: cst.If) -> None:
        if not self.wanted or not self.unit.uses_torch or "__name__" not in self.spans.text(node.test):
            return
        text = self.unit.text
        if self.unit.settings.target.soc in _COMPILES and "jit_compile" not in text:
            self.unit.report(COMPILE_MODE, node.test)
        if self.names.attributes.get("backward") and not any(word in text for word in _OTHER_PRECISION):
            self.unit.report(HALF_FLOAT, node.test)
