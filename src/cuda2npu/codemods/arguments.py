"""Arguments of a call whose function moves to a counterpart with other parameters."""

from __future__ import annotations

import libcst as cst

from cuda2npu.catalog.rules import Row
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.unit import Mapping, Unit


def refused_argument(call: cst.Call, row: Row) -> cst.Arg | None:
    """Return the first argument of ``call`` that the counterpart can't take."""
    for position, arg in enumerate(call.args):
        name = arg.keyword.value if arg.keyword is not None else row.positional.get(position)
        if name in row.lacks and not arg.star:
            return arg
        if arg.star == "*" and row.positional:
            return arg  # how many there are, and what the last of them means, can't be seen
    return None


def adapt_arguments(unit: Unit, call: cst.Call, mapping: Mapping, group: str) -> None:
    """Rename keywords, and give by keyword what stands at another position on the NPU."""
    row, code = mapping.row, mapping.rule.code
    for position, arg in enumerate(call.args):
        span = unit.spans.whole(arg.value)
        if arg.keyword is not None:
            name = row.keywords.get(arg.keyword.value)
            if name is not None:
                span = unit.spans[arg.keyword]
                unit.replace(code, span, name, at=call, npu=False, note=row.note, group=group, site=False)
        elif position in row.positional and not arg.star:
            start = Span(span.start, span.start)
            unit.replace(
                code,
                start,
                f"{row.positional[position]}=",
                at=call,
                npu=False,
                note=row.note,
                group=group,
                site=False,
            )


def droppable(unit: Unit, call: cst.Call, arg: cst.Arg) -> Span | None:
    """Return what goes with ``arg``: it and a comma; None if a comment or a position stands in the way."""
    number = call.args.index(arg)
    behind = call.args[number + 1 :]
    if arg.keyword is None and any(other.keyword is None for other in behind):
        return None
    if number:
        span = Span(unit.spans[call.args[number - 1]].end, unit.spans[arg].end)
    elif behind:
        span = Span(unit.spans[arg].start, unit.spans[behind[0]].start)
    else:
        span = unit.spans[arg]
    return None if "#" in unit.text[span.start : span.end] else span
