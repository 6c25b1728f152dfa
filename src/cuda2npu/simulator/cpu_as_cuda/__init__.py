"""Runs unconverted CUDA code on the CPU, so that the original and its conversion can be compared.

No device is simulated: whatever asks for "cuda" gets the CPU, and a tensor on the wrong device is no error.
"""

from __future__ import annotations


def install() -> None:
    """Map the CUDA calls of this process to the CPU. Torch has been imported, and nothing else of it yet."""
    from cuda2npu.simulator.cpu_as_cuda import amp, api, compiling, distributed, placement, random_numbers

    placement.install()
    api.install()
    random_numbers.install()
    amp.install()
    compiling.install()
    distributed.install()
