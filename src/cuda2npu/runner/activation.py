"""Makes the device of a run ready, in each of its processes, as soon as torch is imported."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from cuda2npu.runner.devices import Device
from cuda2npu.runner.variables import DEVICE


def activate_with_torch() -> None:
    """Wait for torch: a process that never imports it is left alone, and starts as fast as ever."""
    if os.environ.get(DEVICE):
        sys.meta_path.insert(0, _WaitForTorch())


def activate() -> None:
    """Make the device of this run ready. Torch has just been imported."""
    device = Device(os.environ[DEVICE])
    if device is Device.CPU_AS_CUDA:
        from cuda2npu.simulator import cpu_as_cuda

        cpu_as_cuda.install()
        return
    # What torch's own autoload would do: scripts may use torch.npu with `import torch` alone.
    importlib.import_module("torch_npu")
    if device is Device.SIMULATED:
        from cuda2npu.runner.statistics import record_at_exit

        record_at_exit()


class _WaitForTorch(importlib.abc.MetaPathFinder):
    """Finds torch as the other finders do, and has :func:`activate` called behind its import."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Then(spec.loader)
        return spec


class _Then(importlib.abc.Loader):
    """A loader that calls :func:`activate` when its module is complete."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self.inner.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        self.inner.exec_module(module)
        activate()

    def __getattr__(self, name: str) -> Any:  # get_source, get_filename, is_package …
        return getattr(self.inner, name)
