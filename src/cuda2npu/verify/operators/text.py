"""What an inventory says of the target, in words: English and Chinese."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cuda2npu.report.blocks import Block, Heading, Paragraph, Table
from cuda2npu.verify.operators.classes import Operator, State
from cuda2npu.verify.operators.limits import Limit

_ROWS = 20  # of a table; the JSON has all

MESSAGES: Mapping[str, tuple[str, str]] = {
    "title": ("Operators", "算子"),
    "counts": (
        "Operators used: {kinds}, in {calls} calls, {backward} of them in the backward pass. With a kernel on"
        " the target: {kernel}; composed of others: {composite}; computed on the CPU: {cpu};"
        " missing: {none}.",
        "使用的算子：{kinds} 种，调用 {calls} 次，其中反向 {backward} 次。目标上有实现：{kernel}；"
        "由其他算子组成：{composite}；在 CPU 上计算：{cpu}；缺失：{none}。",
    ),
    "nothing": ("No operator was seen.", "没有看到任何算子。"),
    "lacking": ("Operators without a kernel on the target", "目标上没有实现的算子"),
    "operator": ("operator", "算子"),
    "calls": ("calls", "次数"),
    "types": ("types", "类型"),
    "place": ("first place", "首次出现"),
    "at": ("place", "位置"),
    "becomes": ("what becomes of it", "目标上的处理"),
    "cpu": ("computed on the CPU", "在 CPU 上计算"),
    "cpu_through": ("{part}, a part of it, is computed on the CPU", "其中的 {part} 在 CPU 上计算"),
    "none": ("fails", "会失败"),
    "instead": ("Operators that an NPU has by another name", "NPU 上以其他名称执行的算子"),
    "seen": ("seen here", "此处所见"),
    "taken": ("on the NPU", "NPU 上"),
    "composed": ("its parts", "其组成部分"),
    "limits": ("Limits of types and of this chip", "类型和该芯片的限制"),
    "rule": ("rule", "规则"),
    "what": ("what it says", "说明"),
    "operators": ("operators", "算子数"),
    "syncs": ("Where the host waits for the device", "主机等待设备之处"),
    "sync_counts": (
        "{calls} times in all, {per_step} a step ({steps} steps).",
        "共 {calls} 次，每步 {per_step} 次（{steps} 步）。",
    ),
    "sync_calls": (
        "{calls} times in all; no step of an optimizer was seen.",
        "共 {calls} 次；没有优化器步骤。",
    ),
    "no_syncs": ("The host never waits for a value or a size.", "主机不会等待数值或大小。"),
    "transfers": ("Transfers between host and device", "主机与设备之间的传输"),
    "no_transfers": ("No transfer was seen.", "没有看到传输。"),
    "on_cpu": (
        "This was taken on the CPU: transfers can't be seen there.",
        "此清单在 CPU 上生成：看不到传输。",
    ),
    "direction": ("direction", "方向"),
    "waits": ("waits", "等待"),
    "yes": ("yes", "是"),
    "no": ("no", "否"),
    "bytes": ("bytes", "字节"),
    "dynamic": ("Shapes that change", "变化的形状"),
    "dynamic_why": (
        "An NPU prepares an operator anew for each shape; shapes that depend on data make it wait besides.",
        "NPU 对每种形状都要重新准备算子；依赖数据的形状还会使其等待。",
    ),
    "no_dynamic": ("No shape changed from call to call.", "各次调用的形状没有变化。"),
    "shapes": ("shapes of the result", "结果的形状"),
    "from_data": ("depends on data", "取决于数据"),
    "more": ("and {count} more", "另有 {count} 项"),
    "run_lacks": (
        "cuda2npu: operators that torch_npu {version} lacks: {none}; that it computes on the CPU: {cpu}",
        "cuda2npu：torch_npu {version} 缺失的算子：{none}；在 CPU 上计算的算子：{cpu}",
    ),
    "run_none": ("cuda2npu: no inventory: torch was never imported", "cuda2npu：没有算子清单：未导入 torch"),
    "nobody": ("none", "无"),
}


def summary_blocks(operators: Sequence[Operator], found: Mapping[str, Any], lang: str) -> Iterator[Block]:
    """Yield what is to be known of a run on the target.

    :param operators: what :func:`.classify` made of ``found``, an inventory.
    :param lang: ``en`` or ``zh``.
    """

    def text(key: str, **values: object) -> str:
        return _say(key, lang, **values)

    yield Heading(text("title"))
    if not operators:
        yield Paragraph(text("nothing"))
        return
    states = Counter(operator.state for operator in operators)
    counts = {state.value: states[state] for state in State}
    calls = sum(operator.calls for operator in operators)
    backward = sum(operator.backward for operator in operators)
    yield Paragraph(text("counts", kinds=len(operators), calls=calls, backward=backward, **counts))
    lacking = [operator for operator in operators if operator.state in (State.CPU, State.NONE)]
    if lacking:
        yield Heading(text("lacking"), 3)
        head = [text(key) for key in ("operator", "becomes", "calls", "types", "place")]
        yield from _table(head, [_lacking(operator, lang) for operator in lacking], lang)
    others = [operator for operator in operators if operator.instead]
    if others:
        yield Heading(text("instead"), 3)
        head = [text(key) for key in ("seen", "taken", "calls", "place")]
        yield from _table(head, [_renamed(operator, lang) for operator in others], lang)
    limits = _by_limit(operators)
    if limits:
        yield Heading(text("limits"), 3)
        head = [text(key) for key in ("rule", "what", "types", "operators", "place")]
        yield from _table(head, [_limited(limit, those, lang) for limit, those in limits.items()], lang)
    yield from _syncs(found, lang)
    yield from _transfers(found, lang)
    yield from _dynamic(found, lang)


def run_line(operators: Sequence[Operator], version: str, lang: str) -> str:
    """Return what the target lacks of a run's operators, on one line."""
    names = {
        state: sorted({each.full_name for each in operators if each.state is state})
        for state in (State.NONE, State.CPU)
    }
    listed = {state.value: _listed(those, lang) for state, those in names.items()}
    return _say("run_lacks", lang, version=version, **listed)


def nothing_line(lang: str) -> str:
    """Return what is said where no process took an inventory."""
    return _say("run_none", lang)


def _syncs(found: Mapping[str, Any], lang: str) -> Iterator[Block]:
    yield Heading(_say("syncs", lang), 3)
    rows = [row for row in found["syncs"] if row["device"] == found["device"]]
    calls, steps = sum(row["calls"] for row in rows), found["steps"]
    if not rows:
        yield Paragraph(_say("no_syncs", lang))
        return
    if steps:
        yield Paragraph(_say("sync_counts", lang, calls=calls, steps=steps, per_step=f"{calls / steps:.3g}"))
    else:
        yield Paragraph(_say("sync_calls", lang, calls=calls))
    head = [_say(key, lang) for key in ("operator", "calls", "at")]
    yield from _table(head, [[row["operator"], row["calls"], row["source"]] for row in _most(rows)], lang)


def _transfers(found: Mapping[str, Any], lang: str) -> Iterator[Block]:
    yield Heading(_say("transfers", lang), 3)
    rows = _most(found["transfers"])
    if not rows:
        yield Paragraph(_say("on_cpu" if found["device"] == "cpu" else "no_transfers", lang))
        return
    head = [_say(key, lang) for key in ("direction", "calls", "bytes", "waits", "at")]
    cells = [
        [
            f"{row['from']} → {row['to']}",
            row["calls"],
            row["bytes"],
            _say("yes" if row["blocking"] else "no", lang),
            row["source"],
        ]
        for row in rows
    ]
    yield from _table(head, cells, lang)


def _dynamic(found: Mapping[str, Any], lang: str) -> Iterator[Block]:
    yield Heading(_say("dynamic", lang), 3)
    changed = [row for row in found["dynamic"] if row["device"] == found["device"]]
    rows = [[row["operator"], _shapes(row, lang), row["source"]] for row in changed]
    changing = {(row["operator"], row["source"]) for row in changed}
    rows += [
        [row["name"], _say("from_data", lang), row["source"]]
        for row in found["operators"]
        if row["from_data"]
        and row["device"] == found["device"]
        and (row["name"], row["source"]) not in changing
    ]
    if not rows:
        yield Paragraph(_say("no_dynamic", lang))
        return
    yield Paragraph(_say("dynamic_why", lang))
    yield from _table([_say(key, lang) for key in ("operator", "shapes", "at")], rows, lang)


def _table(head: Sequence[str], rows: Sequence[Sequence[str | int]], lang: str) -> Iterator[Block]:
    yield Table(head, rows[:_ROWS], code=True)
    if len(rows) > _ROWS:
        yield Paragraph(_say("more", lang, count=len(rows) - _ROWS))


def _lacking(operator: Operator, lang: str) -> list[str | int]:
    key = "cpu_through" if operator.through not in ("", operator.name[6:]) else operator.state.value
    becomes = _say(key, lang, part=operator.through)
    return [operator.full_name, becomes, operator.calls, ", ".join(operator.dtypes), operator.source]


def _renamed(operator: Operator, lang: str) -> list[str | int]:
    is_whole = operator.state is not State.COMPOSITE
    instead = f"aten::{operator.instead}" if is_whole else _say("composed", lang)
    return [operator.full_name, instead, operator.calls, operator.source]


def _by_limit(operators: Sequence[Operator]) -> dict[Limit, list[Operator]]:
    found: dict[Limit, list[Operator]] = {}
    for operator in operators:
        for limit in operator.limits:
            found.setdefault(limit, []).append(operator)
    return found


def _limited(limit: Limit, those: Sequence[Operator], lang: str) -> list[str | int]:
    places = [those[0].dtypes[dtype] for dtype in limit.dtypes if dtype in those[0].dtypes]
    place = places[0] if places else those[0].source
    return [limit.rule, limit.text[lang == "zh"], ", ".join(limit.dtypes), len(those), place]


def _shapes(row: Mapping[str, Any], lang: str) -> str:
    shown = "; ".join(", ".join(map(str, shapes)) for shapes in row["shapes"][:3])
    more = len(row["shapes"]) - 3 + row["more_shapes"]
    return f"{shown}; {_say('more', lang, count=more)}" if more > 0 else shown


def _most(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(rows, key=lambda row: -int(row["calls"]))


def _listed(names: Sequence[str], lang: str) -> str:
    if not names:
        return _say("nobody", lang)
    more = [_say("more", lang, count=len(names) - 5)] if len(names) > 5 else []
    return ", ".join([*names[:5], *more])


def _say(key: str, lang: str, **values: object) -> str:
    return MESSAGES[key][lang == "zh"].format(**values)
