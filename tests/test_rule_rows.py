"""What the rule files promise: targets exist, versions are right, texts are complete, nothing is left out."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cuda2npu.catalog.api import api_table, api_versions
from cuda2npu.catalog.grades import Applicability
from cuda2npu.catalog.load import CatalogError, load_catalog
from cuda2npu.catalog.rules import LANGUAGES, Catalog, Example, Row, Rule
from cuda2npu.settings import Target

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

RULES = Path(__file__).parents[1] / "rules"
NAMES = Path(__file__).parent / "data/torch_cuda_names.txt"
CATALOG = load_catalog()
# From the oldest to the newest wheel; 2.2 has no wheel and counts as what 2.1 and 2.3 share.
OLDEST, NEWEST = (int(api_versions()[index].split(".")[1]) for index in (0, -1))
VERSIONS = [(2, minor) for minor in range(OLDEST, NEWEST + 1)]

HAN = re.compile("[\u4e00-\u9fff]")


def documents() -> dict[str, dict[str, Any]]:
    """Return the rule files as they stand, by name, for what the loader doesn't keep."""
    return {
        path.name: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(RULES.glob("*.toml"))
    }


def rows_to_npu() -> list[tuple[Rule, Row]]:
    """Return the rows whose target belongs to torch_npu, and so to the API table."""
    rows = CATALOG.rows.values()
    return [(rule, row) for rule, row in rows if row.to.startswith(("torch.npu", "torch_npu"))]


# --- names and versions


def test_every_target_exists_in_each_version_for_which_its_row_holds() -> None:
    missing = [
        f"{rule.code} {row.name} -> {row.to}: not in {version}"
        for rule, row in rows_to_npu()
        for version in VERSIONS
        if row.holds_for(version) and not api_table(version).has(row.to)
    ]
    assert missing == []


def test_no_condition_is_narrower_than_the_table_without_a_note_that_says_why() -> None:
    narrow = [
        f"{rule.code} {row.name} -> {row.to}: in {version}, but {row.torch_npu!r} does not hold"
        for rule, row in rows_to_npu()
        for version in VERSIONS
        if not row.holds_for(version) and api_table(version).has(row.to) and not row.note.en
    ]
    assert narrow == []


def test_every_row_with_a_condition_holds_somewhere_and_not_everywhere() -> None:
    idle = [
        f"{rule.code} {row.name}: {row.torch_npu!r}"
        for rule, row in CATALOG.rows.values()
        if row.torch_npu and len({row.holds_for(version) for version in VERSIONS}) == 1
    ]
    assert idle == []


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("torch.cuda.ipc_collect", (2, 1), True),
        ("torch.cuda.ipc_collect", (2, 5), False),
        ("torch.cuda.nvtx.range_push", (2, 1), False),
        ("torch.cuda.nvtx.range_push", (2, 7), True),
        ("torch.cuda.nvtx.range_push", (2, 9), False),
        ("torch.cuda.MemPoolContext", (2, 12), True),
        ("torch.cuda.MemPoolContext", (2, 13), False),
        ("torch.cuda.AcceleratorError", (2, 7), False),
        ("torch.cuda.AcceleratorError", (2, 8), True),
        ("torch.cuda.OutOfMemoryError", (2, 6), False),
        ("torch.cuda.synchronize", (2, 1), True),
    ],
)
def test_conditions_of_well_known_names(name: str, version: tuple[int, int], expected: bool) -> None:
    _, row = CATALOG.rows[name]
    assert row.holds_for(version) is expected


def test_rows_of_manual_rules_have_no_target() -> None:
    rows = [(rule, row) for rule, row in CATALOG.rows.values() if rule.applicability is Applicability.MANUAL]
    assert [f"{rule.code} {row.name}" for rule, row in rows if row.to] == []


def test_rows_of_rules_that_rename_have_a_target() -> None:
    rows = [(rule, row) for rule, row in CATALOG.rows.values() if rule.codemod in {"symbol", "profiler"}]
    renaming = [(rule, row) for rule, row in rows if rule.applicability is not Applicability.MANUAL]
    assert [f"{rule.code} {row.name}" for rule, row in renaming if not row.to] == []


def test_rows_without_a_target_say_what_to_do() -> None:
    silent = [
        f"{rule.code} {row.name}"
        for rule, row in (*CATALOG.rows.values(), *(row for rows in CATALOG.others.values() for row in rows))
        if not row.to and not row.note.en and not rule.advice.en
        if rule.codemod != "call" or rule.applicability is Applicability.MANUAL  # else an argument goes
    ]
    assert silent == []


def test_keywords_that_move_are_parameters_of_the_target() -> None:
    wrong = []
    for rule, row in rows_to_npu():
        for keyword in {*row.keywords.values(), *row.positional.values()} - set(row.lacks):
            known = [api_table(v).parameters(row.to) for v in VERSIONS if row.holds_for(v)]
            if not all(parameters is None or keyword in bare(parameters) for parameters in known):
                wrong.append(f"{rule.code} {row.name} -> {row.to}({keyword}=)")
    assert wrong == []


def test_what_a_target_is_said_to_lack_is_missing_in_some_version() -> None:
    wrong = []
    for rule, row in rows_to_npu():
        known = [api_table(v).parameters(row.to) for v in VERSIONS if row.holds_for(v)]
        for keyword in row.lacks:
            if known and all(parameters is not None and keyword in bare(parameters) for parameters in known):
                wrong.append(f"{rule.code} {row.name}: every version of {row.to} takes {keyword}")
    assert wrong == []


def bare(parameters: tuple[str, ...]) -> set[str]:
    """Return the names alone of a parameter list that holds ``*args`` and the like."""
    return {parameter.lstrip("*/") for parameter in parameters}


# --- what torch.cuda has


def torch_cuda_names() -> list[str]:
    return [line for line in NAMES.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def is_covered(name: str, catalog: Catalog) -> bool:
    """Whether a row is about the name, or about its module, where the NPU has a like-named function."""
    if name in catalog.rows:
        return True
    module, _, member = name.rpartition(".")
    if module not in catalog.rows:
        return False
    _, row = catalog.rows[module]
    return bool(row.to) and api_table(Target().version).has(f"{row.to}.{member}")


def test_every_public_name_of_torch_cuda_is_covered() -> None:
    names = torch_cuda_names()
    assert len(names) > 200
    assert [name for name in names if not is_covered(name, CATALOG)] == []


def test_an_invented_name_is_not_covered() -> None:
    assert not is_covered("torch.cuda.no_such_thing", CATALOG)
    assert not is_covered("torch.cuda.tunable.no_such_thing", CATALOG)


# --- rules


def test_codes_are_unique_and_well_formed() -> None:
    codes = [
        (rule["code"], file) for file, document in documents().items() for rule in document.get("rule", ())
    ]
    assert [code for code, count in Counter(code for code, _ in codes).items() if count > 1] == []
    # The file npu1_….toml holds rules of the family NPU1.
    assert [code for code, file in codes if not re.fullmatch(rf"{file[:4].upper()}\d\d", code)] == []


def test_names_of_rules_are_unique_and_kebab_case() -> None:
    names = [rule.name for rule in CATALOG.rules.values()]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert [name for name in names if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)] == []


@pytest.mark.parametrize("rule", CATALOG.rules.values(), ids=lambda rule: rule.code)
class TestRule:
    def test_has_summary_and_reason_in_both_languages(self, rule: Rule) -> None:
        for text in (rule.summary, rule.why):
            assert text.en
            assert not HAN.search(text.en)
            assert HAN.search(text.zh)
        assert "\n" not in rule.summary.en + rule.summary.zh

    def test_has_sources_and_examples(self, rule: Rule) -> None:
        assert all(rule.sources)
        assert rule.sources
        assert rule.examples

    def test_says_what_to_do_if_it_is_manual(self, rule: Rule) -> None:
        if rule.applicability is Applicability.MANUAL:
            assert rule.advice.en
            assert HAN.search(rule.advice.zh)

    def test_examples_are_of_one_kind_and_readable(self, rule: Rule) -> None:
        for example in rule.examples:
            assert kinds(example) in (["before", "after"], ["kept"], ["reported"])
            assert example.source != example.after
            if example.file:
                continue  # no Python
            compile(example.source, rule.code, "exec", dont_inherit=True)
            compile(example.expected, rule.code, "exec", dont_inherit=True)


def kinds(example: Example) -> list[str]:
    return [kind for kind in ("before", "after", "kept", "reported") if getattr(example, kind)]


# --- rules about files that aren't Python


def test_distributions_name_rows_that_say_what_to_do() -> None:
    assert CATALOG.distributions
    assert [row for row in CATALOG.distributions.values() if row not in CATALOG.rows] == []
    assert [row for row in CATALOG.distributions.values() if not CATALOG.rows[row][1].note.en] == []


def test_rows_about_files_say_what_to_do_or_what_to_write() -> None:
    others = (each for rows in CATALOG.others.values() for each in rows)
    rows = [(rule, row) for rule, row in others if rule.code.startswith("NPU6")]
    assert rows
    assert [f"{rule.code} {row.name}" for rule, row in rows if not row.to and not row.note.en] == []
    manual = [(rule, row) for rule, row in rows if rule.applicability is Applicability.MANUAL]
    assert [f"{rule.code} {row.name}" for rule, row in manual if row.to] == []


@pytest.mark.parametrize(
    "table", ["keys = 3", "[keys]\ndevice = 'x'", "[keys]\ndevice = [1]", "[distributions]\na = 1"]
)
def test_a_table_of_the_wrong_kind_is_refused(tmp_path: Path, table: str) -> None:
    (tmp_path / "own.toml").write_text(table)
    with pytest.raises(CatalogError, match=r"own\.toml"):
        load_catalog([str(tmp_path / "own.toml")])


# --- notes


@pytest.mark.parametrize("document", documents().values(), ids=documents())
class TestNotes:
    def test_are_all_used(self, document: dict[str, Any]) -> None:
        found = [row for rule in document.get("rule", ()) for row in rule.get("rows", {}).values()]
        rows = [row for each in found for row in (each if isinstance(each, list) else [each])]
        assert set(document.get("notes", {})) == {row["note"] for row in rows if "note" in row}

    def test_are_in_both_languages(self, document: dict[str, Any]) -> None:
        for key, note in document.get("notes", {}).items():
            assert sorted(note) == sorted(LANGUAGES), key
            assert not HAN.search(note["en"]), key
            assert HAN.search(note["zh"]), key
