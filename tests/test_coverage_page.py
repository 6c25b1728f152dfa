"""The page on what is covered: complete, about rules that exist, with examples that they are about."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from cuda2npu.catalog.load import load_catalog

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "coverage.md"
CHINESE = DOCS / "zh/coverage.md"
PLACES = 92  # what people hit, as collected before the first rule was written
RULES = load_catalog().rules
LINE = re.compile(r"\|(?: (\d+) \|)? ([^|]+) \| ([^|]+) \| ([^|]+) \|")
# The name of a file that isn't Python, the example, and what it is converted for.
EXAMPLE = re.compile(r"(?:`([\w.]+\.(?:sh|txt|yaml|json|cu)|Dockerfile)` )?`([^`]+)`(?: \(([\w .]+)\))?")
CODE = re.compile(r"NPU\d{3}")


class Line(NamedTuple):
    """One line of a table; the number is empty in the tables that have none."""

    number: str
    what: str
    answer: str
    example: str

    @property
    def rules(self) -> set[str]:
        return set(CODE.findall(self.answer))


def lines(page: Path = PAGE) -> list[Line]:
    matches = (LINE.fullmatch(line) for line in page.read_text(encoding="utf-8").splitlines())
    found = [Line(*(cell or "" for cell in match.groups())) for match in matches if match]
    return [line for line in found if line.example not in ("Example", "示例")]


def test_everything_that_people_hit_is_there_once() -> None:
    numbers = Counter(int(line.number) for line in lines() if line.number)
    assert numbers == dict.fromkeys(range(1, PLACES + 1), 1)


def test_the_guides_are_there() -> None:
    assert len([line for line in lines() if not line.number]) > 15


def test_every_rule_exists() -> None:
    assert set(CODE.findall(PAGE.read_text(encoding="utf-8"))) - RULES.keys() == set()


@pytest.mark.parametrize("line", lines(), ids=lambda line: line.number or line.what[:20])
def test_a_line_says_why_or_shows_what(line: Line, tmp_path, write, cli) -> None:
    if line.example == "–":
        assert not line.rules
        return
    assert line.rules or "(NPU" in line.answer
    seen: set[str] = set()
    for number, (name, source, target) in enumerate(EXAMPLE.findall(line.example)):
        text = source.replace("↵", "\n") + "\n"
        if not name and "import torch\n" not in text:
            text = f"import torch\n{text}"
        folder = write(tmp_path / str(number), {name or "main.py": text})
        found = codes_found(cli("check", folder, "--format", "json", *flags(target, line.rules)).out)
        assert found & line.rules or "(NPU" in line.answer, source
        seen |= found
    assert line.rules <= seen


def test_the_chinese_page_says_the_same() -> None:
    english, chinese = ([(x.number, x.rules, x.example) for x in lines(page)] for page in (PAGE, CHINESE))
    assert chinese == english


def flags(target: str, rules: set[str]) -> list[str]:
    """Return the options for a target, ``torch 2.5.1`` or ``ascend310p``, and for rules that are off."""
    off = any(not RULES[code].default for code in rules)
    chosen = [option for code in sorted(rules) if off for option in ("--select", code)]
    if target.startswith("torch "):
        return [*chosen, "--torch", target[len("torch ") :]]
    return [*chosen, "--soc", target] if target else chosen


def codes_found(report: str) -> set[str]:
    files = json.loads(report)["files"]
    return {entry["rule"] for file in files for entry in (*file["changes"], *file["findings"])}
