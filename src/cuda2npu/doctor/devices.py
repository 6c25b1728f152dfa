"""Checks of the driver and the cards."""

from __future__ import annotations

from cuda2npu.catalog.compatibility import Compatibility
from cuda2npu.doctor.check import Check, Message, fault, message, ok, warning
from cuda2npu.doctor.environment import MANAGERS, Environment


def driver(env: Environment, table: Compatibility) -> Check:
    """Whether there is a driver, and npu-smi can talk to it. Which driver a CANN needs is not published."""
    answer = env.npu_smi
    if answer is None:
        if env.driver:
            found = message("driver_no_smi", driver=env.driver)
            return warning("driver", found, message("driver_fix"))
        state = fault if env.on_ascend else warning
        return state("driver", message("driver_missing"), message("driver_fix"))
    if answer.code is None:
        return fault("driver", message("smi_hangs"), message("smi_fix"))
    if answer.code != 0 or "initialize failed" in answer.out or "initialized failed" in answer.out:
        said = next((line.strip() for line in reversed(answer.out.splitlines()) if line.strip()), "")
        return fault("driver", message("smi_failed", code=answer.code, said=said[:200]), message("smi_fix"))
    found = message("driver_smi", driver=env.driver) if env.driver else message("driver_unknown")
    return ok("driver", found)


def devices(env: Environment, table: Compatibility) -> Check:
    """Whether the device files are there, and this user may open them."""
    if not env.devices:
        state = fault if env.on_ascend else warning
        return state("devices", message("devices_missing"), message("devices_fix"))
    there = {manager.path for manager in env.managers}
    missing = [path for path in MANAGERS if path not in there]
    if missing:
        found = message("managers_missing", missing=", ".join(missing))
        return fault("devices", found, message("devices_fix"))
    closed = next((each for each in (*env.devices, *env.managers) if not each.accessible), None)
    if closed:
        found = message("devices_closed", path=closed.path, group=closed.group)
        return fault("devices", found, _join(closed.group))
    first, last = env.devices[0].path, env.devices[-1].path
    if len(env.devices) == 1:
        return ok("devices", message("device", first=first))
    return ok("devices", message("devices", count=len(env.devices), first=first, last=last))


def _join(group: str) -> Message:
    if group == "root":  # nobody should be added to that
        return message("group_root_fix")
    return message("group_number_fix" if group.isdecimal() else "group_fix", group=group)


def visible(env: Environment, table: Compatibility) -> Check | None:
    """Whether CANN reads ASCEND_RT_VISIBLE_DEVICES as it is meant: ascending numbers, nothing else."""
    value = env.variables.get("ASCEND_RT_VISIBLE_DEVICES")
    if value is None:
        return None
    if not value.strip():
        return warning("visible_devices", message("visible_empty"), _unset())
    plain = all(part.isascii() and part.isdigit() for part in value.split(","))
    numbers = [int(part) for part in value.replace(";", ",").replace(" ", ",").split(",") if part.isdigit()]
    wanted = ",".join(map(str, sorted(set(numbers))))
    advice = message("visible_fix", wanted=wanted) if wanted else _unset()
    if not plain:
        return fault("visible_devices", message("visible_other", value=value), advice)
    if len(set(numbers)) < len(numbers):
        return fault("visible_devices", message("visible_repeated", value=value), advice)
    if numbers != sorted(numbers):
        return fault("visible_devices", message("visible_unordered", value=value), advice)
    count = len(env.devices)
    if count and numbers[-1] >= count:
        inside = ",".join(str(number) for number in numbers if number < count)
        advice = message("visible_fix", wanted=inside) if inside else _unset()
        return warning("visible_devices", message("visible_beyond", value=value, count=count), advice)
    return ok("visible_devices", message("visible", value=value))


def _unset() -> Message:
    return message("unset_fix", name="ASCEND_RT_VISIBLE_DEVICES")
