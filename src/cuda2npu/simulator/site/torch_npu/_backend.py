"""The compiled device, in one place: all that the Python side asks of it."""

from __future__ import annotations

import torch

from cuda2npu.simulator import build
from cuda2npu.simulator.names import target

build.load()

_device = torch.ops.cuda2npu_sim

TOTAL_MEMORY = int(_device.memory_of_each_device())
"""Bytes of memory of each simulated card: 64 GiB, as an Ascend 910B has, or what CUDA2NPU_SIM_MEMORY says."""

# Which versions raise torch.OutOfMemoryError: the strings in lib/libtorch_npu.so of the wheels 2.1.0.post17
# to 2.14.0.
_FIRST_WITH_OUT_OF_MEMORY_ERROR = (2, 7)
if target().version < _FIRST_WITH_OUT_OF_MEMORY_ERROR:
    _device.raise_plain_out_of_memory()


def device_count() -> int:
    """Return the number of simulated cards."""
    return int(_device.device_count())


def current_device() -> int:
    """Return the number of the card that this thread works on."""
    return int(_device.current_device())


def set_device(index: int) -> None:
    """Make this thread work on card ``index``.

    :raises RuntimeError: if there is no such card.
    """
    _device.set_device(index)


def memory_allocated(index: int) -> int:
    """Return how many bytes are in use on card ``index``."""
    return int(_device.memory_allocated(index))


def max_memory_allocated(index: int) -> int:
    """Return the largest number of bytes that were in use on card ``index``."""
    return int(_device.max_memory_allocated(index))


def reset_peak_memory(index: int) -> None:
    """Let :func:`max_memory_allocated` count from now."""
    _device.reset_peak_memory(index)


def was_used() -> bool:
    """Whether this process has ever held memory on a card."""
    return any(max_memory_allocated(index) for index in range(device_count()))


def host_view(tensor: torch.Tensor) -> torch.Tensor:
    """Return a CPU tensor over the same memory; a CPU tensor is returned as it is."""
    alias: torch.Tensor = _device.cpu_alias(tensor)
    return alias


def default_generator(index: int) -> torch.Generator:
    """Return the random generator of a card, which draws from the CPU's.

    So a model that is initialised or drops out on the simulated NPU equals the one on the CPU, bit for
    bit. On a real NPU the two differ.
    """
    generator: torch.Generator = _device.default_generator(index)
    return generator
