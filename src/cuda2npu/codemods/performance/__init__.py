"""Advice on speed: patterns that an operator of the NPU computes in one go. Off unless it is selected."""

from __future__ import annotations

from cuda2npu.codemods.performance.advice import Advice
from cuda2npu.codemods.performance.attention import Attention
from cuda2npu.codemods.performance.experts import Experts
from cuda2npu.codemods.performance.gates import Gates
from cuda2npu.codemods.performance.loader import Loader
from cuda2npu.codemods.performance.norm import RootMeanSquare
from cuda2npu.codemods.performance.program import Program
from cuda2npu.codemods.performance.rotary import Rotary
from cuda2npu.codemods.performance.synchronising import Synchronising

PERFORMANCE: tuple[type[Advice], ...] = (
    Attention,
    RootMeanSquare,
    Rotary,
    Gates,
    Experts,
    Loader,
    Synchronising,
    Program,
)
