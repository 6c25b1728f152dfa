from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cuda2npu.catalog.checks import ROWS
from cuda2npu.catalog.load import load_catalog
from cuda2npu.catalog.rules import Row
from cuda2npu.rule_tests import failures

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("rules.md", "zh/rules.md")

RULE = """
[[rule]]
code = "ACME001"
name = "corp-gpu"
codemod = "symbol"
applicability = "safe"
summary = "our wrappers"
why = "They need a driver."
sources = ["wiki"]
example = [{ kept = "x = 1" }]
[rule.rows]
"corp.gpu.to_cuda" = { to = "corp.npu.to_npu", keywords = { gpu = "npu" } }
"corp.gpu.move" = { to = "corp.npu.move" }
"corp.gpu.Pool" = {}
"corp.gpu.sync" = { to = "torch.npu.synchronize" }
"corp.Gpu.start" = { to = "corp.Npu.start" }
"old.gpu.run" = { to = "fresh.npu.run" }
"torch.cuda.synchronize" = { to = "corp.npu.sync" }
"acme.gpu_sync" = { to = "acme.npu_sync" }
"flat.gpu_sync" = { to = "level.npu_sync" }
"deep.gpu.sync" = { to = "level.npu_sync" }
"""


@pytest.fixture
def convert(tmp_path, write, cli):
    """Return what a file becomes with rules of the user's."""

    def convert(source: str, rules: str = RULE) -> str:
        name = f"{len(rules)}.toml"  # a process reads a rule file once
        folder = write(tmp_path, {name: rules, "src/a.py": source})
        ran = cli("convert", folder / "src" / "a.py", "--in-place", "--rules", folder / name)
        assert ran.code == 0, ran.err
        return (folder / "src" / "a.py").read_text(encoding="utf-8")

    return convert


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from corp.gpu import move\nmove(x)\n", "from corp.npu import move\nmove(x)\n"),
        (
            "from corp.gpu import to_cuda as t\nt(x, gpu=1)\n",
            "from corp.npu import to_npu as t\nt(x, npu=1)\n",
        ),
        (
            "from corp.gpu import move, other\nmove(x)\n",
            "from corp.gpu import other\nfrom corp.npu import move\nmove(x)\n",
        ),
        ("import corp.gpu\ncorp.gpu.move(x)\n", "import corp.npu\ncorp.npu.move(x)\n"),
        ("import corp.gpu as g\ng.move(x)\n", "import corp.npu as g\ng.move(x)\n"),
        ("from corp import gpu\nf = gpu.move\nf(x)\n", "from corp import npu\nf = npu.move\nf(x)\n"),
        ("import corp\ncorp.gpu.move(x)\n", "import corp\nimport corp.npu\ncorp.npu.move(x)\n"),
        (
            "import corp.gpu\ncorp.gpu.move(x)\ncorp.gpu.other(x)\n",
            "import corp.gpu\nimport corp.npu\ncorp.npu.move(x)\ncorp.gpu.other(x)\n",
        ),
        (
            "import corp.gpu as g, os\ng.move(x)\ng.other(x)\n",
            "import corp.gpu as g, os\nimport corp.npu\ncorp.npu.move(x)\ng.other(x)\n",
        ),
        (
            "import corp.data\nimport corp.gpu\ncorp.gpu.move(corp.data.x)\n",
            "import corp.data\nimport corp.npu\ncorp.npu.move(corp.data.x)\n",
        ),
        (
            "import corp.gpu\nimport corp.npu\ncorp.gpu.move(corp.gpu)\n",
            "import corp.gpu\nimport corp.npu\ncorp.npu.move(corp.gpu)\n",
        ),
        (
            "def f():\n  from corp import gpu\n  gpu.move(1)\n  gpu.other()\n",
            "def f():\n  from corp import gpu\n  import corp.npu\n  corp.npu.move(1)\n  gpu.other()\n",
        ),
        (
            "try:\n  import corp.gpu as g\nexcept ImportError:\n  g = None\nif g is not None:\n  g.move(x)\n",
            "try:\n  import corp.npu as g\nexcept ImportError:\n  g = None\nif g is not None:\n  g.move(x)\n",
        ),
        ("import old.gpu\nold.gpu.run()\n", "import fresh.npu\nfresh.npu.run()\n"),
        ("from corp import Gpu\nGpu.start()\n", "from corp import Npu\nNpu.start()\n"),
        ("import corp\ncorp.Gpu.start()\n", "import corp\ncorp.Npu.start()\n"),
        (
            "import torch\ntorch.cuda.synchronize()\n",
            "import torch\nimport corp.npu\ncorp.npu.sync()\n",
        ),
        (
            "import torch\nfrom corp import gpu\ngpu.sync()\n",
            "import torch\nimport torch_npu  # noqa: F401\nfrom corp import gpu\ntorch.npu.synchronize()\n",
        ),
        ("import acme\nacme.gpu_sync(1)\n", "import acme\nacme.npu_sync(1)\n"),
        ("import acme, os\nacme.gpu_sync(1)\n", "import acme, os\nacme.npu_sync(1)\n"),
        ("import acme as a\na.gpu_sync(1)\n", "import acme as a\na.npu_sync(1)\n"),
        ("from acme import gpu_sync\ngpu_sync(1)\n", "from acme import npu_sync\nnpu_sync(1)\n"),
        ("import flat\nflat.gpu_sync(1)\n", "import level\nlevel.npu_sync(1)\n"),
        ("import flat as f\nf.gpu_sync(1)\n", "import level as f\nf.npu_sync(1)\n"),
        (
            "import flat\nflat.gpu_sync(flat.other)\n",
            "import flat\nimport level\nlevel.npu_sync(flat.other)\n",
        ),
        ("from flat import gpu_sync as s\ns(1)\n", "from level import npu_sync as s\ns(1)\n"),
        (
            "from deep import gpu\ngpu.sync(1)\n",
            "from deep import gpu\nimport level\nlevel.npu_sync(1)\n",
        ),
        ("from mine.gpu import move\nmove(x)\n", "from mine.gpu import move\nmove(x)\n"),
        ("from corp.gpu import move  # cuda2npu: ignore[ACME001]\n",) * 2,
    ],
)
def test_names_are_found_however_they_are_imported(convert, before, after):
    assert convert(before) == after
    assert convert(after) == after


def test_a_name_that_is_taken_leaves_the_call_to_a_person(tmp_path, write, cli):
    source = "import old.gpu\nfresh = 1\nold.gpu.run(old.gpu)\n"
    folder = write(tmp_path, {"my.toml": RULE, "a.py": source})
    ran = cli("check", folder / "a.py", "--rules", folder / "my.toml")
    assert "a.py:3:1: ACME001" in ran.out
    assert "->" not in ran.out


def test_a_name_without_counterpart_is_reported_with_its_rule(tmp_path, write, cli):
    folder = write(tmp_path, {"my.toml": RULE, "a.py": "from corp import gpu\np = gpu.Pool()\n"})
    ran = cli("check", folder / "a.py", "--rules", folder / "my.toml")
    assert "a.py:2:5: ACME001" in ran.out


def test_an_argument_that_is_no_more_is_reported_with_its_rule(tmp_path, write, cli):
    rules = RULE.replace('{ to = "corp.npu.move" }', '{ to = "corp.npu.move", lacks = ["sync"] }')
    folder = write(tmp_path, {"my.toml": rules, "a.py": "import corp.gpu as g\ng.move(x, sync=True)\n"})
    ran = cli("check", folder / "a.py", "--rules", folder / "my.toml", "--select", "ACME")
    (found,) = [line for line in ran.out.splitlines() if ":2:1:" in line]
    assert "ACME001" in found
    assert "doesn't take this argument: sync=True" in found
    assert "g.move(x, sync=True)" in found


def test_notebooks_are_looked_at_though_no_cuda_word_stands_in_them(tmp_path, write, cli):
    cell = {"cell_type": "code", "source": "from corp.gpu import move\nmove(x)"}
    notebook = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    folder = write(tmp_path, {"my.toml": RULE, "a.ipynb": notebook})
    ran = cli("check", folder / "a.ipynb", "--rules", folder / "my.toml")
    assert "a.ipynb:cell 0:1:6: ACME001" in ran.out


def test_selection_knows_the_prefix(tmp_path, write, cli):
    folder = write(tmp_path, {"my.toml": RULE, "a.py": "import torch\nfrom corp.gpu import move\nx.cuda()\n"})
    check = ("check", folder / "a.py", "--rules", folder / "my.toml")
    assert "NPU002" not in cli(*check, "--select", "ACME").out
    assert "ACME001" in cli(*check, "--select", "acme001").out
    assert "ACME001" not in cli(*check, "--ignore", "ACME").out
    assert cli(*check, "--ignore", "ACNE").code == 2
    write(folder, {"pyproject.toml": "[tool.cuda2npu]\nrules = ['my.toml']\nselect = ['ACME']\n"})
    ran = cli("check", folder / "a.py")
    assert [line.split()[1] for line in ran.out.splitlines()] == ["ACME001"]


def test_suppressions_that_do_nothing_are_named(tmp_path, write, cli):
    folder = write(
        tmp_path, {"my.toml": RULE, "a.py": "from corp.gpu import x  # cuda2npu: ignore[ACME001]\nmove\n"}
    )
    assert "NPU902" in cli("check", folder / "a.py", "--rules", folder / "my.toml").out


def test_a_foreign_package(convert):
    source = "import torch\nimport corp_render\nscene = corp_render.Scene(device='cuda')\n"
    assert convert(source, '[packages]\nforeign = ["corp_render"]\n') == source
    assert convert(source) != source


PACKAGE = """
[notes]
"ours" = { en = "Take ours.", zh = "使用内部版本。" }
[[rule]]
code = "ACME002"
name = "corp-packages"
codemod = "package_import"
applicability = "manual"
severity = "SEVERITY"
summary = "a package"
why = "It needs CUDA."
sources = ["wiki"]
example = [{ reported = "import corp_kernels" }]
[rule.rows]
"corp_kernels" = {}
"xformers" = { note = "ours" }
"""


def test_a_package_of_the_company_and_one_that_we_know_otherwise(tmp_path, write, cli):
    source = "import corp_kernels.attention\ntry:\n    import xformers\nexcept ImportError:\n    pass\n"
    folder = write(tmp_path, {"my.toml": PACKAGE.replace("SEVERITY", "blocker"), "a.py": source})
    lines = cli("check", folder / "a.py", "--rules", folder / "my.toml").out.splitlines()
    assert [line.partition(": ")[2].partition(" package")[0] for line in lines] == [
        "ACME002 won't run on the NPU: a",
        "ACME002 good to know: a",
    ]
    assert lines[1].endswith("Take ours.")


# --- bad input


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('code = "ACME001"', 'code = "acme-1"', "rule acme-1: code: capital letters and then digits"),
        ('code = "ACME001"', "", "rule ?: code is missing"),
        ('code = "ACME001"', "code = 1", "rule 1: code must be a string"),
        ('code = "ACME001"', 'code = "NPU101"', "rule NPU101 stands twice"),
        ('name = "corp-gpu"', 'name = "Corp GPU"', "name 'Corp GPU': small letters with hyphens"),
        (
            'codemod = "symbol"',
            'codemod = "symbols"',
            "there is no codemod 'symbols'; one of symbol",
        ),
        ('codemod = "symbol"', 'codemod = "device_string"', "there is no codemod 'device_string'; one of"),
        ('codemod = "symbol"', 'codemod = "call"', ""),
        (
            'codemod = "symbol"',
            'codemod = "attribute_name"',
            "row corp.gpu.to_cuda: for the codemod",
        ),
        ('"safe"', '"sure"', "there is no applicability 'sure'; one of safe, unsafe, manual"),
        ('"safe"', '"manual"', "row corp.gpu.to_cuda: a manual rule changes nothing"),
        ('why = "They need a driver."', "", "why is missing"),
        ('why = "They need a driver."', "why = 3", "why must be a string"),
        ('why = "They', 'wy = "x"\nwhy = "They', "unknown key wy; there are code, name,"),
        ('sources = ["wiki"]', 'sources = "wiki"', "sources must be a list of strings"),
        ('{ kept = "x = 1" }', '{ keep = "x = 1" }', "example 1: unknown key keep; there are before, after"),
        ('{ kept = "x = 1" }', '{ before = "x = 1" }', "example 1 needs either before and after, or kept"),
        ('{ kept = "x = 1" }', '{ kept = "x", reported = "x" }', "example 1 needs either"),
        ('{ kept = "x = 1" }', '"x = 1"', "example must be a list of tables"),
        ('= { to = "corp.npu.move" }', '= { too = "corp.npu.move" }', "row corp.gpu.move: unknown key too;"),
        ('= { to = "corp.npu.move" }', '= "corp.npu.move"', "row corp.gpu.move must be a table"),
        ('= { to = "corp.npu.move" }', '= { to = "a.b", positional = { x = "y" } }', "by positions from 0"),
        ('= { to = "corp.npu.move" }', '= { note = "gone" }', "there is no note 'gone' in this file"),
        ('= { to = "corp.npu.move" }', '= { torch_npu = "2.7" }', "'2.7' is not a version condition"),
        ('= { to = "corp.npu.move" }', '= { state = "gone" }', "unknown state 'gone'; one of port, replace"),
        (
            '"corp.gpu.move"',
            '"corp gpu move"',
            "row corp gpu move: for the codemod symbol, write",
        ),
        ("[[rule]]", "[rules]\n[[rule]]", "unknown key rules; there are rule, notes, reasons, packages"),
        (
            "[[rule]]",
            "[packages]\nforeign = 'corp'\n[[rule]]",
            "[packages] foreign must be a list",
        ),
        (
            "[[rule]]",
            "[packages]\nalien = ['corp']\n[[rule]]",
            "[packages] unknown key alien; there",
        ),
        ("[[rule]]", "[notes]\nx = 'text'\n[[rule]]", "[notes] x must be a table with en and zh"),
        ("[[rule]]", "[notes]\nx = { de = 'Text' }\n[[rule]]", "[notes] x: unknown key de"),
        ("[[rule]]", "[notes]\nx = { zh = '文' }\n[[rule]]", "[notes] x: en is missing"),
        ("[[rule]]", "[rule]", "rule must be written [[rule]]"),
        ("[[rule]]", "[[rule", "Expected ']]'"),
    ],
)
def test_faults_name_the_file_the_rule_and_the_key(tmp_path, write, cli, old, new, fault):
    text = RULE.replace(old, new, 1)
    assert text != RULE
    folder = write(tmp_path, {"my.toml": text, "a.py": "x = 1\n"})
    ran = cli("check", folder / "a.py", "--rules", folder / "my.toml")
    if not fault:
        assert ran.code == 0
        return
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert ran.err.startswith(f"cuda2npu: rules: {folder / 'my.toml'}: ")
    assert fault in ran.err


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        *(
            (f"corp.fit({argument})", "for the codemod call, write a call, as corp.fit, or an argument with")
            for argument in ("nvlink", "nvlink=", "nvlink=*", "1:nvlink=*")
        ),
        ("corp.fit(comm=!)", "to is missing"),
    ],
)
def test_an_argument_of_a_call_needs_a_value(tmp_path, write, cli, row, fault):
    head = RULE.partition("[rule.rows]")[0].replace('"symbol"', '"call"')
    folder = write(tmp_path, {"my.toml": f'{head}[rule.rows]\n"{row}" = {{}}\n'})
    ran = cli("rule", "--rules", folder / "my.toml", "--test")
    assert ran.code == 2
    assert f"row {row}: {fault}" in ran.err


def test_two_rows_of_one_name_in_a_file(tmp_path, write, cli):
    other = RULE.replace("ACME001", "ACME002").replace("corp-gpu", "corp-gpus")
    folder = write(tmp_path, {"my.toml": RULE + other})
    ran = cli("rule", "--rules", folder / "my.toml")
    assert ran.code == 2
    assert "ACME002 maps corp.gpu.to_cuda, as ACME001 does" in ran.err


CONDITIONS = {
    "symbol": ("corp.gpu.run", ', to = "corp.npu.run"', "import corp.gpu\ncorp.gpu.run(1)\n"),
    "package_import": ("corp_gpu", "", "import corp_gpu\n"),
    "library_default": ("corp.load", "", "import corp\ncorp.load(1)\n"),
    "attribute_name": ("*.gpu_handle", "", "x.gpu_handle\n"),
    "call": ("corp.fit(comm=nv)", "", "import corp\ncorp.fit(comm='nv')\n"),
    "result_member": ("corp.info().sm", "", "import corp\nx = corp.info().sm\n"),
    "provider_name": ("CorpGPU", "", "run('CorpGPU')\n"),
    "environment": ("CORP_GPUS", ', to = "CORP_NPUS"', "import os\nos.environ['CORP_GPUS']\n"),
}


@pytest.mark.parametrize("codemod", sorted(CONDITIONS))
def test_every_codemod_asks_for_which_chip_and_version_a_row_is(tmp_path, write, cli, codemod):
    name, to, source = CONDITIONS[codemod]
    applicability = "safe" if to else "manual"
    for number, (condition, *options) in enumerate(
        [
            ('soc = ["ascend310p"]', "--soc", "ascend310p"),
            ('torch_npu = ">=2.5, <2.7"', "--torch", "2.6.0"),
        ]
    ):
        head = RULE.partition("[rule.rows]")[0].replace('"symbol"', f'"{codemod}"')
        rules = f'{head.replace("safe", applicability)}[rule.rows]\n"{name}" = {{ {condition}{to} }}\n'
        folder = write(tmp_path, {f"{number}.toml": rules, "a.py": source})
        check = ("check", folder / "a.py", "--rules", folder / f"{number}.toml")
        found = cli(*check, *options).out
        assert "ACME001" in found
        assert ("->" in found) is bool(to)
        elsewhere = cli(*check).out
        if to and number:  # the counterpart is missing in 2.7, which has to be said
            assert "ACME001" in elsewhere
            assert "->" not in elsewhere
        else:
            assert "ACME001" not in elsewhere


def test_where_a_row_is_not_about_the_chip_ours_holds(tmp_path, write, cli):
    rules = RULE.replace('{ to = "corp.npu.sync" }', '{ to = "corp.npu.sync", soc = ["ascend310p"] }')
    source = "import torch\ntorch.cuda.synchronize()\n"
    folder = write(tmp_path, {"my.toml": rules, "a.py": source})
    check = ("check", folder / "a.py", "--rules", folder / "my.toml")
    assert "torch.cuda -> torch.npu" in cli(*check).out
    assert "corp.npu.sync" in cli(*check, "--soc", "ascend310p").out


def test_the_rule_file_itself_is_no_use_of_cuda(tmp_path, write, cli):
    text = RULE + '"corp.device" = { to = "corp.cuda" }\n'
    pyproject = "[tool.cuda2npu]\nrules = ['tools/my.toml']\n"
    folder = write(tmp_path, {"tools/my.toml": text, "pyproject.toml": pyproject, "a.py": "x = 1\n"})
    assert (cli("check", folder).out, cli("check", folder).code) == ("", 0)
    write(tmp_path, {"pyproject.toml": ""})
    assert "NPU903" in cli("check", folder).out
    assert cli("check", folder, "--rules", folder / "tools" / "my.toml").code == 0


def test_a_file_that_is_not_there(cli):
    ran = cli("rule", "--rules", "missing.toml")
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)


# --- examples as tests


def test_examples_that_hold(tmp_path, write, cli):
    folder = write(tmp_path, {"my.toml": RULE})
    ran = cli("rule", "--rules", folder / "my.toml", "--test")
    assert (ran.code, ran.out) == (0, "examples: 1, of rules: 1, failed: 0\n")


def test_examples_of_a_rule_that_is_off_by_default(tmp_path, write, cli):
    example = (
        '{ before = "import corp.gpu\\ncorp.gpu.move(1)", after = "import corp.npu\\ncorp.npu.move(1)" }'
    )
    text = RULE.replace('{ kept = "x = 1" }', example).replace("[rule.rows]", "default = false\n[rule.rows]")
    folder = write(tmp_path, {"my.toml": text})
    assert cli("rule", "--rules", folder / "my.toml", "--test").code == 0


@pytest.mark.parametrize(
    ("example", "fault"),
    [
        ('{ before = "import corp.gpu\\ncorp.gpu.move(1)", after = "x" }', "something else comes out"),
        ('{ kept = "from corp.gpu import move" }', "something else comes out"),
        ('{ kept = "from corp.gpu import Pool" }', "ACME001 reports it"),
        ('{ reported = "x.cuda" }', "ACME001 has nothing to do with it"),
        ('{ before = "x.cuda()", after = "x.npu()" }', "the rules that have: NPU002"),
        ('{ reported = "corp.gpu.move(" }', "syntax error"),
    ],
)
def test_examples_that_fail(tmp_path, write, cli, example, fault):
    folder = write(tmp_path, {"my.toml": RULE.replace('{ kept = "x = 1" }', example)})
    ran = cli("rule", "--rules", folder / "my.toml", "--test")
    assert ran.code == 1
    assert ran.out.startswith("ACME001 example 1: ")
    assert fault in ran.out
    assert ran.out.endswith("examples: 1, of rules: 1, failed: 1\n")


def test_the_difference_is_shown(tmp_path, write, cli):
    example = '{ before = "import corp.gpu\\ncorp.gpu.move(1)", after = "x = 1" }'
    folder = write(tmp_path, {"my.toml": RULE.replace('{ kept = "x = 1" }', example)})
    ran = cli("rule", "ACME001", "--rules", folder / "my.toml", "--test", "--lang", "zh")
    assert "  + import corp.npu\n  + corp.npu.move(1)\n" in ran.out
    assert "转换结果不同" in ran.out


def test_the_project_s_own_rules_of_code_hold():
    rules = [rule for rule in load_catalog().rules.values() if rule.code.startswith(("NPU1", "NPU5"))]
    assert list(failures(rules, ())) == []


# --- the pages


def blocks(page: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    parts = [part.partition("```")[0] for part in text.split("```toml\n")[1:]]
    return [part for part in parts if "[[rule]]" in part]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_file_on_the_page_works(tmp_path, write, cli, page, lang):
    (text,) = blocks(page)
    folder = write(tmp_path, {"corp.toml": text})
    ran = cli("rule", "--rules", folder / "corp.toml", "--test", "--lang", lang)
    rules = tomllib.loads(text)["rule"]
    examples = sum(len(rule["example"]) for rule in rules)
    numbers = f"示例：{examples}，规则：{len(rules)}，失败：0" if lang == "zh" else f"examples: {examples}, "
    assert ran.code == 0, ran.out
    assert ran.out.startswith(numbers)


@pytest.mark.parametrize("page", PAGES)
def test_the_page_lists_every_codemod_and_every_key(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert [name for name in ROWS if f"| `{name}` |" not in text] == []
    assert [
        key
        for key in ("to", "keywords", "positional", "lacks", "unless", "torch_npu", "soc", "note", "state")
        if f"| `{key}` |" not in text
    ] == []
    tables = ("[packages]", "[keys]", "[distributions]", "[notes]")
    assert [table for table in tables if f"| `{table}` |" not in text] == []


def test_keys_and_distributions_of_the_user_s(tmp_path, write, cli):
    head = RULE.partition("[rule.rows]")[0].replace('"symbol"', '"package_import"').replace("safe", "manual")
    tables = '[keys]\ndevice = ["place"]\n[distributions]\n"corp-fast*" = "corp_fast"\n'
    note = '[notes]\nfast = { en = "Take corp-fast-npu." }\n'
    rules = f'{tables}{note}{head}[rule.rows]\n"corp_fast" = {{ note = "fast" }}\n'
    files = {"a.py": "import torch\n", "c.yaml": "place: cuda\n", "requirements.txt": "corp-fast-gpu==1\n"}
    write(tmp_path, {"my.toml": rules, **files})
    shown = cli("check", tmp_path, "--rules", tmp_path / "my.toml").out.splitlines()
    assert any("c.yaml:1:8: NPU610" in line and "cuda -> npu" in line for line in shown)
    assert any("requirements.txt:1:1:" in line and "Take corp-fast-npu." in line for line in shown)


def test_every_codemod_that_users_may_name_has_a_rule_of_ours():
    ours = {rule.codemod for rule in load_catalog().rules.values()}
    assert set(ROWS) <= ours
    assert Row("x").name == "x"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"a = " + b"[" * 4000 + b"]" * 4000, "nested too deeply"),
        (RULE.encode("utf-16"), "isn't UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(cli, tmp_path, data, reason):
    path = tmp_path / "corp.toml"
    path.write_bytes(data)
    ran = cli("rule", "--rules", path)
    assert ran.code == 2
    assert "corp.toml" in ran.err
    assert reason in ran.err
