"""Data loaders for training: batches of one size, and workers that load ahead."""

from __future__ import annotations

import libcst as cst

from cuda2npu.codemods.performance.advice import Advice
from cuda2npu.rewrite.tree import argument

LAST_BATCH = "NPU811"
WORKERS = "NPU812"


class Loader(Advice):
    """Reports loaders that shuffle, and so are for training."""

    CODES = (LAST_BATCH, WORKERS)

    def visit_Call(self, node: cst.Call) -> None:
        if not self.wanted or any(arg.star for arg in node.args):
            return
        if not self.called(node, "torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"):
            return
        shuffle = argument(node, 2, "shuffle")
        if shuffle is None or self.spans.text(shuffle.value) in ("False", "None", "0"):
            return
        if argument(node, 8, "drop_last") is None and argument(node, 4, "batch_sampler") is None:
            self.unit.report(LAST_BATCH, node.func)
        if argument(node, 5, "num_workers") is None:
            self.unit.report(WORKERS, node.func)
