"""All checks, the codes of a log, and the document that both make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable

from cuda2npu import __version__
from cuda2npu.catalog.compatibility import Compatibility, compatibility
from cuda2npu.doctor import cann, compiler, devices, imports, packages, settings
from cuda2npu.doctor.check import Check, State
from cuda2npu.doctor.codes import Meaning, codes
from cuda2npu.doctor.environment import Environment
from cuda2npu.doctor.log import Hit, Scan

SCHEMA = "cuda2npu-doctor/1"

# In the order in which one would mend what they find.
CHECKS: Sequence[Callable[[Environment, Compatibility], Check | None]] = (
    devices.driver,
    devices.devices,
    packages.python,
    packages.torch,
    packages.torch_npu,
    packages.pair,
    packages.numpy,
    cann.cann,
    cann.kernels,
    cann.variables,
    devices.visible,
    settings.cuda_variables,
    settings.autoload,
    settings.hccl_timeouts,
    imports.imports,
    compiler.compiler,
)


@dataclass(frozen=True)
class Found:
    """A code of the log, and what it means."""

    hit: Hit
    meaning: Meaning


@dataclass(frozen=True)
class Log:
    """What was found in a log."""

    path: str
    lines: int
    codes: Sequence[Found]


@dataclass(frozen=True)
class Diagnosis:
    """What the doctor says."""

    checks: Sequence[Check]
    table: Compatibility
    on_ascend: bool = True
    log: Log | None = None

    @property
    def states(self) -> Sequence[State]:
        """The states of all checks and codes."""
        found = self.log.codes if self.log else ()
        return [check.state for check in self.checks] + [each.meaning.state for each in found]

    @property
    def state(self) -> State:
        """The worst of them."""
        return next((state for state in (State.FAULT, State.WARNING) if state in self.states), State.OK)


def examine(env: Environment, log: Scan | None = None) -> Diagnosis:
    """Return the diagnosis of a machine, and of a log if there is one."""
    table = compatibility()
    found = (check(env, table) for check in CHECKS)
    checks = [check for check in found if check is not None]
    return Diagnosis(checks, table, env.on_ascend, _explained(log, env) if log else None)


def _explained(log: Scan, env: Environment) -> Log:
    return Log(log.path, log.lines, [Found(hit, _meant(hit, env)) for hit in log.hits])


def _meant(hit: Hit, env: Environment) -> Meaning:
    known = codes().explain(hit.code)
    advice = imports.fill(known.advice, env)
    return Meaning(known.code, known.known, known.state, known.meaning, advice, known.source)


def document(diagnosis: Diagnosis, lang: str) -> dict[str, Any]:
    """Return the diagnosis as JSON (``cuda2npu-doctor/1``)."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "cuda2npu", "version": __version__},
        "compatibility": {"source": diagnosis.table.source, "date": diagnosis.table.date},
        "state": diagnosis.state.value,
        "npu": diagnosis.on_ascend,
        "checks": [
            {
                "name": check.name,
                "state": check.state.value,
                "found": check.found.in_language(lang),
                "advice": check.advice.in_language(lang) if check.advice else None,
            }
            for check in diagnosis.checks
        ],
        "log": _log_document(diagnosis.log, lang) if diagnosis.log else None,
    }


def _log_document(log: Log, lang: str) -> dict[str, Any]:
    return {
        "path": log.path,
        "lines": log.lines,
        "codes": [
            {
                "code": found.hit.code,
                "known": found.meaning.known,
                "state": found.meaning.state.value,
                "count": found.hit.count,
                "line": found.hit.line,
                "meaning": found.meaning.meaning.in_language(lang),
                "advice": found.meaning.advice.in_language(lang),
                "source": found.meaning.source,
            }
            for found in log.codes
        ],
    }
