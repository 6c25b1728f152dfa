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
from cuda2npu.runner.variables import DEVICE, THEN


def activate_with_torch() -> None:
    """Wait for torch: a process that never imports it is left alone, and starts as fast as ever."""
    if os.environ.get(DEVICE):
        sys.meta_path.insert(0, _WaitForTorch())


def activate() -> None:
    """Make this run's device ready, and call what is to be called then. Torch has just been imported.

    :raises SystemExit: with one line, if it can't be made ready; a traceback would say no more.
    """
    from cuda2npu.simulator.build import SimulatorError

    try:
        _make_ready(Device(os.environ[DEVICE]))
    except SimulatorError as error:
        raise SystemExit(f"cuda2npu: {error}") from None
    if then := os.environ.get(THEN):
        module, _, function = then.partition(":")
        getattr(importlib.import_module(module), function)()


def _make_ready(device: Device) -> None:
    if device is Device.NPU:
        # What torch's own autoload would do: scripts may use torch.npu with `import torch` alone.
        importlib.import_module("torch_npu")
    elif device is Device.SIMULATED:
        _simulate()
    elif device is Device.CPU_AS_CUDA:
        _map_cuda_to_cpu()


def _simulate() -> None:
    from cuda2npu.runner.statistics import record_at_exit
    from cuda2npu.simulator import build, names

    names.target()
    build.load()
    importlib.import_module("torch_npu")
    record_at_exit()


def _map_cuda_to_cpu() -> None:
    import torch

    from cuda2npu.simulator import build

    build.check_age(torch.__version__)
    from cuda2npu.simulator import cpu_as_cuda

    cpu_as_cuda.install()


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
