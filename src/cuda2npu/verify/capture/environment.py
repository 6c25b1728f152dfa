"""With what a capture was made: versions, seeds, and the flags that decide how numbers are rounded."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib import metadata
from typing import Any

import torch

from cuda2npu import __version__

_PACKAGES = ("torch", "torch_npu", "numpy", "safetensors", "torchvision", "transformers")
_VARIABLES = (
    *(
        "ASCEND_LAUNCH_BLOCKING",
        "ASCEND_RT_VISIBLE_DEVICES",
        "ASCEND_TOOLKIT_HOME",
        "CUBLAS_WORKSPACE_CONFIG",
    ),
    *("CUDA_VISIBLE_DEVICES", "HCCL_DETERMINISTIC", "LCCL_DETERMINISTIC", "CLOSE_MATMUL_K_SHIFT"),
    *("NVIDIA_TF32_OVERRIDE", "OMP_NUM_THREADS", "PYTHONHASHSEED", "TORCHDYNAMO_DISABLE", "WORLD_SIZE"),
)


def environment() -> dict[str, Any]:
    """Return what a header holds, as it is now."""
    return {
        "cuda2npu": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: found for name in _PACKAGES if (found := _version(name))},
        "commit": _commit(),
        "command": sys.argv,
        "seed": torch.initial_seed(),
        "threads": torch.get_num_threads(),
        "flags": {**_flags(), **_device_flags()},
        "device_name": _device_name(),
        "variables": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
        "compile": "torch.compile leaves modules as they are: TORCHDYNAMO_DISABLE=1",
    }


def _version(package: str) -> str:
    module = sys.modules.get(package)
    if module is not None and getattr(module, "__version__", None):
        return str(module.__version__)
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _flags() -> dict[str, Any]:
    backends: Any = torch.backends
    return {
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "default_dtype": str(torch.get_default_dtype())[6:],
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "cudnn.benchmark": backends.cudnn.benchmark,
        "cudnn.deterministic": backends.cudnn.deterministic,
        "mkldnn": backends.mkldnn.is_available(),
    }


def _device_flags() -> dict[str, Any]:
    """Return the flags of an NPU, as far as this torch_npu has them."""
    npu: Any = getattr(torch, "npu", None)
    found = {}
    for name in ("matmul.allow_hf32", "conv.allow_hf32"):
        owner, _, flag = name.partition(".")
        value = getattr(getattr(npu, owner, None), flag, None)
        if isinstance(value, bool):
            found[f"npu.{name}"] = value
    return found


def _device_name() -> str:
    for name in ("npu", "cuda"):
        module: Any = getattr(torch, name, None)
        try:
            if module is not None and module.is_available():
                return str(module.get_device_name())
        except (RuntimeError, AssertionError):
            continue
    return platform.processor() or platform.machine()


def _commit() -> str:
    """Return the commit of the program's repository, with a ``+`` if its files differ; "" without git."""
    try:
        commit = _git("rev-parse", "HEAD").strip()
        return commit + ("+" if _git("status", "--porcelain", "--untracked-files=no").strip() else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(*words: str) -> str:
    ran = subprocess.run(["git", *words], capture_output=True, text=True, timeout=10, check=True)
    return ran.stdout
