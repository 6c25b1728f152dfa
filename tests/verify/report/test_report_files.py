"""``comparison.json`` and ``compare_result.csv``."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from comparisons import CANDIDATE, comparison, module_row, unmatched

from cuda2npu.verify.comparison import Metrics, Row, Verdict
from cuda2npu.verify.records import Key, Kind, Statistics
from cuda2npu.verify.report import DOCUMENT, PAGE, SHEET, write_report


def no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def document(folder: Path) -> dict[str, Any]:
    text = (folder / DOCUMENT).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text, parse_constant=no_constant)
    return found


def sheet(folder: Path) -> list[dict[str, str]]:
    with (folder / SHEET).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_document_holds_the_whole_comparison(tmp_path):
    found = comparison()
    write_report(found, tmp_path / "new" / "folder", "en")
    read = document(tmp_path / "new" / "folder")
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == [SHEET, DOCUMENT, PAGE]
    assert read["schema"] == "cuda2npu-comparison/1"
    assert read["verdict"] == "fail"
    assert sum(read["counts"].values()) == len(read["rows"]) == len(found.rows)
    first = read["rows"][0]
    assert first["key"] == {"kind": "input", "name": "ResNet.conv1", "call": 0, "path": "0"}
    assert first["metrics"]["worst"]["index"] == [3, 17, 5, 22]
    assert first["metrics"]["cosine"] == found.rows[0].metrics.cosine  # type: ignore[union-attr]
    assert read["candidate"]["device"] == "simulated"
    assert read["first"]["source"] == "models/resnet.py:94"


def test_infinity_and_nan_are_words_in_the_document(tmp_path):
    row = module_row(
        "A", Kind.OUTPUT, math.nan, statistics=(Statistics(-math.inf, math.inf, None, math.nan), None)
    )
    odd = replace(CANDIDATE, environment={"path": Path("/x"), "half": "\udc80", 3: {1}})
    write_report(comparison(rows=[row], candidate=odd), tmp_path, "en")
    read = document(tmp_path)
    assert math.isnan(float(read["rows"][0]["metrics"]["relative_norm"]))
    assert read["rows"][0]["statistics"][0]["minimum"] == "-inf"
    assert read["curves"][0]["candidate"][4] == "nan"
    assert read["candidate"]["environment"] == {"path": "/x", "half": "?", "3": "{1}"}


def test_the_sheet_has_the_columns_of_msprobe(tmp_path):
    write_report(comparison(), tmp_path, "en")
    header = (tmp_path / SHEET).read_text(encoding="utf-8").splitlines()[0]
    # As in CompareConst.COMPARE_RESULT_HEADER_STACK of msprobe/core/common/const.py.
    assert header.startswith(
        "NPU Name,Bench Name,NPU Dtype,Bench Dtype,NPU Tensor Shape,Bench Tensor Shape,NPU Requires_grad,"
        "Bench Requires_grad,Cosine,EucDist,MaxAbsErr,MaxRelativeErr,One Thousandth Err Ratio,"
        "Five Thousandths Err Ratio,NPU max,NPU min,NPU mean,NPU l2norm,Bench max,Bench min,Bench mean,"
        "Bench l2norm,Requires_grad Consistent,Accuracy Reached or Not,Err_message,NPU_Stack_Info"
    )


def test_the_sheet_says_what_is_known(tmp_path):
    rows = [module_row("ResNet.conv1", Kind.OUTPUT, 0.01, Verdict.FAIL), unmatched()]
    write_report(comparison(rows=rows), tmp_path, "en")
    failed, absent = sheet(tmp_path)
    assert failed["NPU Name"] == failed["Bench Name"] == "Module.conv1.Conv2d.forward.0.output.0"
    assert failed["NPU Dtype"] == "torch.float32"
    assert failed["Bench Tensor Shape"] == "[8, 256, 14, 14]"
    assert float(failed["EucDist"]) == pytest.approx(0.005 * math.sqrt(401408))
    assert (failed["Bench l2norm"], failed["NPU l2norm"]) == ("633.2", "633.3")
    assert (failed["Accuracy Reached or Not"], failed["Result"]) == ("No", "error")
    assert failed["NPU Requires_grad"] == ""
    assert (absent["NPU Name"], absent["NPU Tensor Shape"]) == ("N/A", "N/A")
    assert absent["Bench Name"] == "Module.aux.conv.Conv2d.forward.0.output.0"
    assert (absent["Cosine"], absent["Accuracy Reached or Not"]) == ("", "Unmatched")
    assert absent["Err_message"] == "the candidate has no such record"


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (Key(Kind.INPUT, "Net.a.b", 2, "0.mask"), "Module.a.b.Linear.forward.2.input.0.mask"),
        (Key(Kind.OUTPUT_GRADIENT, "Net.a"), "Module.a.Linear.backward.0.input.0"),
        (Key(Kind.INPUT_GRADIENT, "Net.a", 0, "1"), "Module.a.Linear.backward.0.output.1"),
        (Key(Kind.GRADIENT, "Net.a.weight"), "Module.a.Linear.parameters_grad.weight"),
        (Key(Kind.PARAMETER, "Net.a.bias"), "Module.a.Linear.forward.0.parameters.bias"),
        (Key(Kind.LOSS, "", 1), "loss.1"),
    ],
)
def test_names_are_those_of_msprobe(tmp_path, key, name):
    row = Row(0, 0, key, Verdict.PASS, "x", module="Linear" if key.name else "", dtype=("float32", "float32"))
    write_report(comparison(rows=[row, module_row("Net.z", Kind.OUTPUT, 0.0)]), tmp_path, "en")
    assert sheet(tmp_path)[0]["NPU Name"] == name


def test_two_models_keep_their_names_apart(tmp_path):
    rows = [module_row(f"{root}.a", Kind.OUTPUT, 0.0, module="Linear") for root in ("Teacher", "Student")]
    write_report(comparison(rows=rows), tmp_path, "en")
    assert [row["NPU Name"] for row in sheet(tmp_path)] == [
        "Module.Teacher.a.Linear.forward.0.output.0",
        "Module.Student.a.Linear.forward.0.output.0",
    ]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "＝"])
def test_no_cell_is_a_formula(tmp_path, start):
    evil = start + 'HYPERLINK("x")'
    row = module_row(evil, Kind.LOSS, 0.0, message=evil, source=evil, rule=evil, metrics=Metrics(cosine=-0.5))
    write_report(comparison(rows=[row]), tmp_path, "en")
    (read,) = sheet(tmp_path)
    assert [read[name] for name in ("Err_message", "NPU_Stack_Info", "Rule")] == ["'" + evil] * 3
    assert read["Cosine"] == "-0.5"  # a number stays one


def test_a_report_replaces_the_last_one(tmp_path):
    write_report(comparison(), tmp_path, "en")
    write_report(comparison(rows=[]), tmp_path, "zh")
    assert document(tmp_path)["rows"] == []
    assert sheet(tmp_path) == []
    assert 'lang="zh-Hans"' in (tmp_path / PAGE).read_text(encoding="utf-8")[:60]
