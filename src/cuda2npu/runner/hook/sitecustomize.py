"""Python imports this at the start of every process of a run, for its folder is on PYTHONPATH.

So worker processes, torchrun's ranks and whatever else the script starts get the device, too. The
``sitecustomize`` of the machine, which this one hides, is run afterwards.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _run_hidden() -> None:
    """Run the sitecustomize that Python would have found without this folder."""
    others = [path for path in sys.path if os.path.abspath(path or os.getcwd()) != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


try:
    from cuda2npu.runner.activation import activate_with_torch
except ImportError:  # another Python, started by the script, that has no cuda2npu
    pass
else:
    activate_with_torch()
_run_hidden()
