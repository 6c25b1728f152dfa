"""When a row of the catalogue is about a dotted name, for the rules where that depends on its use."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from cuda2npu.codemods.arguments import refused_argument
from cuda2npu.rewrite.tree import argument
from cuda2npu.rewrite.unit import Mapping, Unit

_OFF = ("False", "None")


def _always(unit: Unit, node: cst.CSTNode) -> bool:
    return True


def _asks_about_cuda(unit: Unit, node: cst.CSTNode) -> bool:
    """Whether an autocast query names no device type, so that it is about CUDA."""
    call = unit.names.parents[node]
    if not isinstance(call, cst.Call) or call.func is not node:
        return False
    setter = unit.spans.text(node).rpartition(".")[2].startswith("set_")
    return len(call.args) == (1 if setter else 0)


def _takes_the_default(unit: Unit, node: cst.CSTNode) -> bool:
    """Whether a function of another package is called without what its row asks for."""
    call = unit.names.parents[node]
    if not isinstance(call, cst.Call) or call.func is not node:
        return False
    for name in unit.names.qualified(node):
        mapping = unit.mapping(name)
        if mapping is None or unit.index.is_own(unit.path, name.partition(".")[0]):
            continue
        given = {arg.keyword.value for arg in call.args if arg.keyword is not None}
        return not given & set(mapping.row.unless) and not any(arg.star == "**" for arg in call.args)
    return False


def _profiles_the_device(unit: Unit, node: cst.CSTNode | None = None) -> bool:
    """Whether the file profiles CUDA, and all of what it uses of the profiler can move.

    The two profilers have enums and schedules of their own: everything moves, or nothing does, and
    what stands in the way is reported.
    """
    profiles = False
    refused: list[tuple[cst.Arg, Mapping]] = []
    chains: list[cst.Attribute | cst.Name] = [*unit.names.nodes(cst.Attribute), *unit.names.nodes(cst.Name)]
    for chain in chains:
        for name in unit.names.qualified(chain) if _may_be_profiler(unit, chain) else ():
            mapping = unit.mapping(name)
            if mapping is None or mapping.rule.codemod != "profiler":
                continue
            profiles = profiles or name.endswith("ProfilerActivity.CUDA")
            call = unit.names.parents[chain]
            if not isinstance(call, cst.Call) or call.func is not chain:
                continue
            use_cuda = argument(call, None, "use_cuda")
            profiles = profiles or (use_cuda is not None and unit.spans.text(use_cuda.value) not in _OFF)
            arg = refused_argument(call, mapping.row)
            if arg is not None:
                refused.append((arg, mapping))
    if profiles:
        for arg, mapping in refused:
            unit.report("NPU123", arg, note=mapping.row.note)
    return profiles and not refused


def _may_be_profiler(unit: Unit, node: cst.Attribute | cst.Name) -> bool:
    """A cheap test before names are resolved."""
    if isinstance(node, cst.Name):
        return any((b.target or "").startswith("torch.profiler") for b in unit.names.lookup(node))
    return "profiler" in unit.spans.text(node).lower()


_CONDITIONS: dict[str, Callable[[Unit, cst.CSTNode], bool]] = {
    "symbol": _always,
    "method": _always,
    "harmless": _always,
    "autocast_query": _asks_about_cuda,
    "library_default": _takes_the_default,
    "profiler": lambda unit, node: unit.decided("profiles", _profiles_the_device),
}
HANDLED = frozenset(_CONDITIONS)


def applies(unit: Unit, mapping: Mapping, node: cst.CSTNode) -> bool:
    """Whether the rule of ``mapping`` is about ``node``, the whole dotted name."""
    return _CONDITIONS[mapping.rule.codemod](unit, node)


def may_move_import(unit: Unit, mapping: Mapping) -> bool:
    """Whether an import of the mapped name may be moved as a whole."""
    if mapping.rule.codemod == "profiler":
        return unit.decided("profiles", _profiles_the_device)
    return mapping.rule.codemod == "symbol"
