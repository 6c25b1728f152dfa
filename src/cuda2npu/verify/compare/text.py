"""A comparison on the terminal: the verdict first."""

from __future__ import annotations

from cuda2npu.report.page import Page, pad
from cuda2npu.verify.comparison import Comparison, Row, Verdict

WORDS = {
    "pass": ("pass", "通过"),
    "warn": ("pass, with warnings", "通过，但有警告"),
    "fail": ("FAIL", "不通过"),
    "incomparable": ("incomparable: nothing is proven", "无法比较：不能得出结论"),
    "verdict": ("Verdict: {verdict}", "结论：{verdict}"),
    "sides": (
        "{candidate} ({candidate_device}) against {reference} ({reference_device})",
        "{candidate}（{candidate_device}）对比 {reference}（{reference_device}）",
    ),
    "benchmark": ("Benchmark: {folder} ({device})", "第二标杆：{folder}（{device}）"),
    "first": ("First divergence, step {step}: {name}", "首个偏差，第 {step} 步：{name}"),
    "worst": ("Worst records:", "偏差最大的记录："),
    "unmatched": ("Not comparable:", "无法比较的记录："),
    "counts": (
        "{total} records: {passed} pass, {warned} warn, {failed} fail, {incomparable} incomparable",
        "共 {total} 条记录：通过 {passed}，警告 {warned}，不通过 {failed}，无法比较 {incomparable}",
    ),
    "more": ("… and {count} more", "……另有 {count} 条"),
    "note": ("Note: ", "注："),
    "build": ("build", "构建"),
    "forward": ("forward", "前向"),
    "backward": ("backward", "反向"),
    "train": ("train", "训练"),
    "evaluate": ("evaluate", "验证集"),
    "unreached": ("not reached", "未到达"),
    "script": ("the code between the modules", "模块之间的代码"),
}
STYLES = {"pass": "bold green", "warn": "bold yellow", "fail": "bold red", "incomparable": "bold magenta"}
SHOWN = 10


def word(name: str, lang: str, /, **values: object) -> str:
    """Return a text of this page."""
    return WORDS[name][lang == "zh"].format(**values)


def show(comparison: Comparison, page: Page, lang: str) -> None:
    """Print a comparison."""
    verdict = comparison.verdict.value
    page.line(word("verdict", lang, verdict=word(verdict, lang)), STYLES[verdict])
    reference, candidate = comparison.reference, comparison.candidate
    page.line(
        word(
            "sides",
            lang,
            candidate=candidate.folder,
            candidate_device=_device(candidate.device, candidate.dtype),
            reference=reference.folder,
            reference_device=_device(reference.device, reference.dtype),
        )
    )
    if comparison.benchmark is not None:
        side = comparison.benchmark
        page.line(word("benchmark", lang, folder=side.folder, device=_device(side.device, side.dtype)))
    _levels(comparison, page, lang)
    first = comparison.first
    if first is not None:
        page.line()
        name = first.name or word("script", lang)
        described = f"{name} ({first.module})" if first.module else name
        page.line(word("first", lang, step=first.step, name=described), "bold")
        if first.source:
            page.line(first.source, indent=2)
        page.paragraph(first.reason_zh if lang == "zh" else first.reason, indent=2)
    _records(comparison, page, lang)
    page.line()
    counts = comparison.counts
    page.line(
        word(
            "counts",
            lang,
            total=len(comparison.rows),
            passed=counts[Verdict.PASS],
            warned=counts[Verdict.WARN],
            failed=counts[Verdict.FAIL],
            incomparable=counts[Verdict.INCOMPARABLE],
        )
    )
    for english, chinese in comparison.notes:
        page.paragraph(chinese if lang == "zh" else english, indent=6, label=word("note", lang))


def _levels(comparison: Comparison, page: Page, lang: str) -> None:
    names = pad([word(level.name, lang) for level in comparison.levels])
    for name, level in zip(names, comparison.levels):
        verdict = level.verdict.value if level.verdict else "unreached"
        message = level.message_zh if lang == "zh" else level.message
        page.line(f"{name}  {word(verdict, lang)}  {message}".rstrip(), STYLES.get(verdict, "dim"), indent=2)


def _records(comparison: Comparison, page: Page, lang: str) -> None:
    wrong = [row for row in comparison.rows if row.verdict in (Verdict.FAIL, Verdict.WARN)]
    wrong.sort(key=lambda row: (row.verdict is Verdict.WARN, -(row.added or 0.0)))
    unmatched = [row for row in comparison.rows if row.verdict is Verdict.INCOMPARABLE]
    for title, rows in (("worst", wrong), ("unmatched", unmatched)):
        if not rows:
            continue
        page.line()
        page.line(word(title, lang), "bold")
        _table(rows[:SHOWN], page)
        if len(rows) > SHOWN:
            page.line(word("more", lang, count=len(rows) - SHOWN), indent=2)


def _table(rows: list[Row], page: Page) -> None:
    columns = [
        [row.verdict.value for row in rows],
        [str(row.step) for row in rows],
        [described(row) for row in rows],
        [row.rule for row in rows],
        [row.message for row in rows],
    ]
    padded = [pad(column) for column in columns[:-1]] + [columns[-1]]
    for cells in zip(*padded):
        page.line("  ".join(cells).rstrip(), indent=2)


def described(row: Row) -> str:
    """Return the name of a record, as ``ResNet.conv1 output``."""
    key = row.key
    parts = [key.name, key.kind.value.replace("_", " "), key.path, f"call {key.call + 1}" if key.call else ""]
    return " ".join(part for part in parts if part)


def _device(device: str, dtype: str) -> str:
    return f"{device}, {dtype}" if dtype else device
