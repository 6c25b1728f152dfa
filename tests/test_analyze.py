from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from rich.cells import cell_len
from snapshots import snapshot

from cuda2npu.messages import say
from cuda2npu.report.analysis import EFFORTS, SCHEMA, STATES, _name
from cuda2npu.report.blocks import Command, Heading, Item, Paragraph, Table, code, markdown

EASY = "import torch\n\n# the model\nx = torch.ones(1).cuda()\n"
BLOCKED = (
    "import torch\nfrom torch.utils.cpp_extension import CUDAExtension\n\next = CUDAExtension('a', [])\n"
)
LOOK_AT = "import torch\nm = torch.nn.DataParallel(torch.nn.Linear(1, 1)).cuda()\n"
UNSAFE = "import torch\ntorch.backends.cuda.matmul.allow_tf32 = True\n"
PACKAGES = """\
import os, cPickle
import numpy as np
import yaml, corp_secrets
from pkg import easy
try:
    import apex
    from numba import cuda, jit
except ImportError:
    apex = None
if True:
    import triton
"""
REPOSITORY = {
    "pkg/__init__.py": "",
    "pkg/easy.py": EASY,
    "pkg/plain.py": "print('hello')\n",
    "setup.py": BLOCKED,
    "look.py": LOOK_AT,
    "unsafe.py": UNSAFE,
    "packages.py": PACKAGES,
    "csrc/k.cu": "__global__ void k() {}\n\nint x;\n",
    "configs/a.yaml": "device: cuda\n",
    "configs/b.yaml": "backend: nccl\n",
    "run.sh": "CUDA_VISIBLE_DEVICES=0 python train.py\n",
}


@pytest.fixture
def repository(tmp_path, write):
    return write(tmp_path / "repo", REPOSITORY)


@pytest.fixture
def document(repository, cli):
    ran = cli("analyze", repository, "--format", "json")
    assert ran.code == 0
    return json.loads(ran.out)


def test_the_schema_and_the_target(document):
    assert document["schema"] == SCHEMA == "cuda2npu-analysis/1"
    assert document["target"] == {"torch": "2.7.1", "soc": "ascend910b"}


def test_totals(document):
    totals = document["totals"]
    assert (totals["python_files"], totals["notebooks"]) == (7, 0)
    assert totals["lines"] == sum(
        bool(line.strip()) and not line.startswith("#")
        for path, text in REPOSITORY.items()
        if path.endswith(".py")
        for line in text.splitlines()
    )
    assert (totals["native_files"], totals["native_lines"]) == (1, 3)
    assert sum(totals["effort"].values()) == totals["python_files"]


def test_effort_is_that_of_the_gravest_place(document):
    efforts = {file["path"]: file["effort"] for file in document["files"]}
    assert efforts["pkg/easy.py"] == "low"
    assert efforts["look.py"] == "medium"
    assert efforts["unsafe.py"] == "medium"
    assert efforts["setup.py"] == "high"
    assert "pkg/plain.py" not in efforts
    order = [EFFORTS.index(file["effort"]) for file in document["files"]]
    assert order == sorted(order, reverse=True)


def test_of_files_with_the_same_effort_the_one_with_more_to_do_is_first(tmp_path, write, cli):
    more = UNSAFE + "torch.backends.cudnn.allow_tf32 = True\n"
    write(tmp_path, {"a.py": UNSAFE, "b.py": more, "c.py": LOOK_AT})
    files = json.loads(cli("analyze", tmp_path, "--format", "json").out)["files"]
    assert [file["path"] for file in files] == ["c.py", "b.py", "a.py"]


def test_uses_are_counted_once(document):
    uses = document["uses"]
    assert uses["total"] == uses["safe"] + uses["unsafe"] + uses["manual"] + uses["blocker"]
    assert uses["unsafe"] == 1
    assert uses["blocker"] == sum(group["count"] for group in document["blockers"])
    assert uses["manual"] == sum(group["count"] for group in document["person"])
    assert uses["share"] == pytest.approx(uses["safe"] / uses["total"], abs=0.001)
    assert uses["share"] <= uses["safe"] / uses["total"]


def test_what_is_the_same_is_one_group(tmp_path, write, cli):
    write(tmp_path, {"a.py": LOOK_AT, "b.py": LOOK_AT})
    (group,) = json.loads(cli("analyze", tmp_path, "--format", "json").out)["person"]
    assert (group["rule"], group["count"], group["files"]) == ("NPU304", 2, 2)
    assert group["places"][0] == {"path": "a.py", "line": 2, "code": "torch.nn.DataParallel"}


def test_blockers_say_where_what_and_what_to_do(document):
    group = next(group for group in document["blockers"] if group["rule"] == "NPU501")
    assert group["message"]
    assert group["advice"]
    assert group["places"][0]["path"] == "setup.py"


def test_packages(document):
    packages = {package["name"]: package for package in document["packages"]}
    assert set(packages) == {"numpy", "yaml", "corp_secrets", "apex", "numba.cuda", "numba", "triton"}
    assert packages["numpy"]["state"] == packages["yaml"]["state"] == "works"
    assert packages["corp_secrets"]["state"] == "unknown"
    assert packages["apex"]["advice"]
    assert packages["apex"]["optional"]
    assert packages["apex"]["places"] == [{"path": "packages.py", "line": 6}]
    assert not packages["triton"]["optional"]
    order = [STATES.index(package["state"]) for package in document["packages"]]
    assert order == sorted(order)


def test_the_state_of_a_package_comes_from_its_row(tmp_path, write, cli):
    rules = write(tmp_path, {"my.toml": IN_HOUSE}) / "my.toml"
    src = write(tmp_path / "src", {"a.py": "import torch\nfrom corp_kernels import fuse\n"})
    document = json.loads(cli("analyze", src, "--rules", rules, "--format", "json").out)
    (package,) = document["packages"]
    assert (package["name"], package["state"]) == ("corp_kernels", "port")
    assert package["advice"] == "Install corp-kernels-npu."


IN_HOUSE = """
[notes]
"kernels" = { en = "Install corp-kernels-npu.", zh = "安装 corp-kernels-npu。" }
[[rule]]
code = "ACME001"
name = "corp-kernels"
codemod = "package_import"
applicability = "manual"
severity = "blocker"
summary = "kernels for CUDA"
why = "They are."
sources = ["wiki"]
example = [{ reported = "import corp_kernels" }]
[rule.rows]
"corp_kernels" = { note = "kernels", state = "port" }
"""


def test_a_package_of_the_repository_is_none_of_others(tmp_path, write, cli):
    write(tmp_path, {"lib/tools/x.py": "", "scripts/a.py": "import torch\nimport tools.x\nfrom . import y\n"})
    assert json.loads(cli("analyze", tmp_path, "--format", "json").out)["packages"] == []


def test_imports_of_notebooks_and_of_files_with_syntax_errors(tmp_path, write, cli):
    cells = [
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import triton\n", "!pip install x"]},
        {"cell_type": "markdown", "source": "import pynvml"},
    ]
    notebook = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    write(tmp_path, {"a.ipynb": notebook, "b.py": "import cupy\nprint 'x'\n", "c.ipynb": "no JSON"})
    document = json.loads(cli("analyze", tmp_path, "--format", "json").out)
    assert {package["name"] for package in document["packages"]} == {"cupy", "triton"}
    assert document["totals"]["notebooks"] == 2


def test_scripts_and_configurations(document):
    files = {file["path"]: file for file in document["configuration"]}
    assert {"configs/a.yaml", "configs/b.yaml", "run.sh"} <= set(files)
    assert files["run.sh"]["safe"] == 1


def test_operators_at_risk_stand_apart_the_gravest_first(tmp_path, write, cli):
    source = "import torch\nx = torch.ones(2, dtype=torch.float64)\ny = torch.nonzero(x)\n"
    write(tmp_path, {"a.py": source + "z = torch.topk(x, 2, sorted=False)\nw = torch.nonzero(y)\n"})
    document = json.loads(cli("analyze", tmp_path, "--format", "json").out)
    found = {entry["name"]: entry for entry in document["operators"]}
    assert found["nonzero"]["count"] == 2
    assert [place["line"] for place in found["nonzero"]["places"]] == [3, 5]
    assert all(entry["rule"].startswith("NPU4") for entry in document["operators"])
    assert document["operators"][0]["severity"] == "safe"  # topk is converted, the others are good to know
    text = cli("analyze", tmp_path).out
    assert "Operators and dtypes at risk" in text
    assert "NPU431: " in text


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("torch.nonzero", "nonzero"),
        ("((x != 0) & y).nonzero", "nonzero"),
        ("dtype=torch.float64", "float64"),
        ("torch.randn(2, dtype=torch.double)", "randn"),
        ('backend="inductor"', "backend"),
        ("scores[mask]", "[...]"),
        ("'d'", "'d'"),
    ],
)
def test_the_name_of_an_operator(written, name):
    assert _name(written) == name


def test_native_code(document):
    assert document["native"]["files"] == [{"path": "csrc/k.cu", "lines": 3}]
    assert "NPU501" in [group["rule"] for group in document["native"]["findings"]]


def test_a_file_that_fails_is_high_and_exit_code_1(tmp_path, write, cli):
    write(tmp_path, {"a.py": "import torch\ntorch.cuda(\n"})
    ran = cli("analyze", tmp_path, "--format", "json")
    assert ran.code == 1
    document = json.loads(ran.out)
    assert document["totals"]["effort"]["high"] == 1
    assert document["failed"][0]["path"] == "a.py"
    assert "a.py: syntax error" in cli("analyze", tmp_path).out


def test_commands_that_come_next_can_be_pasted(tmp_path, write, cli, monkeypatch):
    write(tmp_path / "my repo", {"a.py": EASY})
    monkeypatch.chdir(tmp_path)
    ran = cli("analyze", "my repo", "--torch", "2.6.0", "--format", "json")
    commands = [step["command"] for step in json.loads(ran.out)["next"]]
    convert = next(command for command in commands if "-o OUT" in command)
    assert shlex.split(convert) == ["cuda2npu", "convert", "my repo", "--torch", "2.6.0", "-o", "OUT"]
    assert cli(*shlex.split(convert)[1:]).code == 0


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_text_fits_the_terminal_and_writes_nothing(repository, cli, lang):
    before = snapshot(repository)
    ran = cli("analyze", repository, "--lang", lang)
    assert ran.code == 0
    assert ran.err == ""
    assert "\x1b" not in ran.out
    assert max(cell_len(line) for line in ran.out.splitlines()) <= 100
    lines = ran.out.splitlines()
    sections = [
        "analysis_blockers",
        "analysis_packages",
        "analysis_person_too",
        "analysis_files",
        "analysis_next",
    ]
    titles = [line.partition(" (")[0].partition("（")[0] for line in lines]
    places = [titles.index(say(section, lang)) for section in sections]
    assert places == sorted(places)
    assert any(line.strip() == "setup.py:4  CUDAExtension" for line in lines)
    assert "configs/*.yaml (2 files)" in ran.out or "configs/*.yaml（2 个文件）" in ran.out
    assert snapshot(repository) == before


def test_nothing_to_do(tmp_path, write, cli):
    ran = cli("analyze", write(tmp_path, {"a.py": "x = 1\n"}))
    assert ran.code == 0
    assert "No CUDA use was found." in ran.out


def test_a_repository_without_files(tmp_path, cli):
    assert cli("analyze", tmp_path, "--format", "markdown").code == 0


@pytest.mark.parametrize("name", ["a|b.py", "``.py", "数据 集.py", "x*_y_.py", "<b>.py", "a\nb.py", "#.py"])
def test_markdown_survives_odd_file_names(tmp_path, write, cli, name):
    write(tmp_path, {f"d/{name}": LOOK_AT})
    ran = cli("analyze", tmp_path, "--format", "markdown")
    assert ran.code == 0
    shown = name.replace("\n", "\\n")
    assert code(f"d/{shown}:2  torch.nn.DataParallel") in ran.out
    tables = [line for line in ran.out.splitlines() if line.startswith("|")]
    assert code(f"d/{shown}").replace("|", "\\|") in "\n".join(tables)
    columns = [line.replace("\\|", "").count("|") for line in tables if "medium" in line]
    assert set(columns) == {4, 6}  # the table of efforts, and that of files


def test_markdown_of_blocks():
    text = markdown(
        [
            Heading("a_b", level=1),
            Paragraph("x <y>"),
            Table(("n", "path"), [(1, "a`b|c")], code=True),
            Item("title", ["say:\n\n    x = 1\n\ndone"], ["a.py:1"]),
            Command("cuda2npu x", "it runs"),
        ]
    )
    assert text == (
        "# a\\_b\n\nx \\<y\\>\n\n| n | path |\n| ---: | --- |\n| 1 | ``a`b\\|c`` |\n\n"
        "- **title**\n\n  say:\n\n  ```python\n  x = 1\n  ```\n\n  done\n\n  - `a.py:1`\n\n"
        "it runs\n\n```sh\ncuda2npu x\n```\n"
    )


def test_output_goes_to_a_file(tmp_path, repository, cli):
    out = tmp_path / "analysis.md"
    ran = cli("analyze", repository, "--format", "markdown", "-o", out)
    assert (ran.code, ran.out) == (0, "")
    assert out.read_text(encoding="utf-8").startswith("# cuda2npu ")
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []


@pytest.mark.parametrize(
    "arguments", [("missing",), (".", "-o", "missing/a.md"), (".", "-o", "."), (".", "--select", "NPU999")]
)
def test_wrong_usage(tmp_path, cli, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    ran = cli("analyze", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 1


def test_what_is_excluded_is_not_counted(repository, cli):
    ran = cli("analyze", repository, "--exclude", "csrc/", "--exclude", "*.py", "--format", "json")
    totals = json.loads(ran.out)["totals"]
    assert (totals["python_files"], totals["native_files"]) == (0, 0)


def test_unsafe_changes_count_the_same_where_the_project_applies_them(repository, write, cli):
    plain = json.loads(cli("analyze", repository, "--format", "json").out)
    write(repository, {"pyproject.toml": "[tool.cuda2npu]\nunsafe = true\n"})
    assert json.loads(cli("analyze", repository, "--format", "json").out)["uses"] == plain["uses"]


def test_the_documented_json_is_the_real_one(document):
    page = (Path(__file__).parents[1] / "docs/analyze.md").read_text(encoding="utf-8")
    documented = json.loads(page.partition("```json\n")[2].partition("```")[0])
    assert list(documented) == list(document)
    for key in ("totals", "uses", "native"):
        assert list(documented[key]) == list(document[key])
    for key in ("packages", "configuration", "files", "next"):
        assert list(documented[key][0]) == list(document[key][0])
    assert list(documented["packages"][0]["places"][0]) == list(document["packages"][0]["places"][0])


@pytest.mark.parametrize("page", ["docs/analyze.md", "docs/zh/analyze.md"])
def test_the_pages_explain_every_effort_and_state(page):
    text = (Path(__file__).parents[1] / page).read_text(encoding="utf-8")
    lang = "zh" if "/zh/" in page else "en"
    for effort in EFFORTS:
        name = say(f"effort_{effort}", lang).partition(":")[0]
        assert f"| {name} |" in text
    for state in STATES:
        assert f"| `{state}` |" in text


def test_the_commands_name_the_rule_file(tmp_path, write, cli):
    rule = """
[[rule]]
code = "ACME001"
name = "acme-pool"
codemod = "symbol"
applicability = "manual"
severity = "blocker"
summary = "our pool"
why = "It has no NPUs."
sources = ["wiki"]
example = [{ reported = "import acme\\\\nacme.Pool()" }]
[rule.rows]
"acme.Pool" = {}
"""
    folder = write(tmp_path, {"my.toml": rule, "src/a.py": "import acme\nacme.Pool()\n"})
    analyze = ("analyze", folder / "src", "--format", "json")
    steps = json.loads(cli(*analyze, "--rules", folder / "my.toml").out)["next"]
    assert steps[0]["command"] == f"cuda2npu rule ACME001 --rules {folder / 'my.toml'}"
    assert f" --rules {folder / 'my.toml'} --diff" in steps[1]["command"]
    # From pyproject.toml the other commands take it by themselves; `rule` doesn't know of that file.
    write(folder, {"src/pyproject.toml": "[tool.cuda2npu]\nrules = ['../my.toml']\n"})
    steps = json.loads(cli(*analyze).out)["next"]
    assert "--rules" in steps[0]["command"]
    assert "--rules" not in steps[1]["command"]


def test_it_says_what_convert_counts_beside(tmp_path, write, cli):
    script = "export CUDA_VISIBLE_DEVICES=0\necho cuda here\n"
    write(tmp_path / "src", {"k.cu": "__global__ void k() {}\n", "run.sh": script, "a.py": LOOK_AT})
    cli("convert", tmp_path / "src", "--report", tmp_path / "report")
    summary = json.loads((tmp_path / "report" / "report.json").read_text(encoding="utf-8"))["summary"]
    document = json.loads(cli("analyze", tmp_path / "src", "--format", "json").out)
    uses = document["uses"]
    assert summary["sites"] == uses["total"] + uses["info"] + uses["mentions"] + uses["native"]
    assert document["mentioned"] == ["run.sh"]
    page = " ".join(cli("analyze", tmp_path / "src").out.split())
    assert f"`convert` counts all together: {summary['sites']}." in page
    assert "lines that mention CUDA and stay (NPU903), in run.sh" in page


@pytest.mark.parametrize(
    ("requirement", "version"),
    [
        ("torch==2.6.0+cu124", "2.6.0"),
        ("torch==2.6.0", "2.6.0"),
        ("torch==2.7.1+cu126", None),
        ("torch>=2.1", None),
        ("torchvision==2.6.0+cu124", None),
        ("torch==1.13.1", None),
    ],
)
def test_a_requirement_of_another_torch_is_named_with_the_option(tmp_path, write, cli, requirement, version):
    write(tmp_path, {"requirements.txt": requirement + "\n", "a.py": "import torch\nx.cuda()\n"})
    requires = json.loads(cli("analyze", tmp_path, "--format", "json").out)["requires"]
    assert (requires["torch"] if requires else None) == version
    for command in ("analyze", "convert"):
        out = " ".join(cli(command, tmp_path).out.split())
        assert ("to keep that version, use --torch" in out) is (version is not None)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_a_tree_whose_files_failed_is_not_said_to_use_no_cuda(tmp_path, write, cli, form, lang):
    folder = write(tmp_path / "repo", {"a.py": "import torch\nx = torch.zeros(1).cuda(\n"})
    ran = cli("analyze", folder, "--format", form, "--lang", lang)
    assert ran.code == 1
    said = " ".join(ran.out.split()).replace(" ", "")
    for key in ("next_nothing", "analysis_no_uses"):
        assert say(key, lang).replace(" ", "") not in said
    if form == "json":
        (step,) = json.loads(ran.out)["next"]
        assert step == {
            "command": f"cuda2npu analyze {folder} --exclude FILE",
            "what": say("step_failed", lang),
        }
    else:
        assert say("step_failed", lang).replace(" ", "") in said


def test_failed_files_come_first_where_others_convert(tmp_path, write, cli):
    folder = write(tmp_path / "repo", {"a.py": "f(\nx.cuda()", "b.py": EASY})
    steps = json.loads(cli("analyze", folder, "--format", "json").out)["next"]
    assert "--exclude FILE" in steps[0]["command"]
    assert any("-o OUT" in step["command"] for step in steps)


def test_a_tree_of_which_nothing_was_looked_at_is_not_said_to_use_no_cuda(tmp_path, write, cli):
    folder = write(tmp_path / "repo", {"a.py": f"# cuda2npu: skip-file\n{EASY}"})
    said = " ".join(cli("analyze", folder).out.split())
    assert say("analysis_next_kept", "en") in said
    assert say("next_nothing", "en") not in said
