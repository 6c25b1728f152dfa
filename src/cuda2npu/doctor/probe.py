"""Imports torch and torch_npu, and reports each step on a line of its own. Runs as a script in a child.

It must run in any Python that torch runs in, and imports nothing of cuda2npu.
"""

from __future__ import annotations

import json
import os
import sys

MARK = "cuda2npu-probe "


def report(step: str, **facts: object) -> None:
    """Print one line; at once, since the next step may crash."""
    print("\n" + MARK + json.dumps({"step": step, **facts}), flush=True)


def reasons(error: BaseException | None) -> list[str]:
    """Return the messages of an exception and of what caused it, the outermost first."""
    found: list[str] = []
    while error is not None and len(found) < 10:
        found.append(f"{type(error).__name__}: {error}")
        error = error.__cause__ or error.__context__
    return found


def main() -> None:
    """Go as far as possible: torch, torch_npu, the number of devices."""
    step = "torch"
    try:
        import torch

        report(step, version=torch.__version__)
        step = "torch_npu"
        import torch_npu

        report(step, version=torch_npu.__version__)
        step = "devices"
        report(step, count=torch.npu.device_count())
    except BaseException as error:
        report("error", at=step, reasons=reasons(error))


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]
    main()
    sys.stdout.flush()
    os._exit(0)  # what torch_npu does at exit isn't asked for, and can hang
