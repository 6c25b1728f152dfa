from __future__ import annotations

import codecs
import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from cuda2npu.catalog.grades import Applicability
from cuda2npu.report.patch import file_patch
from cuda2npu.rewrite.change import Change, FileResult, Status, apply


def change(text: str, start: int, end: int, after: str, applied: bool = True) -> Change:
    return Change("NPU101", Applicability.SAFE, applied, start, end, text[start:end], after, "m")


def result(path: str, text: str, *changes: Change, encoding: str = "utf-8", bom: bytes = b"") -> FileResult:
    data = bom + apply(text, [each for each in changes if each.applied]).encode(encoding)
    return FileResult(path, Status.CHANGED, encoding, text=text, data=data, changes=changes)


def replaced(path: str, text: str, after: str = "npu", **more: object) -> FileResult:
    """Return the result of replacing each ``cuda``."""
    starts = [at for at in range(len(text)) if text.startswith("cuda", at)]
    return result(path, text, *(change(text, at, at + 4, after) for at in starts), **more)


RESULTS = [
    replaced("plain.py", "a\ncuda\nb\n"),
    replaced("longer.py", "a\ncuda\nb\n", after="npu\nmore"),
    replaced("no_newline.py", "a\ncuda"),
    replaced("twice_in_a_line.py", "cuda = cuda\n"),
    replaced("dos.py", "a\r\ncuda\r\n", after="npu\r\nmore"),
    replaced("mac.py", "a\rcuda\rb"),
    replaced("mixed.py", "a\ncuda\r\nb\rc\n"),
    replaced("bom.py", "cuda\n", bom=codecs.BOM_UTF8),
    replaced("gbk.py", "# -*- coding: gbk -*-\n模 = 'cuda'\n", encoding="gbk"),
    replaced("jis.py", "# coding: iso2022_jp\nx = '日本' + 'cuda' + '日'\n", encoding="iso2022_jp"),
    replaced("separators.py", "x = '\u2028\x85\x0b\x0c'\n\x0ccuda\n"),
    replaced("form\x0cfeed.py", "cuda\n"),
    replaced("old runs/data (copy).py", "cuda\n"),
    replaced("größe/模型+1.py", "cuda\n"),
    replaced('quo"te\\back\ttab\nline.py', "cuda\n"),
    replaced("-dash.py", "--- cuda\n+++ x\n"),
    replaced(os.fsdecode(b"not utf-8 \xff.py"), "cuda\n"),
    result("first_line.py", "a\nb\n", change("a\nb\n", 0, 0, "import x\n")),
    result("last_line.py", "a\nb\n", change("a\nb\n", 4, 4, "more\n")),
    result("behind_the_end.py", "a\nb", change("a\nb", 3, 3, "\nmore\n")),
    result("line_removed.py", "a\nb\nc\n", change("a\nb\nc\n", 2, 4, "")),
    result("all_removed.py", "a\n", change("a\n", 0, 2, "")),
    result("newline_removed.py", "a\nb\n", change("a\nb\n", 3, 4, "")),
    result("all_new.py", "", change("", 0, 0, "a\nb")),
]


def check(tmp_path: Path, results: list[FileResult], *options: str) -> None:
    """Check that ``git apply`` turns the originals into what was written, or back with ``-R``."""
    originals, written = {}, {}
    for each in results:
        bom = codecs.BOM_UTF8 if each.data.startswith(codecs.BOM_UTF8) else b""
        originals[each.path] = bom + each.text.encode(each.encoding)
        written[each.path] = each.data
    start, end = (written, originals) if "-R" in options else (originals, written)
    for path, data in start.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    patch = b"".join(map(file_patch, results))
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "apply", *options, "-"], cwd=tmp_path, input=patch, check=True)
    assert {path: (tmp_path / path).read_bytes() for path in end} == end


@pytest.mark.parametrize("options", [(), ("-R",)], ids=["forward", "backward"])
def test_git_applies_it_byte_for_byte(tmp_path, options):
    check(tmp_path, RESULTS, *options)


@pytest.mark.parametrize("seed", range(5))
def test_git_applies_any_changes(tmp_path, seed):
    chance = random.Random(seed)
    pieces = ["a", "b", "cuda", "\n", "\n", "\r\n", "模", "\r", "\n\n\n\n\n\n\n\n"]
    results = []
    for number in range(100):
        text = "".join(chance.choices(pieces, k=chance.randrange(1, 80)))
        edges = sorted(chance.choices(range(len(text) + 1), k=2 * chance.randrange(1, 9)))
        changes = [
            change(
                text,
                start,
                end,
                "".join(chance.choices(pieces, k=chance.randrange(4))),
                chance.random() < 0.9,
            )
            for start, end in zip(edges[::2], edges[1::2])
        ]
        made = result(f"f{number}.py", text, *changes)
        if made.data != text.encode():
            results.append(made)
    check(tmp_path, results)


def test_it_looks_as_git_writes_it():
    text = "".join(f"{number}\n" for number in range(30))
    at, far = text.index("4"), text.index("24")
    changes = [
        change(text, at, at, "import x\n"),
        change(text, at, at + 1, "four"),
        change(text, far, far + 3, ""),
    ]
    assert file_patch(result("pkg/a.py", text, *changes)).decode().splitlines() == [
        "diff --git a/pkg/a.py b/pkg/a.py",
        "--- a/pkg/a.py",
        "+++ b/pkg/a.py",
        *("@@ -2,7 +2,8 @@", " 1", " 2", " 3", "-4", "+import x", "+four", " 5", " 6", " 7"),
        *("@@ -22,7 +23,6 @@", " 21", " 22", " 23", "-24", " 25", " 26", " 27"),
    ]


def test_long_files_take_no_time():
    text = "".join(f"x{number % 150} = cuda\n" if number % 3 else "y\n" for number in range(60_000))
    made = replaced("a.py", text)
    start = time.perf_counter()
    assert file_patch(made).count(b"\n+") == 40_001  # with the header
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize("status", [Status.UNCHANGED, Status.FAILED, Status.SKIPPED])
def test_without_a_change_there_is_no_patch(status):
    assert file_patch(FileResult("a.py", status, "utf-8", text="cuda", data=b"npu")) == b""
