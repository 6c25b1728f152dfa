"""What the rules of the catalogue say of operators on a chip, and of types of tensors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from cuda2npu.catalog.load import load_catalog_for
from cuda2npu.catalog.rules import Rule
from cuda2npu.settings import Target
from cuda2npu.verify.operators.names import ANTIALIASED, GRID_SAMPLERS, RESIZING

_MODE = re.compile(r"torch\.nn\.functional\.interpolate\(3:mode=([\w-]+)\)")
_ANTIALIAS = "torch.nn.functional.interpolate(6:antialias=?)"
_GRID_SAMPLE = "torch.nn.functional.grid_sample"
_BACKWARD = "_backward"
# The rules about a mode: it has no kernel; it has one, which itself copies to the CPU; it has none backwards.
NO_KERNEL, ON_THE_CPU, NO_BACKWARD = "NPU401", "NPU402", "NPU403"


@dataclass(frozen=True)
class Limit:
    """What a rule says of an operator.

    :param rule: its code; ``cuda2npu rule CODE`` explains it.
    :param dtypes: the types that it is about; empty for all.
    :param text: in English, then in Chinese.
    """

    rule: str
    dtypes: Sequence[str]
    text: tuple[str, str]


@lru_cache(maxsize=8)
def limits_of_operators(target: Target) -> Mapping[str, Sequence[Limit]]:
    """Return the limits that the chip sets to an operator, by its name without namespace."""
    found: dict[str, list[Limit]] = {}
    for codemod in ("resize", "call", "resize_dtype"):
        for rule, row in load_catalog_for(target).others.get(codemod, ()):
            for name in _operators(row.name, rule.code):
                found.setdefault(name, []).append(_limit(rule, row.dtypes))
    return found


@lru_cache(maxsize=8)
def limits_of_dtypes(target: Target) -> Mapping[str, Limit]:
    """Return what is to be known of a type on the chip, such as ``float64``."""
    rows = load_catalog_for(target).others.get("dtype", ())
    named = [(rule, row.name.rpartition(".")[2]) for rule, row in rows if row.name.startswith("torch.")]
    return {name: _limit(rule, (name,)) for rule, name in named}


def _operators(row: str, rule: str) -> Iterator[str]:
    mode = _MODE.fullmatch(row)
    if mode:
        names: Sequence[str] = RESIZING.get(mode[1], ())
        yield from () if rule == NO_BACKWARD else names
        yield from (name + _BACKWARD for name in names)
    elif row in (_ANTIALIAS, _GRID_SAMPLE):
        for name in ANTIALIASED if row == _ANTIALIAS else GRID_SAMPLERS:
            yield from (name, name + _BACKWARD)


def _limit(rule: Rule, dtypes: Sequence[str]) -> Limit:
    return Limit(rule.code, tuple(dtypes), (rule.summary.en, rule.summary.zh))
