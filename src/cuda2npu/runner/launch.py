"""Starts the script in a process of its own, with the device that it is to find."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cuda2npu.runner import signals, variables
from cuda2npu.runner.devices import Device
from cuda2npu.runner.statistics import Statistics, collect

_HOOK = Path(__file__).parent / "hook"
_SITE = Path(__file__).parents[1] / "simulator" / "site"  # the torch_npu of the simulation
_FEW_DEVICES = 2
_SIGNALLED = 128
_PROCESSES = re.compile(r"--nproc[-_]per[-_]node[= ](\d+)")


@dataclass(frozen=True)
class Ended:
    """How a run ended.

    :param code: exit code of the script; 128 + number for a signal that killed it, as shells have it.
    :param statistics: what ran on the simulated device; None on any other.
    """

    code: int
    statistics: Statistics | None = None

    @property
    def was_stopped(self) -> bool:
        """Whether a signal ended it; its processes may have had no time to write what they counted."""
        return self.code > _SIGNALLED


def launch(
    command: Sequence[str],
    device: Device,
    *,
    devices: int | None = None,
    target: str | None = None,
    cwd: Path | None = None,
    extra: Mapping[str, str] | None = None,
) -> Ended:
    """Run ``python command…`` on ``device`` and wait for its end.

    Input, output, exit code and signals pass through. Every Python process that the script starts
    finds the same device.

    :param command: a script, or ``-m`` and a module, and its arguments.
    :param devices: number of devices; by default what ``CUDA2NPU_SIM_DEVICES`` says, else two, or as many
        as processes are asked of torchrun.
    :param target: the torch_npu version whose names the simulation has, such as ``2.7``.
    :param cwd: folder in which it runs; by default this process's.
    :param extra: further variables of its environment.
    """
    with tempfile.TemporaryDirectory(prefix="cuda2npu-run-") as folder:
        environment = {**_environment(os.environ, device, folder, target), **(extra or {})}
        if devices is not None:
            environment[variables.DEVICES] = str(devices)
        environment.setdefault(variables.DEVICES, str(_devices_for(command)))
        code = signals.run([sys.executable, *command], environment, cwd)
        statistics = collect(Path(folder)) if device is Device.SIMULATED else None
    return Ended(code if code >= 0 else _SIGNALLED - code, statistics)


def _devices_for(command: Sequence[str]) -> int:
    """Two show what a program does with several; a server's eight would cost time and say no more."""
    match = _PROCESSES.search(" ".join(command))
    return max(_FEW_DEVICES, int(match[1]) if match else 0)


def _environment(
    inherited: Mapping[str, str], device: Device, folder: str, target: str | None
) -> dict[str, str]:
    """Return the environment of the script."""
    paths = [str(_HOOK), *([str(_SITE)] if device is Device.SIMULATED else [])]
    changed = {
        variables.DEVICE: device.value,
        variables.STATISTICS: folder,
        variables.AUTOLOAD: "0",
        "PYTHONPATH": os.pathsep.join([*paths, *filter(None, [inherited.get("PYTHONPATH")])]),
    }
    if target is not None:
        changed[variables.TARGET] = target
    return {**inherited, **changed}
