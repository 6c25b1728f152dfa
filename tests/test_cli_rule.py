from __future__ import annotations

import json

import pytest
from rich.cells import cell_len

from cuda2npu.catalog.load import load_catalog

EXTRA = """
[[rule]]
code = "NPU599"
name = "house-wrapper"
codemod = "symbol"
applicability = "manual"
severity = "blocker"
summary = "our own wrapper around streams"
summary_zh = "公司内部的流封装"
why = "It opens a [CUDA] stream."
why_zh = "它会打开 CUDA 流。"
advice = "Use the wrapper of the platform team."
advice_zh = "请使用平台团队的封装。"
sources = ["the wiki"]
[[rule.example]]
before = "a = 1\\nb = 2\\n"
after = "a = 1\\nb = 3\\n"
unsafe = true
[[rule.example]]
kept = "c = 4\\n"
[[rule.example]]
reported = "d = 5\\n"
torch = "2.1.0"
[rule.rows]
"house.streams" = {}
"""


@pytest.fixture
def extra(tmp_path):
    path = tmp_path / "extra.toml"
    path.write_text(EXTRA, encoding="utf-8")
    return path


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_list_has_every_rule(cli, extra, lang):
    ran = cli("rule", "--rules", extra, "--lang", lang)
    assert ran.code == 0
    codes = [line.split()[0] for line in ran.out.splitlines() if line.startswith("NPU")]
    assert codes == sorted([*load_catalog().rules, "NPU599"])
    assert ("公司内部的流封装" if lang == "zh" else "our own wrapper around streams") in " ".join(
        ran.out.split()
    )
    assert max(cell_len(line) for line in ran.out.splitlines()) <= 80


def test_the_page_of_a_rule(cli, extra):
    ran = cli("rule", "npu599", "--rules", extra)
    assert ran.code == 0
    assert ran.out == (
        "NPU599 house-wrapper (manual)\nour own wrapper around streams\n\n"
        "Why\nIt opens a [CUDA] stream.\n\nWhat to do\nUse the wrapper of the platform team.\n\n"
        "What it is about\n  house.streams\n\n"
        "Examples\n  # with --unsafe\n    a = 1\n  - b = 2\n  + b = 3\n\n"
        "  # kept as it is\n    c = 4\n\n  # torch 2.1.0, reported to a person\n    d = 5\n\n"
        "Sources\n- the wiki\n"
    )


def test_the_page_in_chinese(cli, extra):
    out = cli("rule", "house-wrapper", "--rules", extra, "--lang", "zh").out
    assert "原因\n它会打开 CUDA 流。" in out
    assert "处理方法\n请使用平台团队的封装。" in out


def test_json(cli, extra):
    one = json.loads(cli("rule", "NPU599", "--rules", extra, "--format", "json").out)
    assert (one["code"], one["severity"], one["sources"]) == ("NPU599", "blocker", ["the wiki"])
    assert one["examples"][1:] == [{"kept": "c = 4\n"}, {"reported": "d = 5\n", "torch": "2.1.0"}]
    every = json.loads(cli("rule", "--rules", extra, "--format", "json").out)
    assert [each["code"] for each in every] == sorted([*load_catalog().rules, "NPU599"])


def test_the_page_shows_the_rows_with_what_to_do(cli):
    out = " ".join(cli("rule", "NPU511").out.split())
    assert "flash_attn (replace) Use torch.nn.functional.scaled_dot_product_attention" in out
    assert "more; cuda2npu rule NPU511 --format json has them all" in out
    rows = json.loads(cli("rule", "NPU511", "--format", "json").out)["rows"]
    assert [row["name"] for row in rows] == [row.name for row in load_catalog().rules["NPU511"].rows]
    assert "Require torch==2.7.1 for the CPU" in " ".join(cli("rule", "NPU631").out.split())


def test_braces_in_a_note_of_the_user_s(cli, extra):
    text = EXTRA.replace('"house.streams" = {}', '"house.streams" = { note = "n" }')
    extra.write_text(f"[notes]\nn = {{ en = 'Call {{x}}.' }}\n{text}", encoding="utf-8")
    assert "Call {x}." in cli("rule", "NPU599", "--rules", extra).out


def test_the_rules_of_a_family(cli):
    codes = [line.split()[0] for line in cli("rule", "npu63").out.splitlines() if line.startswith("NPU")]
    assert codes == [code for code in load_catalog().rules if code.startswith("NPU63")]


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("NPU598", "NPU599 house-wrapper"),
        ("house-wraper", "did you mean NPU599 house-wrapper"),
        ("zzz", "there is no zzz"),
    ],
)
def test_an_unknown_rule(cli, extra, code, hint):
    ran = cli("rule", code, "--rules", extra)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert hint in ran.err


@pytest.mark.parametrize("text", ["[[rule]]\ncode = 'NPU1'\n", "[[rules]]\ncode = 'NPU1'\n", "foo = 1\n"])
def test_a_wrong_rule_file(cli, tmp_path, text):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    ran = cli("rule", "--rules", path)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert str(path) in ran.err
