"""What must be known to read a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cuda2npu.verify.compare.precision import reduced
from cuda2npu.verify.comparison import Row
from cuda2npu.verify.records import Kind
from cuda2npu.verify.store import Capture

NOTES = {
    "simulated": (
        "The NPU was simulated: this shows that the code works and computes what the CPU computes. It says "
        "nothing about the NPU's kernels, precision, speed or memory.",
        "NPU 为模拟：只能说明代码可以运行且结果与 CPU 一致，不能说明 NPU 算子、精度、性能或显存。",
    ),
    "inputs": (
        "The two runs had different inputs from step {step} on: of that nothing can be concluded. Seed the "
        "script and draw the data on the CPU, or capture the candidate with --like REFERENCE.",
        "从第 {step} 步起两次运行的输入不同，此后无法得出结论。"
        "请在脚本中固定随机种子并在 CPU 上生成数据，或在采集候选时使用 --like 参考采集。",
    ),
    "replaced": (
        "{count} weights of the candidate were others before the first step ({names}), and the reference's "
        "took their place: see whether the conversion loads or initialises them differently.",
        "候选在第一步之前有 {count} 个权重与参考不同（{names}），已替换为参考的权重："
        "请检查转换后的代码加载或初始化权重的方式是否不同。",
    ),
    "no_benchmark": (
        "There was no second benchmark: fixed thresholds decided.",
        "没有第二标杆，按固定阈值判定。",
    ),
    "statistics": (
        "Of {count} records only statistics were kept: these don't show elements that changed places.",
        "有 {count} 条记录只保存了统计量：元素互换位置等差异无法发现。",
    ),
    "noise": (
        "Two equal runs of the candidate differ by {noise:.2g} at most.",
        "候选的两次相同运行之间最多相差 {noise:.2g}。",
    ),
    "random": (
        "The generators' states differ at step {step}: what is drawn at random after it differs, too.",
        "第 {step} 步的随机数状态不同：此后的随机数也会不同。",
    ),
    "dropout": (
        "Dropout was in training mode ({name}) and the generators' states differ or can't be compared: "
        "devices draw other masks. Capture with --no-dropout to compare.",
        "Dropout 处于训练模式（{name}），且随机数状态不同或无法比较："
        "不同设备的掩码不同。请用 --no-dropout 采集后再比较。",
    ),
    "versions": (
        "{name} is {reference} in the reference, {candidate} in the candidate.",
        "{name}：参考为 {reference}，候选为 {candidate}。",
    ),
    "incomplete": (
        "The {side} is incomplete: {error}",
        "{side_zh}不完整：{error}",
    ),
    "steps": (
        "The reference has the steps {reference}, the candidate {candidate}: only common ones were compared.",
        "参考包含步 {reference}，候选包含步 {candidate}：只比较了共有的步。",
    ),
    "nothing": (
        "The two have no record in common.",
        "两份采集没有可比较的记录。",
    ),
    "reduced": (
        "float32 was multiplied in fewer bits in the {side} (TF32 or HF32): thresholds are those of 11 bits.",
        "{side_zh}的 float32 乘法使用了较低精度（TF32 或 HF32）：按 11 位精度的阈值判定。",
    ),
    "types": (
        "The reference is a golden in {dtype} and there was no benchmark: floating types weren't compared.",
        "参考为 {dtype} 的真值且没有第二标杆：未比较浮点类型。",
    ),
}
_NAMED = 3  # weights in a note
_VERSIONS = ("python", "cann", "driver")


def note(name: str, /, **values: object) -> tuple[str, str]:
    """Return a note in English and Chinese."""
    english, chinese = NOTES[name]
    return english.format(**values), chinese.format(**values)


def notes(
    reference: Capture,
    candidate: Capture,
    benchmark: Capture | None,
    rows: Sequence[Row],
    differs: int | None,
) -> list[tuple[str, str]]:
    """Return all notes on a comparison; the gravest come first.

    :param differs: the first step that had other inputs.
    """
    return list(_notes(reference, candidate, benchmark, rows, differs))


def _notes(
    reference: Capture,
    candidate: Capture,
    benchmark: Capture | None,
    rows: Sequence[Row],
    differs: int | None,
) -> Iterator[tuple[str, str]]:
    if differs is not None:
        yield note("inputs", step=differs)
    if not rows:
        yield note("nothing")
    for side, side_zh, capture in (("reference", "参考", reference), ("candidate", "候选", candidate)):
        if not capture.header.complete:
            error = capture.header.error or "interrupted"
            yield note("incomplete", side=side, side_zh=side_zh, error=error)
    if reference.steps != candidate.steps:
        yield note("steps", reference=_ranges(reference.steps), candidate=_ranges(candidate.steps))
    replaced = candidate.header.replaced
    if replaced:
        names = ", ".join(replaced[:_NAMED]) + (" …" if len(replaced) > _NAMED else "")
        yield note("replaced", count=len(replaced), names=names)
    if "simulated" in (reference.header.device, candidate.header.device):
        yield note("simulated")
    if benchmark is None:
        yield note("no_benchmark")
    if benchmark is None and reference.header.dtype not in ("", candidate.header.dtype):
        yield note("types", dtype=reference.header.dtype)
    statistics = sum(
        row.metrics is not None and row.metrics.cosine is None and row.rule == "statistics" for row in rows
    )
    if statistics:
        yield note("statistics", count=statistics)
    noises = [row.noise for row in rows if row.noise is not None]
    if noises:
        yield note("noise", noise=max(noises))
    yield from _random(rows)
    for side, side_zh, capture in (("reference", "参考", reference), ("candidate", "候选", candidate)):
        if reduced(capture.header):
            yield note("reduced", side=side, side_zh=side_zh)
    yield from _versions(reference, candidate)


def _random(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    states = [row for row in rows if row.key.kind is Kind.RANDOM_STATE]
    other = next((row for row in states if row.rule == "random-state" and row.value[0] != row.value[1]), None)
    if other is not None:
        yield note("random", step=other.step)
    dropout = next(
        (row for row in rows if row.module.startswith("Dropout") and row.key.kind is Kind.OUTPUT), None
    )
    if dropout is not None and dropout.metrics is not None and (other is not None or not states):
        yield note("dropout", name=dropout.key.name)


def _versions(reference: Capture, candidate: Capture) -> Iterator[tuple[str, str]]:
    one, other = (_named(capture.header.environment) for capture in (reference, candidate))
    for name in one:
        if name in other and one[name] != other[name]:
            yield note("versions", name=name, reference=one[name], candidate=other[name])


def _named(environment: Mapping[str, Any]) -> dict[str, str]:
    """Return what matters of an environment, by name."""
    found = {name: environment[name] for name in _VERSIONS if environment.get(name)}
    packages = environment.get("packages")
    return {**found, **(packages if isinstance(packages, Mapping) else {})}


def _ranges(steps: Sequence[int]) -> str:
    if not steps:
        return "-"
    return f"{steps[0]}" if len(steps) == 1 else f"{steps[0]}-{steps[-1]} ({len(steps)})"
