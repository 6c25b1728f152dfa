"""Checks of Python, torch, torch_npu and numpy, and of whether they go together."""

from __future__ import annotations

from collections.abc import Sequence

from cuda2npu.catalog.compatibility import Compatibility
from cuda2npu.catalog.releases import cann_order, minor, order, release
from cuda2npu.doctor.check import Check, Message, fault, message, ok, warning
from cuda2npu.doctor.environment import Environment
from cuda2npu.doctor.install import fitting, torch_for_cpu

# pytorch/pytorch#132179: 2.3.0 is the first version that supports numpy 2.
FIRST_TORCH_WITH_NUMPY_2 = (2, 3)
# vllm-project/vllm-ascend#2210: CANN 8.2.RC1 fails with numpy 2; torch_npu's installation guide installs
# numpy 2.1.2 with CANN 9.0.0. Nothing is said of the versions between.
LAST_CANN_WITHOUT_NUMPY_2 = (8, 2)
FIRST_CANN_WITH_NUMPY_2 = (9, 0)


def python(env: Environment, table: Compatibility) -> Check:
    """Whether torch_npu supports this Python with the installed torch."""
    mine = minor(env.python)
    built_for = env.torch or (release(env.torch_npu) if env.torch_npu else None)
    known = table.pythons(built_for) if built_for else table.all_pythons()
    if mine in known:
        return ok("python", message("python", python=env.python, executable=env.executable))
    if not known:
        found = message("python_unknown", python=env.python, torch=built_for, date=table.date)
        return warning("python", found, message("look_at_page"))
    supported = f"{known[0]} - {known[-1]}"
    advice = message("python_fix", wanted=_usual(known))
    if built_for:
        found = message(
            "python_unsupported", python=env.python, torch=release(built_for), supported=supported
        )
    else:
        found = message("python_never", python=env.python, supported=supported)
    return fault("python", found, advice)


def _usual(known: Sequence[str]) -> str:
    """Return 3.11 where it is supported: every torch_npu has a wheel for it."""
    return "3.11" if "3.11" in known else known[-1]


def torch(env: Environment, table: Compatibility) -> Check:
    """Whether torch is installed, in a build that torch_npu can work with."""
    if env.torch is None:
        wanted = env.torch_npu or fitting(env, table).torch
        found = message("torch_missing", executable=env.executable)
        return fault("torch", found, message("torch_fix", torch=torch_for_cpu(wanted, env)))
    if env.torch_cuda and env.on_ascend:
        found = message("torch_cuda", torch=env.torch, cuda=env.torch_cuda)
        return warning("torch", found, message("torch_cuda_fix", torch=torch_for_cpu(env.torch, env)))
    return ok("torch", message("torch", torch=env.torch))


def torch_npu(env: Environment, table: Compatibility) -> Check:
    """Whether torch_npu is installed."""
    if env.torch_npu is not None:
        return ok("torch_npu", message("torch_npu", torch_npu=env.torch_npu))
    found = message("torch_npu_missing")
    advice = _install_torch_npu(env, table)
    return fault("torch_npu", found, advice) if env.on_ascend else warning("torch_npu", found, advice)


def _install_torch_npu(env: Environment, table: Compatibility) -> Message:
    python, cann = minor(env.python), env.cann.version if env.cann else None
    other = fitting(env, table)
    torch = env.torch or other.torch
    for wish in ({"cann": cann, "python": python}, {"python": python}):
        row = table.suggestion(torch=torch, **wish)
        if row:
            return message("torch_npu_fix", torch_npu=row.torch_npu)
    return message(
        "torch_npu_no_release",
        date=table.date,
        torch=release(torch),
        python=python,
        wanted=torch_for_cpu(other.torch, env),
        torch_npu=other.torch_npu,
    )


def pair(env: Environment, table: Compatibility) -> Check | None:
    """Whether torch_npu was built for this torch."""
    if env.torch_npu is None:
        return None
    row = table.release(env.torch_npu)
    wanted = row.torch if row else release(env.torch_npu)
    fix = message("pair_fix_torch", wanted=torch_for_cpu(wanted, env))
    if env.torch is None:
        found = message("pair_no_torch", torch_npu=env.torch_npu)
        return fault("pair", found, fix)
    if release(env.torch) == wanted:
        return ok("pair", message("pair", torch=env.torch, torch_npu=env.torch_npu))
    found = message("pair_differs", torch=env.torch, torch_npu=env.torch_npu, wanted=wanted)
    if minor(env.torch) == minor(wanted):  # the wheels demand the same patch release, too
        return warning("pair", found, fix)
    other = table.suggestion(torch=env.torch, python=minor(env.python))
    if other is None:
        return fault("pair", found, fix)
    either = message("pair_fix_either", torch_npu=other.torch_npu, wanted=torch_for_cpu(wanted, env))
    return fault("pair", found, either)


def numpy(env: Environment, table: Compatibility) -> Check | None:
    """Whether numpy is of a version that torch and CANN take."""
    version = env.packages.get("numpy")
    if version is None:
        if env.torch is None:
            return None
        return warning("numpy", message("numpy_missing"), message("numpy_missing_fix"))
    if (order(version) or (0,))[0] < 2:
        return ok("numpy", message("numpy", numpy=version))
    if env.torch and (order(env.torch) or FIRST_TORCH_WITH_NUMPY_2)[:2] < FIRST_TORCH_WITH_NUMPY_2:
        found = message("numpy_torch", numpy=version, torch=env.torch)
        return fault("numpy", found, message("numpy_fix"))
    cann = _cann_in_use(env, table)
    mine = cann_order(cann) if cann else None
    if mine is None or mine[:2] >= FIRST_CANN_WITH_NUMPY_2:
        return ok("numpy", message("numpy", numpy=version))
    if mine[:2] <= LAST_CANN_WITHOUT_NUMPY_2:
        return fault("numpy", message("numpy_cann", numpy=version, cann=cann), message("numpy_fix"))
    found = message("numpy_cann_unknown", numpy=version, cann=cann)
    return warning("numpy", found, message("numpy_watch"))


def _cann_in_use(env: Environment, table: Compatibility) -> str | None:
    """Return the CANN version, or failing that the one that the installed torch_npu needs."""
    if env.cann and env.cann.version:
        return env.cann.version
    row = table.release(env.torch_npu) if env.torch_npu else None
    return row.cann if row else None
