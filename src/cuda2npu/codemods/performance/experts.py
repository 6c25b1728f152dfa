"""A mixture of experts that is computed in a loop over the experts."""

from __future__ import annotations

import re

import libcst as cst

from cuda2npu.codemods.performance.advice import Advice

RULE = "NPU806"
_PICKS = re.compile(r"\btorch\.where\(|\.nonzero\(|index_add_?\(|index_select\(|masked_select\(")


class Experts(Advice):
    """Reports the loop."""

    CODES = (RULE,)

    def visit_For(self, node: cst.For) -> None:
        if not self.wanted or "expert" not in self.spans.text(node.iter).lower():
            return
        body = self.spans.text(node.body)
        if _PICKS.search(body) and "expert" in body.lower():
            self.unit.report(RULE, node.iter)
