"""Check of the compiler, which only the simulator needs."""

from __future__ import annotations

from cuda2npu.catalog.compatibility import Compatibility
from cuda2npu.doctor.check import Check, message, ok, warning
from cuda2npu.doctor.environment import Environment


def compiler(env: Environment, table: Compatibility) -> Check:
    """Whether there is the compiler that the simulator needs."""
    if env.compiler:
        return ok("compiler", message("compiler", path=env.compiler))
    return warning("compiler", message("compiler_missing"), message("compiler_fix"))
