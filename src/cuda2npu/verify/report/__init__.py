"""The views of a comparison: a page to read, a document for programs, a sheet with msprobe's columns."""

from __future__ import annotations

import json
import os
from pathlib import Path

from cuda2npu.verify.comparison import Comparison
from cuda2npu.verify.report.page import render
from cuda2npu.verify.report.sheet import write_sheet
from cuda2npu.verify.report.strict import strict

DOCUMENT, PAGE, SHEET = "comparison.json", "report.html", "compare_result.csv"


def write_report(comparison: Comparison, folder: Path, lang: str) -> None:
    """Write ``comparison.json``, ``report.html`` and ``compare_result.csv``.

    :param folder: made if it isn't there; files of these names are replaced.
    :param lang: the language in which the page opens, ``en`` or ``zh``; it holds both.
    :raises OSError: if a file can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    document = json.dumps(strict(comparison.as_json()), indent=1, ensure_ascii=False, allow_nan=False)
    _replace(folder / DOCUMENT, document + "\n")
    _replace(folder / PAGE, render(comparison, lang))
    _replace(folder / SHEET, write_sheet(comparison.rows))


def _replace(path: Path, text: str) -> None:
    """Write a file completely or not at all."""
    partial = path.with_name(path.name + ".part")
    partial.write_bytes(text.encode("utf-8", "replace"))
    os.replace(partial, path)
