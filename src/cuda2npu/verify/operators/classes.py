"""Which of the operators that a run used the target has a kernel for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from cuda2npu.catalog.api import api_table
from cuda2npu.catalog.kernels import has_kernel, overload_has_kernel
from cuda2npu.settings import Target
from cuda2npu.verify.operators.inventory import SCHEMA
from cuda2npu.verify.operators.limits import (
    NO_BACKWARD,
    NO_KERNEL,
    ON_THE_CPU,
    Limit,
    limits_of_dtypes,
    limits_of_operators,
)
from cuda2npu.verify.operators.names import in_place_of, parts

_IMPLICIT, _EXPLICIT = "CompositeImplicitAutograd", "CompositeExplicitAutograd"
_STRUCTURED = "CompositeExplicitAutogradNonFunctional"  # calls the overload that writes into a given tensor

_SIMULATED_ON_THE_CPU = "lstm"


class State(str, Enum):
    """How the target computes an operator."""

    KERNEL = "kernel"  # torch_npu has one
    COMPOSITE = "composite"  # torch composes it of others, or it only makes a view
    CPU = "cpu"  # torch_npu copies its inputs to the CPU, and the result back
    NONE = "none"  # it fails


@dataclass(frozen=True)
class Operator:
    """An operator of an inventory, and what becomes of it on the target.

    :param name: with namespace, such as ``aten::add``.
    :param calls: how often it was called, in the backward pass ``backward`` times.
    :param dtypes: type of its inputs and outputs -> where it was first seen with it.
    :param source: where it was first seen, as ``file:line``.
    :param instead: the operator that the NPU takes in its place, as ``lstm`` for ``mkldnn_rnn_layer``.
    :param through: the part of a composite that is computed on the CPU.
    :param limits: what the rules say of it on this chip and in these types.
    """

    name: str
    overload: str
    state: State
    calls: int
    backward: int
    dtypes: Mapping[str, str]
    source: str
    instead: str = ""
    through: str = ""
    limits: Sequence[Limit] = ()

    @property
    def full_name(self) -> str:
        """The name with its overload, as ``aten::add.Tensor``."""
        return f"{self.name}.{self.overload}" if self.overload else self.name


class InventoryError(ValueError):
    """What was given isn't an inventory."""


def classify(found: Mapping[str, Any], target: Target) -> Sequence[Operator]:
    """Return the operators that ran on the device of the run, those without a kernel first.

    Nothing is asked of torch: what its dispatcher knew stands in the inventory. So the kernels of a
    simulated NPU don't count, and an inventory from another machine does.

    :param found: what :meth:`.Inventory.as_json` returned.
    :raises InventoryError: if it isn't an inventory.
    """
    if found.get("schema") != SCHEMA:
        raise InventoryError(f"not an inventory of operators: its schema is {found.get('schema')!r}")
    rows = (row for row in found["operators"] if _is_of_the_device(row, found["device"]))
    operators = [_classified(row, target) for row in rows]
    order = [State.NONE, State.CPU, State.COMPOSITE, State.KERNEL]
    return sorted(operators, key=lambda operator: (order.index(operator.state), -operator.calls))


def _is_of_the_device(row: Mapping[str, Any], device: str) -> bool:
    """Whether it ran there; a simulated NPU computes an LSTM on the CPU, which a real one doesn't."""
    return bool(row["device"] == device) or in_place_of(row["name"][len("aten::") :]) == _SIMULATED_ON_THE_CPU


def _classified(row: Mapping[str, Any], target: Target) -> Operator:
    namespace, _, name = row["name"].partition("::")
    instead = through = ""
    if namespace == "aten":
        state, instead, through = _aten(name, row["overload"], row["kernels"], target.version)
    else:
        state = _of_others(namespace, name, row["kernels"], target.version)
    limits = [
        limit
        for limit in limits_of_operators(target).get(instead or name, ())
        if not limit.dtypes or not set(limit.dtypes).isdisjoint(row["dtypes"])
    ]
    rules = {limit.rule for limit in limits if not limit.dtypes}
    if state is State.KERNEL and rules & {NO_KERNEL, NO_BACKWARD}:
        state = State.NONE
    elif state is State.KERNEL and ON_THE_CPU in rules:
        state = State.CPU
    if row["computes"]:
        limits += [limit for dtype, limit in limits_of_dtypes(target).items() if dtype in row["dtypes"]]
    return Operator(
        name=row["name"],
        overload=row["overload"],
        state=state,
        calls=row["calls"],
        backward=row["backward"],
        dtypes=row["dtypes"],
        source=row["source"],
        instead=instead,
        through=through,
        limits=tuple(limits),
    )


def _aten(
    name: str, overload: str, kernels: Sequence[str], version: tuple[int, int]
) -> tuple[State, str, str]:
    """Return the state, the operator in its place, and the part that is computed on the CPU."""
    if overload_has_kernel(name, overload, version):
        return State.KERNEL, "", ""
    instead = in_place_of(name)
    if instead:
        known = has_kernel(instead, version)
        return (State.KERNEL if known else State.COMPOSITE), instead, ""
    if _is_composite(kernels):
        missing = next((part for part in parts(name) if not has_kernel(part, version)), "")
        return (State.CPU if missing else State.COMPOSITE), "", missing
    return (State.CPU if "CPU" in kernels else State.NONE), "", ""


def _is_composite(kernels: Sequence[str]) -> bool:
    """Whether torch composes it on a device that has no kernel for it.

    A structured operator has a kernel that calls its overload for a given output: where that one is
    computed on the CPU, so is this one.
    """
    if _IMPLICIT in kernels or _EXPLICIT in kernels:
        return True
    return _STRUCTURED in kernels and "CPU" not in kernels


def _of_others(namespace: str, name: str, kernels: Sequence[str], version: tuple[int, int]) -> State:
    """Return the state of an operator that isn't torch's own: torch_npu's, a library's or the user's."""
    if namespace == "npu":
        table = api_table(version)
        lacks = table.ever_had(f"torch_npu.{name}") and not table.has(f"torch_npu.{name}")
        return State.NONE if lacks else State.KERNEL
    if namespace == "c10d":  # collectives: HCCL's
        return State.KERNEL
    if _is_composite(kernels):
        return State.COMPOSITE
    return State.CPU if "CPU" in kernels else State.NONE


def with_classes(found: Mapping[str, Any], target: Target, operators: Sequence[Operator]) -> dict[str, Any]:
    """Return an inventory with what becomes of its operators on ``target``.

    Each operator that ran on the device has a ``class``, a :class:`State`, and a ``note`` in English and
    Chinese: what the NPU takes in its place, the part of it that is computed on the CPU, and what the rules
    say of it.

    :param operators: what :func:`classify` made of it for this target.
    """
    known = {operator.full_name: operator for operator in operators}

    def classed(row: Mapping[str, Any]) -> dict[str, Any]:
        name = f"{row['name']}.{row['overload']}" if row["overload"] else row["name"]
        operator = known.get(name) if row["device"] == found["device"] else None
        if operator is None:
            return dict(row)
        return {**row, "class": operator.state.value, "note": _note(operator)}

    rows = [classed(row) for row in found["operators"]]
    return {**found, "target": {"torch": target.torch, "soc": target.soc}, "operators": rows}


def _note(operator: Operator) -> tuple[str, str]:
    notes = []
    if operator.instead:
        notes.append((f"as aten::{operator.instead}", f"以 aten::{operator.instead} 执行"))
    if operator.through not in ("", operator.name[6:]):
        part = f"aten::{operator.through}"
        notes.append((f"{part}, a part of it, is computed on the CPU", f"其中的 {part} 在 CPU 上计算"))
    notes += [limit.text for limit in operator.limits]
    return "; ".join(english for english, _ in notes), "；".join(chinese for _, chinese in notes)
