"""Which device a run uses."""

from __future__ import annotations

import os
import subprocess
import sys
from enum import Enum

from cuda2npu.runner.variables import AUTOLOAD

_PROBE = "import torch, torch_npu; print(torch.npu.device_count())"
_PROBE_SECONDS = 120  # the first import of torch_npu on a cold machine is slow


class Device(Enum):
    """What a script runs on."""

    AUTO = "auto"
    NPU = "npu"
    SIMULATED = "sim"
    CPU_AS_CUDA = "cpu-as-cuda"
    CUDA = "cuda"  # this and the next are for captures: a run there needs no cuda2npu
    CPU = "cpu"


class NoDeviceError(Exception):
    """The device that was asked for isn't there; the message says what to do."""


def choose(wanted: Device) -> Device:
    """Return the device to run on.

    ``auto`` takes a real NPU where torch_npu finds one, and the simulated one otherwise. It asks in a
    process of its own: what is imported here can't be taken back.

    :raises NoDeviceError: if a real NPU, or a GPU, is asked for and absent. Nothing else takes its place.
    """
    if wanted is Device.CUDA:
        _need_cuda()
    if wanted not in (Device.AUTO, Device.NPU):
        return wanted
    count, reason = _npus()
    if count:
        return Device.NPU
    if wanted is Device.NPU:
        raise NoDeviceError(f"no NPU: {reason}; `cuda2npu doctor` looks into it, --device sim simulates one")
    return Device.SIMULATED


def choose_reference(wanted: Device) -> Device:
    """Return what the original of a conversion runs on: ``auto`` takes CUDA where there is any.

    :raises NoDeviceError: if CUDA is asked for and absent.
    """
    if wanted is Device.AUTO:
        return Device.CUDA if _has_cuda() else Device.CPU_AS_CUDA
    return choose(wanted)


def _has_cuda() -> bool:
    import torch

    return bool(torch.cuda.is_available())


def _need_cuda() -> None:
    if not _has_cuda():
        raise NoDeviceError(
            "no GPU: torch.cuda.is_available() is False; --device cpu-as-cuda does without one"
        )


def _npus() -> tuple[int, str]:
    """Return the number of NPUs that torch_npu finds, and why it is 0."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE],
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
            env={**os.environ, AUTOLOAD: "0"},
        )
    except subprocess.TimeoutExpired:
        return 0, f"torch_npu did not answer within {_PROBE_SECONDS} s"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
        return 0, f"torch_npu can't be imported ({last})"
    words = done.stdout.split()
    count = int(words[-1]) if words and words[-1].isdigit() else 0
    return count, "" if count else "torch_npu finds no device"
