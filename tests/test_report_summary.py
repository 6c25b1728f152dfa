from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from cuda2npu import __version__
from cuda2npu.catalog.grades import Applicability, Severity
from cuda2npu.messages import MESSAGES, say
from cuda2npu.report.lines import failures, lines, summary_line
from cuda2npu.report.model import Report
from cuda2npu.report.page import Page, wrap
from cuda2npu.report.summary import print_summary
from cuda2npu.rewrite.change import Change, FileResult, Finding, Kept, Status
from cuda2npu.settings import Target

TEXT = "torch.cuda.a\ntorch.cuda.b\n"
SAFE = Change("NPU101", Applicability.SAFE, True, 0, 10, "torch.cuda", "torch.npu", "to torch.npu")
OFFERED = Change("NPU202", Applicability.UNSAFE, False, 13, 23, "torch.cuda", "torch.npu", "numerics")


def finding(severity: Severity, message: str = "this has no counterpart on an NPU", at: int = 13) -> Finding:
    advice = "Write it anew." if severity is Severity.MANUAL else ""
    return Finding("NPU302", severity, at, at + 10, message, advice)


def file(path: str, *findings: Finding, changes: tuple[Change, ...] = ()) -> FileResult:
    status = Status.CHANGED if changes else Status.UNCHANGED
    kept = [Kept("NPU001", 0, 5, "cuda", "a key")]
    return FileResult(path, status, "utf-8", None, TEXT, TEXT.encode(), changes, findings, kept)


def document(*results: FileResult) -> dict[str, object]:
    report = Report(Target())
    for result in results:
        report.add(result)
    return report.document()


def summary(*results: FileResult, **options: object) -> list[str]:
    stream = io.StringIO()
    print_summary(document(*results), Page(stream), **{"places": {}, **options})
    return stream.getvalue().splitlines()


def numbers(page: list[str]) -> dict[str, str]:
    rows = [line.rsplit(maxsplit=1) for line in page if line.rstrip()[-1:].isdigit()]
    return {label.strip(): number for label, number in rows}


def test_it_counts_everything():
    page = summary(
        file("a.py", finding(Severity.BLOCKER), finding(Severity.INFO), changes=(SAFE,)),
        file("b.py", finding(Severity.MANUAL)),
        FileResult("bad.py", Status.FAILED, error="line 1: bad"),
    )
    assert page[0] == f"cuda2npu {__version__}, target: torch 2.7.1 on ascend910b"
    assert numbers(page[1:]) == {
        "files looked at": "3",
        "changed": "1",
        "failed": "1",
        "CUDA uses found": "4",
        "rewritten, safe": "1",
        "unsafe, shown but not applied": "0",
        "left to a person": "2",
        "won't run on the NPU": "1",
        "must be looked at": "1",
        "good to know": "1",
        "kept on purpose": "2",
    }


def test_unsafe_changes_come_with_the_option_that_applies_them():
    (line,) = [line for line in summary(file("a.py", changes=(OFFERED,))) if "not applied" in line]
    assert line.endswith(" 1  see `cuda2npu check`, then use --unsafe")
    assert not any("--unsafe" in line for line in summary(file("a.py", changes=(SAFE,))))


def test_the_files_with_most_blockers_come_first():
    many = [file(f"m{n:02}.py", finding(Severity.MANUAL)) for n in range(11)]
    worst = [finding(Severity.MANUAL, "first in the file", 0), *[finding(Severity.BLOCKER)] * 3]
    page = summary(*many, file("info.py", finding(Severity.INFO)), file("worst.py", *worst))
    start = page.index("These files need a person first:")
    assert page[start + 1] == "  worst.py (3 won't run, 1 to look at)"
    assert page[start + 2 : start + 5] == ["    worst.py:2 NPU302 this has no counterpart on an NPU"] * 3
    assert page[start + 5] == "    and 1 more"
    assert page[start + 6] == "  m00.py (0 won't run, 1 to look at)"
    assert "  and 2 more" in page
    assert not any("info.py" in line for line in page)


def test_failed_and_skipped_files_have_their_reasons():
    page = summary(
        FileResult("bad.py", Status.FAILED, error="line 1: bad"),
        FileResult("pipe", Status.SKIPPED, error="a pipe"),
    )
    assert page[page.index("These files failed and were left as they are:") + 1] == "  bad.py: line 1: bad"
    assert page[page.index("These files were skipped:") + 1] == "  pipe: a pipe"


@pytest.mark.parametrize(
    ("results", "written", "what"),
    [
        (
            [FileResult("a.py", Status.FAILED, error="e"), file("b.py", changes=(SAFE,))],
            False,
            "mend the failed files",
        ),
        ([file("a.py", changes=(SAFE,))], False, "--diff"),
        ([file("a.py", finding(Severity.MANUAL), changes=(SAFE,))], True, "cuda2npu rule CODE"),
        ([file("a.py", changes=(SAFE,))], True, "read the changes, then run"),
        ([FileResult("a.py", Status.UNCHANGED)], True, "nothing to do"),
    ],
)
def test_what_to_do_next(results, written, what):
    last = summary(*results, written=written)[-1]
    assert last.startswith("Next: ")
    assert what in last


def test_it_says_where_things_lie_in_one_line_each():
    path = Path("a" * 100) / "report.json"
    page = summary(file("a.py"), places={"report_at": path})
    assert f"Report: {path}" in page


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_it_is_readable_in_80_columns_without_colours(lang):
    text = {"en": "a long explanation of what is wrong here " * 5, "zh": "这里不能在昇腾上运行，" * 12}[lang]
    page = summary(
        file("pkg/a.py", finding(Severity.BLOCKER, text), changes=(SAFE, OFFERED)),
        FileResult("bad.py", Status.FAILED, error=text),
        lang=lang,
    )
    assert max(cell_len(line) for line in page) <= 80
    assert "\x1b" not in "".join(page)
    assert all(line == line.rstrip() for line in page)


def test_nothing_in_it_is_read_as_markup():
    page = summary(file("[red]a[/].py", finding(Severity.BLOCKER, "[bold]x[i] :warning:")))
    assert "  [red]a[/].py (1 won't run, 0 to look at)" in page
    assert any(line.endswith("[bold]x[i] :warning:") for line in page)


def test_chinese_is_chinese():
    page = summary(file("a.py", finding(Severity.BLOCKER), changes=(SAFE,)), lang="zh")
    assert page[0] == f"cuda2npu {__version__}，目标：torch 2.7.1，ascend910b"
    assert numbers(page[1:])["已修改"] == "1"
    assert any(line.startswith("请优先处理以下文件") for line in page)


@pytest.mark.parametrize("key", MESSAGES)
def test_every_message_says_the_same_in_both_languages(key):
    import string

    fields = [{name for _, name, _, _ in string.Formatter().parse(text) if name} for text in MESSAGES[key]]
    assert fields[0] == fields[1]
    assert all(MESSAGES[key])
    assert say(key, "en", **dict.fromkeys(fields[0], 1)) != say(key, "zh", **dict.fromkeys(fields[0], 1))


def test_one_line_for_each_place_sorted():
    report = document(
        file("b.py", finding(Severity.MANUAL), finding(Severity.BLOCKER, at=0), changes=(SAFE, OFFERED)),
        FileResult("a.py", Status.FAILED, error="line 1: bad"),
        file("kept.py"),
    )
    assert list(lines(report)) == [
        "a.py:1:1: failed: line 1: bad",
        "b.py:1:1: NPU101 to torch.npu: torch.cuda -> torch.npu",
        "b.py:1:1: NPU302 won't run on the NPU: this has no counterpart on an NPU: torch.cuda",
        "b.py:2:1: NPU202 numerics: torch.cuda -> torch.npu (unsafe: applied with --unsafe)",
        "b.py:2:1: NPU302 must be looked at: this has no counterpart on an NPU: torch.cuda. Write it anew.",
    ]
    assert list(failures(report)) == ["a.py:1:1: failed: line 1: bad"]
    assert (
        summary_line(report) == "files: 3, to rewrite: 1, unsafe: 1, for you: 2, good to know: 0, failed: 1"
    )


def test_insertions_and_removals_read_well():
    added = replace(SAFE, end=SAFE.start, before="", after=",\n    type=lambda name: name")
    removed = replace(SAFE, after="")
    shown = list(lines(document(file("a.py", changes=(added,)), file("b.py", changes=(removed,)))))
    assert shown[0].endswith(": inserts type=lambda name: name")
    assert shown[1].endswith(": removes torch.cuda")


def test_advice_of_several_lines_stays_on_one():
    found = replace(finding(Severity.MANUAL), advice="First.\n- a\n- b")
    (line,) = lines(document(file("a.py", found)))
    assert line.endswith(". First. - a - b")


def test_a_change_that_serves_another_one_says_so(tmp_path, write, cli):
    write(tmp_path, {"a.py": "import torch\ntorch.cuda.is_available()\n"})
    changes = json.loads(cli("check", tmp_path, "--format", "json").out)["files"][0]["changes"]
    assert [change.get("site", True) for change in changes] == [False, True]


def test_a_chain_over_several_lines_is_one_change(tmp_path, write, cli):
    source = "import torch\nx = (torch.  # a\n  cuda.  # b\n  nvtx.range_push('x'))\n"
    write(tmp_path, {"a.py": source})
    assert json.loads(cli("check", tmp_path, "--format", "json").out)["summary"]["safe"] == 1


def test_what_is_left_is_named_with_the_command_that_lists_it(tmp_path, write, cli):
    cell = {"cell_type": "code", "source": "import torch\ntorch.cuda.cudart()\n"}
    first = {"cell_type": "code", "source": "x = 1"}
    notebook = {"cells": [first, cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    source = "import torch\ntorch.cuda.cudart()\n"
    write(tmp_path, {"my repo/a.py": source, "my repo/b.ipynb": json.dumps(notebook)})
    ran = cli("convert", tmp_path / "my repo", "-o", tmp_path / "the copy")
    assert f"`cuda2npu check '{tmp_path / 'the copy'}'`" in ran.out
    assert "b.ipynb:cell 1:2 NPU" in ran.out


def test_chinese_breaks_between_any_two_characters():
    text = "以上仅由源代码得出，不能说明 NPU 上的精度（软件包）。"
    assert wrap(text, 20) == ["以上仅由源代码得出，", "不能说明 NPU 上的精", "度（软件包）。"]
    assert wrap("a /a/path/longer/than/that b", 8) == ["a", "/a/path/longer/than/that", "b"]
    assert wrap("one\n\n    two three four", 13) == ["one", "", "    two three", "four"]


@pytest.mark.parametrize(("lang", "stop"), [("en", ":"), ("zh", "：")])
def test_a_full_stop_isn_t_followed_by_a_colon(lang, stop):
    change = replace(SAFE, message="The value is a bool.")
    (line,) = lines(document(file("a.py", changes=(change,))), lang)
    assert f"bool{stop}" in line
