"""Which names the simulated torch_npu shows: those of the real one of the target version, and no others.

A wrong rewrite must fail on the simulation as it would on an NPU. So a module of the simulation shows a
public name only if the version table of :mod:`cuda2npu.catalog.api` has it, and takes a parameter only
if the table lists it. What the real package has and the simulation doesn't raises NotImplementedError
when it is called.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, wraps
from types import FunctionType, ModuleType
from typing import Any, NoReturn, cast

from cuda2npu.catalog.api import ApiTable, api_table
from cuda2npu.simulator.build import SimulatorError

TARGET = "CUDA2NPU_SIM_TORCH"
"""The environment variable with the target's version of torch, for example ``2.7``."""

# What real packages of torch_npu are, beside its operators; only these can be imported from its root.
_PACKAGES = frozenset(
    {
        "asd", "contrib", "distributed", "dynamo", "jit", "npu", "onnx", "op_plugin", "optim", "profiler",
        "testing", "utils", "version",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Target:
    """The torch_npu that is simulated.

    :param version: major and minor.
    :param release: the version of torch that it belongs to, such as ``2.7.1``.
    """

    version: tuple[int, int]
    release: str
    table: ApiTable

    def __str__(self) -> str:
        return f"torch_npu {self.release}"


@cache
def target() -> Target:
    """Return what :data:`TARGET` says, else the minor version of the torch that is installed.

    :raises SimulatorError: if the version can't be read, or no torch_npu is known for it.
    """
    wanted = os.environ.get(TARGET) or _installed_torch()
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", wanted)
    if match is None:
        raise SimulatorError(f"{TARGET}={wanted} is no version of torch; write for example {TARGET}=2.7")
    version = int(match[1]), int(match[2])
    try:
        table = api_table(version)
    except ValueError as error:
        raise SimulatorError(f"{TARGET}={wanted}: {error}") from None
    release = match[0] if match[3] else _release(table, version)
    return Target(version, release, table)


def _installed_torch() -> str:
    import torch

    return str(torch.__version__)


def _release(table: ApiTable, version: tuple[int, int]) -> str:
    """Return the release of the table's wheel: torch_npu-2.7.1.post11 belongs to torch 2.7.1."""
    match = re.search(r"torch_npu-(\d+\.\d+\.\d+)", table.wheel)
    minor = f"{version[0]}.{version[1]}."
    return match[1] if match and match[1].startswith(minor) else f"{minor}0"


# --- modules ------------------------------------------------------------------------------------


class TargetModule(ModuleType):
    """A module of the simulation that hides what the target's torch_npu lacks.

    Its own code reads its globals as ever; what comes from outside goes through here.
    """

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__"):
            return super().__getattribute__(name)
        namespace = super().__getattribute__("__dict__")
        dotted = f"{namespace['__name__']}.{name}"
        if _is_shown(dotted) or name in namespace.get("_ALSO", ()):
            return super().__getattribute__(name)
        raise missing(namespace["__name__"], name)

    def __getattr__(self, name: str) -> Any:
        """Called for names that the simulation doesn't define."""
        module = self.__name__
        dotted = f"{module}.{name}"
        if name.startswith("__") or not target().table.has(dotted):
            raise missing(module, name)
        if _is_on_disk(dotted):
            raise AttributeError(f"module {module!r} has no attribute {name!r}; import {dotted} first")
        if "__path__" in self.__dict__ and _may_be_module(dotted):
            return importlib.import_module(dotted)
        stub = unimplemented(dotted)
        self.__dict__[name] = stub
        return stub

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if _is_shown(f"{self.__name__}.{name}")]


def _is_shown(dotted: str) -> bool:
    """Whether the target has a name; a private one that no version has is the simulation's own affair."""
    table = target().table
    is_private = dotted.rpartition(".")[2][0] == "_"
    return table.has(dotted) or (is_private and not table.ever_had(dotted))


def only_names_of_target(module: str) -> None:
    """Make ``module``, as it is now, show the names and parameters of the target's torch_npu alone.

    Called at the end of each module of the simulation. A module that needs a public name that the real
    package lacks lists it in ``_ALSO``.
    """
    found = sys.modules[module]
    for name, value in list(vars(found).items()):
        if not name.startswith("__") and getattr(value, "__module__", "").startswith("torch_npu"):
            narrowed = _narrow(value, f"{module}.{name}")
            if narrowed is not value:
                setattr(found, name, narrowed)
    found.__class__ = TargetModule
    if "__all__" not in vars(found):
        found.__dict__["__all__"] = [name for name in dir(found) if name[0] != "_"]
    else:
        found.__dict__["__all__"] = [name for name in found.__all__ if target().table.has(f"{module}.{name}")]


def missing(module: str, name: str) -> AttributeError:
    """Return the error for a name that the target's torch_npu doesn't have."""
    text = f"module {module!r} has no attribute {name!r} in {target()}"
    if target().table.ever_had(f"{module}.{name}"):
        text += " (another version has it)"
    return AttributeError(text, **({"name": name} if sys.version_info >= (3, 10) else {}))


# --- parameters ---------------------------------------------------------------------------------


def _narrow(value: Any, dotted: str) -> Any:
    """Return ``value`` without the parameters and members that the target's version doesn't have."""
    if not target().table.has(dotted):
        return value  # it isn't shown
    if isinstance(value, type):
        _narrow_class(value, dotted)
        return value
    if not isinstance(value, FunctionType):
        return value
    return _without(value, _surplus(value, dotted), dotted)


def _narrow_class(cls: type, dotted: str) -> None:
    table = target().table
    makers = [cls.__dict__[maker] for maker in ("__new__", "__init__") if maker in cls.__dict__]
    for maker in makers:
        function = inspect.unwrap(getattr(maker, "__func__", maker))
        if isinstance(function, FunctionType) and (surplus := _surplus(function, dotted, skip=1)):
            changed = _without(function, surplus, dotted)
            setattr(
                cls, function.__name__, staticmethod(changed) if function.__name__ == "__new__" else changed
            )
    members = [name for name in vars(cls) if name[0] != "_" and not issubclass(cls, Enum)]
    if dotted.startswith("torch_npu._C.") or not any(table.ever_had(f"{dotted}.{name}") for name in members):
        return  # the table lists few or no members of classes that the real package writes in C++
    for name in members:
        if not table.has(f"{dotted}.{name}"):
            delattr(cls, name)


def _surplus(function: Callable[..., Any], dotted: str, skip: int = 0) -> frozenset[str]:
    """Return the parameters of ``function`` that the target doesn't list; ``skip`` leaves out self."""
    known = target().table.parameters(dotted)
    if known is None:
        return frozenset()
    if any(name.startswith("**") for name in known):
        return frozenset()
    own = list(inspect.signature(function).parameters.values())[skip:]
    plain = [p.name for p in own if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return frozenset(plain) - frozenset(known)


def _without(function: Callable[..., Any], surplus: frozenset[str], dotted: str) -> Callable[..., Any]:
    """Return ``function``, refusing the parameters ``surplus``, which stand last in it."""
    if not surplus:
        return function
    signature = inspect.signature(function)
    kept = signature.replace(parameters=[p for p in signature.parameters.values() if p.name not in surplus])

    @wraps(function)
    def narrowed(*args: Any, **kwargs: Any) -> Any:
        try:
            kept.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{dotted}() {error} in {target()}") from None
        return function(*args, **kwargs)

    narrowed.__signature__ = kept  # type: ignore[attr-defined]
    return narrowed


# --- names without an implementation ------------------------------------------------------------


def refuse(dotted: str) -> NoReturn:
    """Say that the simulation has no implementation of ``dotted``, which the real torch_npu has."""
    raise NotImplementedError(f"{dotted} exists in {target()}, but the simulated NPU doesn't implement it")


def unimplemented(dotted: str) -> Any:
    """Return a stand-in for ``dotted`` that raises NotImplementedError when it is called.

    A name in capitals stands for a class, so that ``isinstance(x, torch.npu.NPUGraph)`` works.
    """
    module, _, name = dotted.rpartition(".")
    if name.lstrip("_")[:1].isupper():
        return _UnimplementedClass(name, (), {"__module__": module, "_dotted": dotted})

    def stub(*args: Any, **kwargs: Any) -> NoReturn:
        refuse(dotted)

    stub.__name__ = stub.__qualname__ = name
    stub.__module__ = module
    stub.__doc__ = f"{dotted}, which the simulation doesn't implement."
    return stub


class _UnimplementedClass(type):
    """The type of stand-ins for classes."""

    _dotted: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        refuse(cls._dotted)

    def __getattr__(cls, name: str) -> Any:
        if name[0] != "_" and target().table.has(f"{cls._dotted}.{name}"):
            return unimplemented(f"{cls._dotted}.{name}")
        raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r} in {target()}")


class UnimplementedModule(TargetModule):
    """A module of the real torch_npu that the simulation has no file for, or what may be one.

    Of a name in small letters without parameters the table doesn't tell whether it is a module or a
    function, so this one can be called too.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Say that it isn't implemented."""
        refuse(self.__name__)


class MissingModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes modules of the real torch_npu that the simulation has no file for importable."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a module that the table has and the disk hasn't; this finder is asked last."""
        if not fullname.startswith(("torch_npu.", "torch.npu.")) or not _may_be_module(fullname):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Make the module; its names are looked up when they are asked for."""
        return UnimplementedModule(spec.name, f"{spec.name}, which the simulation doesn't implement.")

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is in it."""


def _may_be_module(dotted: str) -> bool:
    parent, _, name = dotted.rpartition(".")
    if name.lower() != name or not target().table.has(dotted):
        return False
    if parent == "torch_npu":
        return name in _PACKAGES
    return target().table.parameters(dotted) is None


def _is_on_disk(dotted: str) -> bool:
    parent = sys.modules.get(dotted.rpartition(".")[0])
    paths = cast("list[str] | None", getattr(parent, "__path__", None))
    return paths is not None and importlib.machinery.PathFinder.find_spec(dotted, paths) is not None
