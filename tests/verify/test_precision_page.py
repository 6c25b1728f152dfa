"""The pages about precision show the table that decides."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from cuda2npu.verify.compare import thresholds

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (DOCS / "precision.md", DOCS / "zh/precision.md")
CANN, MSPROBE = "CANN operator acceptance, level L0", "msprobe"
OURS, GUIDES = "measured", "migration guides"
SOURCES = {
    "GROWTH": OURS,
    "GRADIENT": OURS,
    "CEILING": OURS,
    "BUFFER": OURS,
    "KINKS": OURS,
    "DRIFT": OURS,
    "TOTAL": OURS,
    "SAMPLES": OURS,
    "RATIO_RMS": CANN,
    "RATIO_MEAN_RELATIVE": CANN,
    "RATIO_MAX": CANN,
    "GUIDE_COSINE": GUIDES,
    "GUIDE_ABSOLUTE": GUIDES,
    "METRIC": "in wide use",
    "LEARNING_RATE": "computed in float64",
}


def rows():
    """Return the lines of the table of types."""
    for row in thresholds.TABLE:
        powers = [f"2^{math.log2(value):g}" for value in (row.unit, row.small, row.small_error)]
        names = ", ".join(f"`{name}`" for name in row.names)
        yield f"| {names} | {powers[0]} | {row.added:g} | {row.gain:g} | {powers[1]} | {powers[2]} |"


def constants():
    """Return the lines of the table of the other numbers."""
    for name, source in SOURCES.items():
        yield f"| `{name}` | {getattr(thresholds, name):g} | {source} |"


@pytest.mark.parametrize("page", PAGES, ids=["en", "zh"])
def test_the_tables_are_those_of_the_program(page):
    lines = page.read_text(encoding="utf-8").splitlines()
    expected = [*rows(), *constants()]
    assert [line for line in lines if line in expected] == expected


def test_no_number_is_left_out():
    numbers = {name for name, value in vars(thresholds).items() if isinstance(value, float)}
    assert numbers | {"SAMPLES"} == set(SOURCES)
