from __future__ import annotations

import json

import pytest

from cuda2npu import __version__
from cuda2npu.catalog.grades import Applicability, Severity
from cuda2npu.report.folder import dumps
from cuda2npu.report.model import Report, file_entry
from cuda2npu.report.positions import Positions
from cuda2npu.rewrite.change import Change, FileResult, Finding, Kept, Status
from cuda2npu.settings import Target

SAFE, UNSAFE = Applicability.SAFE, Applicability.UNSAFE


def change(text: str, before: str, after: str = "npu", nth: int = 0, **more: object) -> Change:
    start = -1
    for _ in range(nth + 1):
        start = text.index(before, start + 1)
    values = {"applicability": SAFE, "applied": True, "message": "m", **more}
    return Change("NPU101", start=start, end=start + len(before), before=before, after=after, **values)


def result(text: str, *changes: Change, path: str = "a.py", **more: object) -> FileResult:
    return FileResult(path, Status.CHANGED, "utf-8", text=text, data=text.encode(), changes=changes, **more)


@pytest.mark.parametrize(
    ("text", "offset", "place"),
    [
        ("cuda", 0, (1, 1)),
        ("a\nb\ncuda", 4, (3, 1)),
        ("a\r\nb\r\n  cuda", 8, (3, 3)),
        ("a\rb\rcuda", 4, (3, 1)),
        ("a\r\n\r\ncuda", 5, (3, 1)),
        ("a\fb\vc\x1c\x85\u2028\u2029 cuda", 10, (1, 11)),  # none of these ends a line
        ("日本 = 'cuda'", 6, (1, 7)),
        ("'🤗' + cuda", 6, (1, 7)),
        ("", 0, (1, 1)),
        ("a\n", 2, (2, 1)),
    ],
)
def test_lines_and_columns_are_those_of_the_tokenizer(text, offset, place):
    assert Positions(text).start(offset) == place


@pytest.mark.parametrize(
    ("text", "start", "end", "place"),
    [
        ("abc", 0, 3, (1, 4)),
        ("ab\ncd\n", 0, 3, (1, 4)),  # the newline belongs to the line that it ends
        ("ab\r\ncd", 0, 4, (1, 5)),
        ("ab\ncd\n", 1, 5, (2, 3)),
        ("ab\ncd", 3, 3, (2, 1)),
    ],
)
def test_a_span_ends_behind_its_last_character(text, start, end, place):
    assert Positions(text).end(start, end) == place


def test_an_entry_is_as_the_schema_says():
    text = "import torch\r\nx = torch.cuda.stream\r\ny = 'cuda'\r\n"
    entry = file_entry(
        result(
            text,
            change(text, "torch.cuda", "torch.npu", group="g1"),
            findings=[Finding("NPU501", Severity.BLOCKER, 14, 35, "won't run", "do this")],
            kept=[Kept("NPU001", 42, 46, "cuda", "a key")],
        )
    )
    ids = [entry["changes"][0].pop("id"), entry["findings"][0].pop("id")]
    assert all(len(name) == 12 and int(name, 16) >= 0 for name in ids)
    assert entry == {
        "path": "a.py",
        "status": "changed",
        "error": None,
        "encoding": "utf-8",
        "changes": [
            {
                "rule": "NPU101",
                "applicability": "safe",
                "applied": True,
                "start": 18,
                "end": 28,
                "line": 2,
                "column": 5,
                "end_line": 2,
                "end_column": 15,
                "before": "torch.cuda",
                "after": "torch.npu",
                "message": "m",
                "group": "g1",
            }
        ],
        "findings": [
            {
                "rule": "NPU501",
                "severity": "blocker",
                "line": 2,
                "column": 1,
                "end_line": 2,
                "end_column": 22,
                "token": "x = torch.cuda.stream",
                "message": "won't run",
                "advice": "do this",
            }
        ],
        "kept": [
            {
                "rule": "NPU001",
                "line": 3,
                "column": 6,
                "end_line": 3,
                "end_column": 10,
                "token": "cuda",
                "reason": "a key",
            }
        ],
    }


def ids(text: str, *changes: Change, path: str = "a.py") -> list[str]:
    return [place["id"] for place in file_entry(result(text, *changes, path=path))["changes"]]


def test_ids_stay_when_other_lines_come_and_go():
    text = "x.cuda()\nx.cuda()\nif y:\n    z.cuda()\n"
    before = ids(text, *(change(text, "cuda", nth=n) for n in range(3)))
    assert len(set(before)) == 3
    text = "# new\n\n" + text.replace("if y:", "if y or w:").replace("    z", "\tz") + "# end\n"
    assert ids(text, *(change(text, "cuda", nth=n) for n in range(3))) == before


def test_ids_tell_places_apart():
    text = "x.cuda()\n"
    (plain,) = ids(text, change(text, "cuda"))
    others = [
        ids(text, change(text, "cuda"), path="b.py"),
        ids(text, change(text, "cuda", after="to")),
        ids("y.cuda()\n", change("y.cuda()\n", "cuda")),
    ]
    assert len({plain, *(other for (other,) in others)}) == 4


def test_the_summary_counts_what_the_schema_says():
    text = "cuda cuda cuda cuda"
    report = Report(Target("2.6.0", "ascend310p"))
    report.add(
        result(
            text,
            Change("NPU001", SAFE, True, 0, 0, "", "import torch_npu\n", "m", site=False),
            change(text, "cuda", nth=0),
            change(text, "cuda", nth=1, applicability=UNSAFE),
            change(text, "cuda", nth=2, applicability=UNSAFE, applied=False),
            Change("NPU001", UNSAFE, False, 15, 15, "", "import x\n", "m", site=False),
            findings=[Finding("NPU501", severity, 15, 19, "f") for severity in Severity],
            kept=[Kept("NPU001", 15, 19, "cuda", "r"), Kept("NPU001", 15, 19, "cuda", "r")],
        )
    )
    report.add(FileResult("plain.py", Status.UNCHANGED))
    report.add(FileResult("bad.py", Status.FAILED, error="line 1: bad"))
    report.add(FileResult("skip.py", Status.SKIPPED, error="excluded"))
    document = report.document()
    assert document["schema"] == "cuda2npu-report/1"
    assert document["tool"] == {"name": "cuda2npu", "version": __version__}
    assert document["target"] == {"torch": "2.6.0", "soc": "ascend310p"}
    assert document["summary"] == {
        "files": 3,  # looked at, which the skipped one wasn't
        "changed": 1,
        "sites": 6,
        "rewritten": 2,
        "safe": 1,
        "unsafe": 1,
        "manual": 4,
        "offered": 1,
        "severity": {"blocker": 1, "manual": 1, "info": 1},
        "kept": 2,
        "skipped": 1,
        "failed": 1,
    }
    assert [(entry["path"], entry["status"], entry["error"]) for entry in document["files"]] == [
        ("a.py", "changed", None),
        ("bad.py", "failed", "line 1: bad"),
        ("skip.py", "skipped", "excluded"),
    ]


def test_an_unchanged_file_is_listed_if_there_is_something_to_say():
    report = Report(Target())
    kept = [Kept("NPU001", 0, 4, "cuda", "r")]
    report.add(FileResult("a.py", Status.UNCHANGED, "utf-8", text="cuda", data=b"cuda", kept=kept))
    (entry,) = report.document()["files"]
    assert (entry["path"], entry["status"], len(entry["kept"])) == ("a.py", "unchanged", 1)


def test_the_document_survives_every_locale_and_file_name():
    report = Report(Target())
    report.add(FileResult("b\udcffd/模型.py", Status.FAILED, error="原因"))
    text = dumps(report.document())
    assert text.isascii()
    assert json.loads(text)["files"][0]["path"] == "b\udcffd/模型.py"
