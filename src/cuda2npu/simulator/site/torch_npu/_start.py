"""Makes ``npu`` a device of this process, as the real package does when it is imported."""

from __future__ import annotations

import sys

import torch

NAME = "npu"
# torch_npu/_init/registry/backend.py of the wheel 2.7.1.post11
UNSUPPORTED_DTYPES = [torch.quint8, torch.quint4x2, torch.quint2x4, torch.qint32, torch.qint8]


def refuse_second_accelerator() -> None:
    """Fail on a torch that has a GPU at work, as the real package does.

    :raises RuntimeError: if CUDA is available.
    """
    if torch.cuda.is_available():
        raise RuntimeError(
            "Two accelerators cannot be used at the same time in PyTorch: npu and cuda. "
            "Hide the GPU with CUDA_VISIBLE_DEVICES= or install the CPU version of PyTorch."
        )


def name_device() -> None:
    """Call PrivateUse1 ``npu``; a process can do that once."""
    torch.utils.rename_privateuse1_backend(NAME)


def register(module: object) -> None:
    """Make ``module`` torch.npu, and give tensors, modules and storages their methods."""
    torch._register_device_module(NAME, module)
    for name in [name for name in sys.modules if name.startswith("torch_npu.npu.")]:
        # So that `from torch.npu.amp import GradScaler` finds the same module and no second copy.
        sys.modules[name.replace("torch_npu.npu", "torch.npu", 1)] = sys.modules[name]
    torch.utils.generate_methods_for_privateuse1_backend(
        for_tensor=True, for_module=True, for_storage=True, unsupported_dtype=UNSUPPORTED_DTYPES
    )
    torch.nn.parameter.UninitializedTensorMixin._allowed_methods.append(torch.Tensor.npu)
