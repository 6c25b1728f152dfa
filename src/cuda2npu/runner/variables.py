"""Environment variables by which a run reaches all its processes."""

from __future__ import annotations

DEVICE = "CUDA2NPU_RUN_DEVICE"  # one of Device
STATISTICS = "CUDA2NPU_RUN_STATISTICS"  # folder in which each process leaves what it counted
CAPTURE = "CUDA2NPU_CAPTURE"  # file that says what the processes of the run record
INVENTORY = "CUDA2NPU_RUN_INVENTORY"  # folder in which each process leaves the operators that it used, if set
DEVICES = "CUDA2NPU_SIM_DEVICES"  # how many devices there are
TARGET = "CUDA2NPU_SIM_TORCH"  # the torch_npu version that the simulation has the names of
AUTOLOAD = (
    "TORCH_DEVICE_BACKEND_AUTOLOAD"  # torch's own: an installed torch_npu without CANN breaks `import torch`
)
