"""What a capture consists of: a header, and records in the order in which things were computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

from cuda2npu.verify import checks

SCHEMA = "cuda2npu-capture/1"


class Kind(str, Enum):
    """What a record is about.

    ``INPUT`` and ``OUTPUT`` are those of a module's call, ``OUTPUT_GRADIENT`` is the gradient of the loss
    with respect to such an output, ``GRADIENT`` that of a parameter, as the optimizer finds it.
    """

    INPUT = "input"
    OUTPUT = "output"
    INPUT_GRADIENT = "input_gradient"
    OUTPUT_GRADIENT = "output_gradient"
    GRADIENT = "gradient"
    PARAMETER = "parameter"  # behind the optimizer's step
    BUFFER = "buffer"  # at the end of the step
    LOSS = "loss"
    LEARNING_RATE = "learning_rate"
    METRIC = "metric"  # what a validation set yields
    RANDOM_STATE = "random_state"  # a digest of torch's generator on the CPU, before the step


@dataclass(frozen=True)
class Statistics:
    """A tensor in a few numbers, over its finite elements, computed in float32 or better.

    :param norm: square root of the sum of squares.
    :param nan: number of elements that aren't numbers.
    :param inf: number of infinite elements.
    """

    minimum: float | None
    maximum: float | None
    mean: float | None
    norm: float | None
    nan: int = 0
    inf: int = 0


@dataclass(frozen=True)
class Key:
    """What two captures are matched by, within a step.

    :param name: the module, from its root's class on, as ``ResNet.layer1.0.conv1``, or the parameter; "" for
        what belongs to neither, as a loss.
    :param call: how many times the module was called before in this step.
    :param path: where in the arguments or in the result the tensor stands, as ``0`` or ``logits.1``; "" where
        the result is the tensor.
    """

    kind: Kind
    name: str
    call: int = 0
    path: str = ""


@dataclass(frozen=True)
class Record:
    """One thing that was computed: a tensor, or a plain value.

    :param order: position within the step; inputs come before what the module calls, outputs behind it.
    :param dtype: such as ``float32``; the Python type's name for a plain value, ``NoneType`` for None.
    :param shape: None for a plain value.
    :param device: such as ``npu:0``.
    :param value: a plain value, or the digest of a random state.
    :param tensor: the key under which the tensor lies in its shard; None if only its statistics were kept.
    :param shard: file of the tensor, within the step's folder.
    :param same_as: the order of an earlier record of this step that holds the very same tensor, unchanged
        since; such a record has neither statistics nor tensor of its own.
    :param module: class of the module.
    :param training: whether the module was in training mode.
    :param source: ``file:line`` of the call in the user's code, relative to the program's folder.
    :param defined: the same of the module's own ``forward``, where that is the user's.
    :param note: why a thing could not be recorded, such as an object whose inside is unknown.
    """

    key: Key
    order: int
    dtype: str
    shape: tuple[int, ...] | None = None
    device: str = "cpu"
    value: float | int | str | bool | None = None
    statistics: Statistics | None = None
    tensor: str | None = None
    shard: str | None = None
    same_as: int | None = None
    module: str = ""
    training: bool | None = None
    source: str = ""
    defined: str = ""
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the record as a line of ``records.jsonl`` holds it: what is empty is left out."""
        flat: dict[str, Any] = {**asdict(self.key), **asdict(self)}
        del flat["key"]
        flat["value"] = _written(self.value)
        if self.statistics is not None:
            flat["statistics"] = {name: _written(value) for name, value in flat["statistics"].items()}
        return {name: value for name, value in flat.items() if value is not None and value != ""}


def record_from_json(found: Mapping[str, Any]) -> Record:
    """Return the record of a line.

    :raises KeyError, OverflowError, TypeError, ValueError: if it isn't one.
    """
    rest = dict(found)
    checks.check(rest, checks.RECORD)
    key = Key(Kind(rest.pop("kind")), rest.pop("name", ""), rest.pop("call", 0), rest.pop("path", ""))
    statistics = rest.pop("statistics", None)
    shape = rest.pop("shape", None)
    if shape is not None:
        checks.check_all(shape, int, "shape")
    if statistics is not None:
        checks.check(statistics, checks.STATISTICS)
    if rest["dtype"] == "float" and rest.get("value") is not None:
        rest["value"] = float(rest["value"])
    return Record(
        key=key,
        statistics=None if statistics is None else Statistics(**{k: _read(v) for k, v in statistics.items()}),
        shape=None if shape is None else tuple(shape),
        **rest,
    )


def header_from_json(found: Mapping[str, Any]) -> Header:
    """Return the header; entries of later versions are left out.

    :raises TypeError: if something is missing or of another type.
    """
    checks.check(found, checks.HEADER)
    checks.check(found.get("settings", {}), checks.SETTINGS)
    checks.check_all(found.get("replaced", ()), str, "replaced")
    return Header(**{name: value for name, value in found.items() if name in checks.HEADER})


def _written(value: Any) -> Any:
    """JSON has no infinity and no nan: they are written as words, which ``float`` reads."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _read(value: Any) -> Any:
    return float(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Header:
    """Where, how and with what a capture was made.

    :param what: the command, or the model as ``pkg/model.py:build``.
    :param device: ``npu``, ``simulated``, ``cuda``, ``cpu`` or ``cpu-as-cuda``: a simulation is never an NPU.
    :param dtype: the type that the model was cast to, as for a golden in float64; "" if it was left as it is.
    :param settings: what was recorded: depth, pattern, whether tensors or statistics, steps wanted.
    :param environment: versions, flags and seeds, by name.
    :param rank: of this process, of so many.
    :param inventory: what :mod:`cuda2npu.verify.operators.inventory` makes; None if none was taken.
    :param complete: whether the run came to its end.
    :param error: how it ended otherwise.
    :param replaced: weights that were others before those of another capture took their place.
    """

    what: str
    device: str
    dtype: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    rank: int = 0
    ranks: int = 1
    inventory: Mapping[str, Any] | None = None
    complete: bool = False
    error: str = ""
    replaced: Sequence[str] = ()
    schema: str = SCHEMA
