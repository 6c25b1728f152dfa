"""Runs tests marked ``npu`` in a child process that has the backend loaded.

PyTorch takes one backend in a process's life, and the rest of the test suite needs none. One child
serves all tests, as each would take seconds to import torch; if a test brings it down, the next one
gets a new child.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import select
import subprocess
import sys
import traceback
import types
from pathlib import Path
from typing import Any

import pytest

SECONDS = 300.0  # the first call may compile the backend
AUTOLOAD_OFF = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "npu: runs in a child process with the simulated NPU's backend")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if pyfuncitem.get_closest_marker("npu") is None:
        return None
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    _child.run(pyfuncitem.path, pyfuncitem.originalname, arguments)
    return True


class Child:
    """The process, started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, module: Path, function: str, arguments: dict[str, Any]) -> None:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([str(module), function, arguments]) + "\n")
        process.stdin.flush()
        answered, _, _ = select.select([process.stdout], [], [], SECONDS)
        answer = process.stdout.readline() if answered else ""
        if not answer:
            self.stop()
            pytest.fail(f"the child process died or hung: {process.returncode}", pytrace=False)
        failure = json.loads(answer)
        if failure is not None:
            pytest.fail(failure, pytrace=False)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, **AUTOLOAD_OFF},
            )
            atexit.register(self.stop)
        return self._process


_child = Child()


def use_npu() -> Any:
    """Load the backend and give PyTorch the little that it asks of ``torch.npu``."""
    import torch

    from cuda2npu.simulator.build import load

    backend = load()
    torch.utils.rename_privateuse1_backend("npu")
    module = types.ModuleType("torch.npu")
    module.__dict__.update(
        is_available=lambda: True,
        is_initialized=lambda: True,
        _lazy_init=lambda: None,
        _is_in_bad_fork=lambda: False,
        manual_seed_all=lambda seed: None,
        device_count=backend.device_count,
        current_device=backend.current_device,
        set_device=backend.set_device,
        get_rng_state=lambda device=None: torch.get_rng_state(),
        set_rng_state=lambda state, device=None: torch.set_rng_state(state),
        get_amp_supported_dtype=lambda: [torch.float16, torch.bfloat16],
        device=lambda device: torch.device(device),
    )
    torch._register_device_module("npu", module)
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    return backend


def serve() -> None:
    """Run the functions whose names come in, and answer with their tracebacks, or null."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a test prints is no answer
    use_npu()
    modules: dict[str, types.ModuleType] = {}
    for line in sys.stdin:
        path, function, arguments = json.loads(line)
        try:
            if path not in modules:
                modules[path] = _import(path)
            getattr(modules[path], function)(**arguments)
            failure = None
        except BaseException:
            failure = traceback.format_exc()
        answers.write(json.dumps(failure) + "\n")
        answers.flush()


def _import(path: str) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # DataLoader workers and pickles look it up by name
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    serve()
