"""Which names torch_npu has, version by version, and with which parameters they are called.

The table beside this module, ``torch_npu_api.json``, is written by ``tools/build_api_tables.py`` from
the public wheels; it holds their file hashes and upload dates. A name has one ``0`` or ``1`` per wheel.
Its parameters are listed at the first version from which they hold, ``name=`` for one with a default.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from cuda2npu.catalog.versions import columns


@dataclass(frozen=True)
class ApiTable:
    """The names of one torch_npu version.

    :param wheel: the wheel that they were read from; two for a version that stands between them.
    """

    wheel: str
    _columns: tuple[int, ...] = field(repr=False)

    def has(self, dotted: str) -> bool:
        """Whether ``dotted`` exists, for example ``torch.npu.Event`` or ``torch_npu.npu.Event``.

        Known are torch.npu, torch_npu.profiler, optim, contrib, utils and distributed, the custom
        operators in torch_npu and private names in torch_npu._C; of a class the public attributes
        that Python code defines. A submodule counts although some must be imported by their name.
        """
        present = _data()["names"].get(_listed(dotted))
        return present is not None and all(present[column] == "1" for column in self._columns)

    def ever_had(self, dotted: str) -> bool:
        """Whether some version in the table has the name, be it this one or another."""
        return _listed(dotted) in _data()["names"]

    def parameters(self, dotted: str) -> tuple[str, ...] | None:
        """Return the names of the parameters in order, without self.

        ``/``, ``*``, ``*args`` and ``**kwargs`` stand as in the definition. None if the name doesn't
        exist, can't be called, is written in C++, or has other parameters in a neighbouring version.
        """
        written = self._written(dotted)
        return None if written is None else tuple(name.rstrip("=") for name in written)

    def required(self, dotted: str) -> tuple[str, ...] | None:
        """Return those of the parameters that have no default; None as for :meth:`parameters`."""
        written = self._written(dotted)
        if written is None:
            return None
        return tuple(name for name in written if not name.endswith("=") and name[0] not in "*/")

    def _written(self, dotted: str) -> list[str] | None:
        if not self.has(dotted):
            return None
        history = _data()["parameters"].get(_listed(dotted), {})
        first, *others = (_at(history, column) for column in self._columns)
        return first if all(other == first for other in others) else None


def api_versions() -> list[str]:
    """Return the minor versions that have a wheel of their own, oldest first."""
    return [wheel["torch"] for wheel in _data()["wheels"]]


@cache
def api_table(version: tuple[int, int]) -> ApiTable:
    """Return the names of a minor version, such as ``(2, 7)``.

    A version without a wheel (2.2) has what both its neighbours have; one that is newer than the
    table counts as the newest in it.

    :raises ValueError: if the version is older than every wheel.
    """
    found = columns(_versions(), version)
    return ApiTable(", ".join(_data()["wheels"][column]["wheel"] for column in found), found)


@cache
def _data() -> Any:
    table = resources.files("cuda2npu.catalog").joinpath("torch_npu_api.json")
    return json.loads(table.read_text(encoding="utf-8"))


@cache
def _versions() -> list[tuple[int, int]]:
    pairs = (version.split(".") for version in api_versions())
    return [(int(major), int(minor)) for major, minor in pairs]


def _listed(dotted: str) -> str:
    """Return ``dotted`` as the table has it: torch_npu registers torch_npu.npu as torch.npu."""
    if dotted == "torch_npu.npu" or dotted.startswith("torch_npu.npu."):
        return dotted.replace("torch_npu", "torch", 1)
    return dotted


def _at(history: dict[str, list[str] | None], column: int) -> list[str] | None:
    """Return the entry of ``history`` that holds for the wheel in ``column``."""
    found = None
    for version in api_versions()[: column + 1]:
        found = history.get(version, found)
    return found
