"""The tables of the doctor: consistent, complete in both languages, and regenerated from the page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cuda2npu.catalog.compatibility import TABLE, compatibility
from cuda2npu.catalog.releases import cann_order, minor, order, release
from cuda2npu.doctor import codes as code_table
from cuda2npu.doctor.codes import codes
from cuda2npu.doctor.log import OVERLAP

SCRIPT = Path(__file__).parents[2] / "tools/build_compatibility.py"
PAGE = """
| TorchNPU | branch | PyTorch | CANN |
|:--:|:--:|:--:|:--:|
| 2.12.0 | v2.12.0-26.1.0 | 2.12.0 | CANN 9.1.0 |
| 1.11.0.rc2（beta） | v1.11.0-3.0.0 | 1.11.0 | CANN 6.0.1 |

| PyTorch | Python |
|---|---|
| PyTorch 2.12.0 | Python3.10, Python 3.11 |
"""


def test_the_compatibility_table_is_consistent():
    table = compatibility()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", table.date)
    assert table.source
    assert len({row.torch_npu for row in table.releases}) == len(table.releases)
    for row in table.releases:
        assert order(row.torch_npu), row
        assert cann_order(row.cann), row
        assert release(row.torch_npu) == row.torch, row
        assert table.pythons(row.torch), row
    for torch, pythons in table.python.items():
        assert order(torch)
        assert list(pythons) == sorted(pythons, key=order)


@pytest.mark.parametrize("minor_of", ["2.1", "2.5", "2.6", "2.7", "2.8", "2.9", "2.10", "2.11", "2.12"])
def test_there_is_a_suggestion_for_each_torch(minor_of):
    found = compatibility().suggestion(torch=minor_of + ".0")
    assert found
    assert minor(found.torch) == minor_of


def test_a_suggestion_keeps_what_is_there():
    table = compatibility()
    assert table.suggestion(cann="8.5.0", python="3.9").torch_npu == "2.8.0.post2"
    assert table.suggestion(torch="2.7.1", cann="8.2.RC1") is None


def test_what_a_newer_post_release_needs_at_least():
    assert compatibility().older("2.7.1.post11").torch_npu == "2.7.1.post8"
    assert compatibility().older("2.7.1.post8+git12").torch_npu == "2.7.1.post4"


def test_cann_versions_are_in_order():
    versions = [
        "7.0.0",
        "8.0.RC1",
        "8.0.RC3",
        "8.0.0",
        "8.2.RC1.alpha001",
        "8.2.RC1",
        "8.3.RC1",
        "8.5.0",
        "9.0.0",
        "10.0.0",
    ]
    assert sorted(set(versions), key=cann_order) == versions
    assert cann_order("unknown") is None


def test_package_versions_are_in_order():
    versions = ["2.7.1.dev20250724", "2.7.1", "2.7.1.post2", "2.7.1.post10", "2.10.0"]
    assert sorted(set(versions), key=order) == versions


def test_the_script_reads_the_page(tmp_path):
    page, output = tmp_path / "page.md", tmp_path / "table.json"
    page.write_text(PAGE, encoding="utf-8")
    command = [
        sys.executable,
        str(SCRIPT),
        "--source",
        str(page),
        "--date",
        "2026-11-30",
        "--output",
        str(output),
    ]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    table = json.loads(output.read_text())
    assert [row["torch_npu"] for row in table["releases"]] == ["2.12.0", "1.11.0.rc2"]
    assert table["python"] == {"2.12.0": ["3.10", "3.11"]}
    assert table.keys() == json.loads(TABLE.read_text()).keys()


def test_the_script_refuses_another_page(tmp_path):
    page, output = tmp_path / "page.md", tmp_path / "table.json"
    page.write_text("moved", encoding="utf-8")
    command = [sys.executable, str(SCRIPT), "--source", str(page), "--output", str(output)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1
    assert not output.exists()


def test_the_error_codes_are_complete():
    table = json.loads(code_table.TABLE.read_text(encoding="utf-8"))
    entries = [*table["codes"], *table["texts"]]
    assert len({entry["code"] for entry in entries}) == len(entries)
    for entry in [*entries, *table["err_kinds"].values(), *table["families"].values()]:
        assert len(entry["en"]) == len(entry["zh"]), entry
        assert all(re.search(r"[\u4e00-\u9fff]", text) for text in entry["zh"]), entry
        assert not re.search(r"[\u4e00-\u9fff]", "".join(entry["en"])), entry
    for entry in entries:
        assert table["sources"][entry["source"]], entry
    for entry in table["texts"]:
        assert len(entry["en"]) == 2, entry
        assert len(entry["needle"]) < OVERLAP


def test_every_code_is_explained_with_advice_and_source():
    table = json.loads(code_table.TABLE.read_text(encoding="utf-8"))
    for entry in [*table["codes"], *table["texts"]]:
        meaning = codes().explain(entry["code"])
        assert meaning.known
        assert meaning.meaning.in_language("en")
        assert meaning.advice.in_language("zh")
        assert meaning.source
