"""Names of modules and parameters that are the same in two runs of a program.

The module that is called from outside of all others is a root, and its class is the first part of the
name: ``ResNet.layer1.0.conv1``. A second root of a class is ``ResNet#2``. Roots without parameters share
their class's name: a loss function that is made anew in each step is the same one.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

_COMPILED = "_orig_mod"
_WRAPPERS = {"OptimizedModule": _COMPILED, "DistributedDataParallel": "module"}


class _Named:
    """Objects and their names; what is gone is forgotten. Modules may define equality, so identity counts."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Any], str]] = {}

    def get(self, thing: Any) -> str | None:
        entry = self._entries.get(id(thing))
        return entry[1] if entry is not None and entry[0]() is thing else None

    def add(self, thing: Any, name: str) -> None:
        """Name a thing that has no name yet."""
        if self.get(thing) is not None:
            return
        key = id(thing)
        self._entries[key] = (weakref.ref(thing, lambda ref: self._forget(key, ref)), name)

    def _forget(self, key: int, ref: weakref.ref[Any]) -> None:
        entry = self._entries.get(key)
        if entry is not None and entry[0] is ref:
            del self._entries[key]

    def __iter__(self) -> Iterator[tuple[Any, str]]:
        for ref, name in list(self._entries.values()):
            thing = ref()
            if thing is not None:
                yield thing, name


class Names:
    """The names of one run."""

    def __init__(self) -> None:
        self._modules = _Named()
        self._parameters = _Named()
        self._roots = _Named()
        self._count: Counter[str] = Counter()

    def root(self, module: nn.Module) -> str:
        """Name a root and all that is in it; return its name."""
        module = inner(module)
        label = type(module).__name__
        if has_parameters(module):
            self._count[label] += 1
            if self._count[label] > 1:
                label = f"{label}#{self._count[label]}"
            self._roots.add(module, label)
        self._scan(module, label)
        return label

    def get(self, module: nn.Module) -> str | None:
        """Return the name of a module; None if it has none yet."""
        return self._modules.get(module)

    def within(self, module: nn.Module, parent: str) -> str:
        """Name a module that was called within another, and isn't known: it was made since."""
        if has_parameters(module):
            self._scan_roots()
        self._modules.add(module, f"{parent}.{type(module).__name__}")
        return self._modules.get(module) or parent

    def alias(self, copy: nn.Module, of: nn.Module) -> None:
        """Give a copy the name of the module of which it was made, as for ``nn.DataParallel``."""
        name = self._modules.get(of)
        if name is not None:
            self._modules.add(copy, name)

    def parameter(self, parameter: torch.Tensor) -> str | None:
        """Return the name of a parameter; None if it is in no root that was called."""
        found = self._parameters.get(parameter)
        if found is None:
            self._scan_roots()
        return found or self._parameters.get(parameter)

    def buffers(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield the buffers of all roots that were called, with their names."""
        for root, label in self._roots:
            for path, buffer in root.named_buffers():
                yield f"{label}.{without_wrappers(path)}", buffer

    def parameters(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield the parameters of all roots that were called, with their names."""
        for root, label in self._roots:
            for path, parameter in root.named_parameters():
                yield f"{label}.{without_wrappers(path)}", parameter

    def _scan_roots(self) -> None:
        for root, label in self._roots:
            self._scan(root, label)

    def _scan(self, root: nn.Module, label: str) -> None:
        for path, module in root.named_modules():
            path = without_wrappers(path)
            self._modules.add(module, f"{label}.{path}" if path else label)
        for path, parameter in root.named_parameters():
            self._parameters.add(parameter, f"{label}.{without_wrappers(path)}")


def inner(module: nn.Module) -> nn.Module:
    """Return the module within those that only wrap it; else the same.

    ``torch.compile`` doesn't wrap everywhere, and one process has no DistributedDataParallel: with them the
    same modules would have other names.
    """
    while type(module).__name__ in _WRAPPERS:
        module = module.get_submodule(_WRAPPERS[type(module).__name__])
    return module


def without_wrappers(path: str) -> str:
    """Return a module's path as it is without ``torch.compile``."""
    return ".".join(part for part in path.split(".") if part != _COMPILED)


def has_parameters(module: nn.Module) -> bool:
    """Whether there is a parameter in the module."""
    return next(module.parameters(), None) is not None
