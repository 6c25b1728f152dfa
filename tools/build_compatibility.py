#!/usr/bin/env python3
"""Rebuild ``compatibility.json``: which torch, CANN and Python each torch_npu release goes with.

    python tools/build_compatibility.py [--source FILE_OR_URL] [--date 2026-11-30] [--output FILE]

Reads COMPATIBILITY.md of torch_npu, which Huawei keeps beside the source. Only facts are taken from it:
version numbers. The same page gives the same file.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

PAGE = "https://raw.githubusercontent.com/Ascend/pytorch/master/COMPATIBILITY.md"
SOURCE = "COMPATIBILITY.md of torch_npu (github.com/Ascend/pytorch, master)"
OUTPUT = Path(__file__).parents[1] / "src/cuda2npu/catalog/compatibility.json"

VERSION = re.compile(r"\d+\.\d+[\w.]*")
PYTHON = re.compile(r"Python\s*(\d\.\d+)")


def main() -> int:
    """Write the table that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", default=PAGE, help="the page, a file or a URL")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="when it was taken")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    page = read(options.source)
    releases, pythons = list(release_rows(page)), dict(python_rows(page))
    if not releases or not pythons:
        print(f"{options.source}: no table found; has its form changed?", file=sys.stderr)
        return 1
    options.output.write_text(dumps(releases, pythons, options.date), encoding="utf-8")
    print(f"{options.output}: {len(releases)} releases of torch_npu, {len(pythons)} of torch")
    return 0


def read(source: str) -> str:
    """Return the text of a file or a URL."""
    if "://" not in source:
        return Path(source).read_text(encoding="utf-8")
    with urllib.request.urlopen(source, timeout=60) as answer:
        text: str = answer.read().decode("utf-8")
    return text


def cells(page: str) -> Iterator[list[str]]:
    """Yield the cells of every table row of the page."""
    for line in page.splitlines():
        if line.startswith("|"):
            yield [cell.strip() for cell in line.strip().strip("|").split("|")]


def release_rows(page: str) -> Iterator[dict[str, str]]:
    """Yield the rows of the table torch_npu | branch | torch | CANN."""
    for row in cells(page):
        if len(row) == 4 and row[3].startswith("CANN ") and (release := VERSION.match(row[0])):
            yield {"torch_npu": release[0], "torch": row[2], "cann": row[3][len("CANN ") :]}


def python_rows(page: str) -> Iterator[tuple[str, list[str]]]:
    """Yield torch and its Python versions."""
    for row in cells(page):
        if len(row) == 2 and row[0].startswith("PyTorch ") and (pythons := PYTHON.findall(row[1])):
            yield row[0][len("PyTorch ") :], pythons


def dumps(releases: list[dict[str, str]], pythons: dict[str, list[str]], date: str) -> str:
    """Return the table as JSON, one row on a line."""

    def rows(items: list[str]) -> str:
        return ",\n".join(f"  {item}" for item in items)

    known = [f"{json.dumps(torch)}: {json.dumps(versions)}" for torch, versions in pythons.items()]
    return (
        "{\n"
        f' "schema": 1,\n "source": {json.dumps(SOURCE)},\n "date": {json.dumps(date)},\n'
        f' "releases": [\n{rows([json.dumps(release) for release in releases])}\n ],\n'
        f' "python": {{\n{rows(known)}\n }}\n'
        "}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
