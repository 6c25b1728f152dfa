"""Checks of environment variables that are ignored, or work against each other."""

from __future__ import annotations

from collections.abc import Mapping

from cuda2npu.catalog.compatibility import Compatibility
from cuda2npu.doctor.check import Check, message, ok, warning
from cuda2npu.doctor.environment import Environment

# The same pairs as in rules/npu6_environment.toml, which a test compares; only those that people export.
COUNTERPARTS: Mapping[str, str] = {
    "CUDA_VISIBLE_DEVICES": "ASCEND_RT_VISIBLE_DEVICES",
    "CUDA_LAUNCH_BLOCKING": "ASCEND_LAUNCH_BLOCKING",
    "PYTORCH_CUDA_ALLOC_CONF": "PYTORCH_NPU_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING": "PYTORCH_NO_NPU_MEMORY_CACHING",
    "NCCL_SOCKET_IFNAME": "HCCL_SOCKET_IFNAME",
    "TORCH_NCCL_BLOCKING_WAIT": "TORCH_HCCL_BLOCKING_WAIT",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "TORCH_HCCL_ASYNC_ERROR_HANDLING",
}


def cuda_variables(env: Environment, table: Compatibility) -> Check | None:
    """Whether a CUDA variable is set whose counterpart is not."""
    if not env.on_ascend:
        return None
    ignored = [
        name
        for name, counterpart in COUNTERPARTS.items()
        if name in env.variables and counterpart not in env.variables
    ]
    if not ignored:
        return ok("cuda_variables", message("cuda_variables_none"))
    found = message(
        "cuda_variables", names=", ".join(f"{name}={env.variables[name][:60]}" for name in ignored)
    )
    commands = "\n".join(f'$ export {COUNTERPARTS[name]}="${name}"' for name in ignored)
    return warning("cuda_variables", found, message("cuda_variables_fix", commands=commands))


def autoload(env: Environment, table: Compatibility) -> Check | None:
    """Whether torch is kept from loading torch_npu."""
    if env.torch_npu is None or env.variables.get("TORCH_DEVICE_BACKEND_AUTOLOAD") != "0":
        return None
    return warning("autoload", message("autoload_off"), message("autoload_fix"))


def hccl_timeouts(env: Environment, table: Compatibility) -> Check | None:
    """Whether HCCL_EVENT_TIMEOUT exceeds HCCL_EXEC_TIMEOUT, as torch_npu's documentation demands."""
    event = env.variables.get("HCCL_EVENT_TIMEOUT", "")
    longest = env.variables.get("HCCL_EXEC_TIMEOUT", "")
    if not (event.isdigit() and longest.isdigit()) or int(event) == 0 or int(event) > int(longest):
        return None  # 0 means for ever
    found = message("hccl_event", event=event, exec=longest)
    return warning("hccl_timeouts", found, message("hccl_event_fix", wanted=int(longest) + 100))
