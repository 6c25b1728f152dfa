"""Checks of CANN: its version, its kernels, and the variables that set_env.sh sets."""

from __future__ import annotations

from pathlib import Path

from cuda2npu.catalog.compatibility import Compatibility
from cuda2npu.catalog.releases import cann_order, minor
from cuda2npu.doctor.check import Check, Message, fault, message, ok, warning
from cuda2npu.doctor.environment import LIBRARIES, Environment
from cuda2npu.doctor.install import fitting

SET_ENV = "/usr/local/Ascend/cann/set_env.sh"  # by default; up to CANN 8.3 in .../ascend-toolkit


def cann(env: Environment, table: Compatibility) -> Check:
    """Whether CANN is installed, in the version that torch_npu needs."""
    if env.cann is None:
        row = table.release(env.torch_npu) if env.torch_npu else None
        if row is None and env.torch is not None:
            row = table.suggestion(torch=env.torch, python=minor(env.python))
        advice = message("cann_install", cann=(row or fitting(env, table)).cann)
        state = fault if env.on_ascend else warning
        return state("cann", message("cann_missing"), advice)
    home, version = env.cann.home, env.cann.version
    if version is None:
        found = message("cann_no_version", home=home)
        return warning("cann", found, message("cann_no_version_fix", home=home))
    if env.torch_npu is None:
        return ok("cann", message("cann", cann=version, home=home))
    facts = {"cann": version, "home": home, "torch_npu": env.torch_npu}
    row = table.release(env.torch_npu)
    if row is None:
        return _unlisted(env.torch_npu, version, facts, table)
    mine, needed = cann_order(version), cann_order(row.cann)
    if mine == needed or mine is None or needed is None:
        return ok("cann", message("cann_fits", **facts))
    found = message("cann_older" if mine < needed else "cann_newer", wanted=row.cann, **facts)
    advice = _one_or_the_other(env, version, row.cann, table)
    # A CANN of the same minor is near enough to try; of an older one, interfaces are missing.
    return fault("cann", found, advice) if mine[:2] < needed[:2] else warning("cann", found, advice)


def _unlisted(torch_npu: str, version: str, facts: dict[str, str], table: Compatibility) -> Check:
    older = table.older(torch_npu)
    mine, needed = cann_order(version), cann_order(older.cann) if older else None
    if older and mine and needed and mine < needed:
        found = message(
            "cann_unlisted_older", date=table.date, older=older.torch_npu, wanted=older.cann, **facts
        )
        return fault("cann", found, message("cann_fix_only", wanted=older.cann))
    return warning("cann", message("cann_unlisted", date=table.date, **facts), message("look_at_page"))


def _one_or_the_other(env: Environment, version: str, wanted: str, table: Compatibility) -> Message:
    other = table.suggestion(torch=env.torch_npu, cann=version, python=minor(env.python))
    if other:
        return message("cann_fix", wanted=wanted, torch_npu=other.torch_npu)
    return message("cann_fix_only", wanted=wanted)


def kernels(env: Environment, table: Compatibility) -> Check | None:
    """Whether the package with the operators' binaries is installed beside the toolkit."""
    if env.cann is None:
        return None
    if env.cann.kernels:
        return ok("kernels", message("kernels"))
    return warning("kernels", message("kernels_missing", home=env.cann.home), message("kernels_fix"))


def variables(env: Environment, table: Compatibility) -> Check | None:
    """Whether set_env.sh was sourced. These are what torch_npu's own import demands."""
    if env.cann is None and env.torch_npu is None:
        return None
    home, opp = env.variables.get("ASCEND_HOME_PATH"), env.variables.get("ASCEND_OPP_PATH")
    advice = message("source_fix", set_env=set_env(env))
    if not home:
        return fault("variables", message("home_unset"), advice)
    if env.cann is None or Path(env.cann.home) != Path(home):  # what is found first is what is named there
        return fault("variables", message("home_gone", home=home), advice)
    if not opp:
        return fault("variables", message("opp_unset"), advice)
    if not env.opp_exists:
        return fault("variables", message("opp_gone", opp=opp), advice)
    missing = [name for name in LIBRARIES if name not in env.libraries]
    if missing and not _imported(env):
        return fault("variables", message("libraries_missing", libraries=", ".join(missing)), advice)
    return ok("variables", message("variables", home=home))


def set_env(env: Environment) -> str:
    """Return the script to source, or where it usually is."""
    return (env.cann.set_env if env.cann else None) or SET_ENV


def _imported(env: Environment) -> bool:
    """Whether torch_npu found its libraries all the same, by ld.so.conf for example."""
    return any("torch_npu" in probe.versions for probe in env.probes)
