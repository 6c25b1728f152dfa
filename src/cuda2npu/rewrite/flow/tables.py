"""Dicts that map devices, or to devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from cuda2npu.rewrite.flow.cells import LOOKUPS
from cuda2npu.rewrite.flow.uses import Use
from cuda2npu.rewrite.tree import string_value

if TYPE_CHECKING:
    from cuda2npu.rewrite.flow.flow import Flow

_DEVICE_TYPES = {"cpu", "cuda", "hpu", "mlu", "mps", "mtia", "npu", "xla", "xpu", "meta", "default", "musa"}


class Tables:
    """Tells, for one flow, what the keys and values of dicts are used as."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.names = flow.names
        self._active: set[cst.CSTNode] = set()

    def values_of(self, table: cst.CSTNode) -> Use:
        """Return what the values of a dict are used as."""
        parent = self.names.parents[table]
        if isinstance(parent, cst.Subscript) and parent.value is table:
            return self.flow.use_of(parent)
        return self.flow.use_of(table)

    def keys_of(self, table: cst.CSTNode, position: int | None = None) -> Use:
        """Return what the keys of a dict are: what it is looked up with.

        :param position: the place in the key, where keys are tuples.
        """
        if table in self._active:
            return Use.UNKNOWN
        self._active.add(table)
        try:
            if any(self._dispatches_devices(literal) for literal in self._literals(table)):
                return Use.PROVEN
            keys = (self._part(key, position) for key in self.looked_up_with(table))
            return max((self.flow.source(key) for key in keys if key is not None), default=Use.UNKNOWN)
        finally:
            self._active.discard(table)

    def _dispatches_devices(self, table: cst.Dict) -> bool:
        """Whether a dict has a device type for every key, and for "cuda" something of CUDA's own.

        ``{"cuda": torch.cuda.synchronize, "cpu": None}`` dispatches on the device. A *call* of such a
        function is a value to be kept, as in a saved state, and says nothing.
        """
        elements = [element for element in table.elements if isinstance(element, cst.DictElement)]
        keys = {string_value(element.key) for element in elements}
        if not keys <= _DEVICE_TYPES:
            return False
        return any(string_value(e.key) == "cuda" and self._is_cudas(e.value) for e in elements)

    def _is_cudas(self, value: cst.BaseExpression) -> bool:
        if string_value(value) == "nccl":
            return True
        return any(name.startswith("torch.cuda.") for name in self.names.qualified(value))

    def _literals(self, table: cst.CSTNode) -> Iterator[cst.Dict]:
        """Yield the dict displays that ``table`` may be."""
        if isinstance(table, cst.Dict):
            yield table
            return
        cell = self.flow.cells.of(table)
        if cell is not None:
            yield from (value for value in self.flow.cells.values(cell) if isinstance(value, cst.Dict))

    def _part(self, key: cst.CSTNode, position: int | None) -> cst.CSTNode | None:
        if position is None:
            return key
        if isinstance(key, cst.Tuple) and position < len(key.elements):
            return key.elements[position].value
        return None

    def looked_up_with(self, table: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the keys with which a dict, or what holds one, is looked up."""
        places: list[cst.CSTNode] = [table]
        parent = self.names.parents[table]
        cell = None
        if isinstance(parent, cst.Assign):
            cell = self.flow.cells.of(parent.targets[0].target)
        elif isinstance(parent, cst.AnnAssign):
            cell = self.flow.cells.of(parent.target)
        elif isinstance(table, (cst.Name, cst.Attribute)):
            cell = self.flow.cells.of(table)
        if cell is not None:
            places += self.flow.cells.reads(cell)
        for place in places:
            user = self.names.parents[place]
            if isinstance(user, cst.Subscript) and user.value is place:
                yield from _indices(user)
            elif isinstance(user, cst.Attribute) and user.attr.value in LOOKUPS:
                call = self.names.parents[user]
                if isinstance(call, cst.Call) and call.args:
                    yield call.args[0].value
            elif isinstance(user, cst.ComparisonTarget):
                comparison = self.names.parents[user]
                if isinstance(comparison, cst.Comparison):
                    yield comparison.left


def _indices(subscript: cst.Subscript) -> Iterator[cst.CSTNode]:
    if len(subscript.slice) > 1:  # x[a, b]: the key is a tuple
        yield cst.Tuple(
            [cst.Element(e.slice.value) for e in subscript.slice if isinstance(e.slice, cst.Index)]
        )
        return
    for element in subscript.slice:
        if isinstance(element.slice, cst.Index):
            yield element.slice.value
