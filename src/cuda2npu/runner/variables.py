"""Environment variables by which a run reaches all its processes."""

from __future__ import annotations

DEVICE = "CUDA2NPU_RUN_DEVICE"  # one of Device
STATISTICS = "CUDA2NPU_RUN_STATISTICS"  # folder in which each process leaves what it counted
THEN = "CUDA2NPU_RUN_THEN"  # function, as module:name, that each process calls once its device is ready
DEVICES = "CUDA2NPU_SIM_DEVICES"  # how many devices there are
TARGET = "CUDA2NPU_SIM_TORCH"  # the torch_npu version that the simulation has the names of
AUTOLOAD = (
    "TORCH_DEVICE_BACKEND_AUTOLOAD"  # torch's own: an installed torch_npu without CANN breaks `import torch`
)
