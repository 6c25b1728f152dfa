"""torch.compile: there are no kernels to generate for a simulated chip, so it stops before the compiler."""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch

# Backends of torch and of torch_npu that generate code.
_GENERATING = ("inductor", "npu", "npugraphs", "npugraph_ex", "cudagraphs")
_noted = False


def apply() -> None:
    """Put it into torch."""
    plain = torch.compile

    @functools.wraps(plain)
    def compile_(model: Any = None, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("backend", "inductor") in _GENERATING:
            _note(kwargs.get("backend", "inductor"))
            kwargs["backend"] = "aot_eager"
            for name in ("mode", "options"):  # of the code generator
                kwargs.pop(name, None)
        return plain(model, *args, **kwargs)

    torch.compile = compile_


def _note(backend: str) -> None:
    """Say once that nothing is compiled."""
    global _noted
    if not _noted:
        _noted = True
        print(
            f'[simulated NPU] torch.compile runs with backend="aot_eager" in place of "{backend}": '
            "the graph is captured, but no code is generated.",
            file=sys.stderr,
        )
