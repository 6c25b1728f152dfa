"""Check of what the import of torch and torch_npu does, from the probes in child processes."""

from __future__ import annotations

import re

from cuda2npu.catalog.compatibility import Compatibility
from cuda2npu.doctor.cann import set_env
from cuda2npu.doctor.check import Check, Message, Said, Text, fault, message, ok
from cuda2npu.doctor.codes import codes
from cuda2npu.doctor.environment import Environment, Probe
from cuda2npu.doctor.install import torch_for_cpu
from cuda2npu.settings import DEFAULT_TORCH

# PyTorch's own words: torch/__init__.py, _import_device_backends.
AUTOLOAD = "Failed to load the backend extension"

# Modules that torch_npu and CANN import -> what to install for them, where the names differ.
DISTRIBUTIONS = {"yaml": "pyyaml", "attr": "attrs"}

_MODULE = re.compile(r"No module named '([\w.]+)'")
_GLIBC = re.compile(r"version [`']?GLIBC(?:XX)?_[\d.]+' not found")


def imports(env: Environment, table: Compatibility) -> Check | None:
    """Whether torch and torch_npu can be imported: first one after the other, then torch with autoload."""
    by_itself = next((probe for probe in env.probes if not probe.autoload), None)
    autoload = next((probe for probe in env.probes if probe.autoload), None)
    if by_itself is None or env.torch is None:
        return None
    if by_itself.failed_at == "torch":
        advice = message("import_torch_fix", torch=torch_for_cpu(env.torch, env))
        return _failed(by_itself, "import_torch", env, advice)
    if env.torch_npu is None:
        return ok("import", message("import_torch_ok", torch=env.torch))
    if autoload and autoload.failed_at == "torch":
        stop = _failed(by_itself if by_itself.failed_at == "torch_npu" else autoload, "import_autoload", env)
        if stop.advice is None:
            return stop
        return fault("import", stop.found, message("both", first=stop.advice, second=message("stopgap")))
    if by_itself.failed_at == "torch_npu":
        return _failed(by_itself, "import_torch_npu", env)
    if by_itself.failed_at == "devices":
        return _failed(by_itself, "import_devices", env)
    if by_itself.devices == 0 and env.devices:
        found = message("no_devices", count=len(env.devices))
        return fault("import", found, message("no_devices_fix"))
    found = message("import_ok", torch=env.torch, torch_npu=env.torch_npu, count=by_itself.devices)
    return ok("import", found)


def _failed(probe: Probe, key: str, env: Environment, advice: Said | None = None) -> Check:
    """Return the fault for a probe that didn't get through.

    :param key: the message for an exception.
    :param advice: for a cause that isn't known.
    """
    if probe.code is None:
        found = message("import_late", what=probe.failed_at)
        return fault("import", found, message("import_late_fix"))
    reason = _reason(probe)
    if probe.code != 0:  # it didn't even live to tell
        found = message("import_crash", what=probe.failed_at, code=probe.code, reason=reason)
    else:
        found = message(key, reason=reason)
    return fault("import", found, _advice("\n".join(probe.reasons), env) or advice or _OTHER)


_OTHER = message("import_other_fix")


def _reason(probe: Probe) -> str:
    """Return the innermost cause in one line; torch only wraps it."""
    told = [reason for reason in probe.reasons if AUTOLOAD not in reason]
    text = (told or list(probe.reasons) or [""])[-1 if told and probe.code == 0 else 0]
    line = " ".join(text.split("[ERROR]")[0].split())
    return line if len(line) <= 300 else line[:300] + "..."


def _advice(text: str, env: Environment) -> Said | None:
    """Return what to do about an exception whose cause is known."""
    causes = "\n".join(line for line in text.splitlines() if AUTOLOAD not in line)
    known = codes().explain_text(causes)
    if known:
        return fill(known.advice, env)
    module = _MODULE.search(causes)
    if module and not module[1].startswith(("torch.", "torch_npu.")):
        name = module[1].partition(".")[0]
        return message("import_module_fix", module=DISTRIBUTIONS.get(name, name))
    return message("import_glibc_fix") if _GLIBC.search(causes) else None


def fill(advice: Said, env: Environment) -> Said:
    """Put this machine's script and version into an advice of the table of codes."""
    if isinstance(advice, Message):
        return advice
    values = {
        "set_env": set_env(env),
        "torch": torch_for_cpu(env.torch or env.torch_npu or DEFAULT_TORCH, env),
    }
    return Text(*(_put(text, values) for text in (advice.en, advice.zh)))


def _put(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text
