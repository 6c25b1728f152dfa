"""Packages for NVIDIA's hardware: where they are imported, how grave that is, what else is asked of them."""

from __future__ import annotations

import json
import re

import pytest

from cuda2npu.catalog.api import api_table
from cuda2npu.catalog.grades import Severity
from cuda2npu.catalog.load import CatalogError, load_catalog
from cuda2npu.catalog.rules import STATES
from cuda2npu.rewrite.bytes_test import concerns
from cuda2npu.rewrite.change import FileResult, Finding
from cuda2npu.rewrite.engine import convert
from cuda2npu.rewrite.index import build_index
from cuda2npu.settings import Settings, Target

PACKAGES = [row for rule, row in load_catalog().rows.values() if rule.code in ("NPU511", "NPU513", "NPU514")]


def run(source: str, other: str = "", **options: object) -> FileResult:
    files = {"main.py": source, **({other: ""} if other else {})}
    index = build_index([(name, lambda text=text: text.encode()) for name, text in files.items()])
    return convert(source.encode(), "main.py", Settings(**options), index)  # type: ignore[arg-type]


def findings(source: str, **options: object) -> list[Finding]:
    return [f for f in run(source, **options).findings if f.rule.startswith("NPU5")]


def found(source: str, **options: object) -> Finding:
    (finding,) = findings(source, **options)
    return finding


@pytest.mark.parametrize(
    "condition", ["torch.cuda.is_available()", "not TYPE_CHECKING", "flash_attn_unavailable()"]
)
def test_a_condition_that_holds_on_an_npu_is_no_fallback(condition: str) -> None:
    source = f"import torch\nif {condition}:\n    import flash_attn\n    torch.ones(1).cuda()\n"
    assert found(source).severity is Severity.MANUAL


# --- the table


@pytest.mark.parametrize("row", PACKAGES, ids=lambda row: row.name)
def test_each_package_has_a_state_and_says_what_to_do(row):
    assert row.state in STATES
    assert row.note.en or row.state == "works" or row.name == "nvidia"


@pytest.mark.parametrize("row", PACKAGES, ids=lambda row: row.name)
def test_each_package_is_found_without_torch_in_the_file(row):
    result = run(f"import {row.name}\n")
    assert bool(result.findings) is (row.state != "works")


def test_the_names_that_notes_give_exist():
    rules = [rule for rule in load_catalog().rules.values() if rule.code.startswith("NPU51")]
    texts = [text for rule in rules for text in (rule.advice, *(row.note for row in rule.rows))]
    text = "\n".join(f"{text.en}\n{text.zh}" for text in texts)
    names = {name.rstrip(".") for name in re.findall(r"\b(?:torch_npu|torch\.npu)\.[A-Za-z0-9_.]+", text)}
    assert len(names) > 10
    assert [name for name in names if not api_table((2, 7)).has(name)] == []


def test_an_unknown_state_is_refused(tmp_path):
    rules = tmp_path / "own.toml"
    rules.write_text(
        '[[rule]]\ncode = "OWN1"\nname = "own"\ncodemod = "package_import"\napplicability = "manual"\n'
        'summary = "s"\nsummary_zh = "s"\nwhy = "w"\nwhy_zh = "w"\nsources = ["s"]\n'
        'example = [{ kept = "import os" }]\n[rule.rows]\n"fast" = { state = "maybe" }\n'
    )
    with pytest.raises(CatalogError, match="fast: unknown state 'maybe'; one of port, replace, none, works"):
        load_catalog((str(rules),))


def test_a_package_of_the_user_s_own(tmp_path):
    rules = tmp_path / "own.toml"
    rules.write_text(
        '[[rule]]\ncode = "OWN1"\nname = "own"\ncodemod = "package_import"\napplicability = "manual"\n'
        'severity = "blocker"\nsummary = "s"\nsummary_zh = "s"\nwhy = "w"\nwhy_zh = "w"\nsources = ["s"]\n'
        'example = [{ kept = "import os" }]\n[rule.rows]\n"inhouse.kernels" = { state = "none" }\n'
    )
    (finding,) = run("from inhouse import kernels\n", rules=(str(rules),)).findings
    assert (finding.rule, finding.severity) == ("OWN1", Severity.BLOCKER)


# --- how grave it is


@pytest.mark.parametrize(
    ("source", "severity", "remark"),
    [
        ("import flash_attn\n", Severity.BLOCKER, ""),
        ("from flash_attn.flash_attn_interface import flash_attn_func\n", Severity.BLOCKER, ""),
        ("import os, flash_attn\n", Severity.BLOCKER, ""),
        ("import os; import flash_attn\n", Severity.BLOCKER, ""),
        ("import importlib\nf = importlib.import_module('flash_attn')\n", Severity.BLOCKER, ""),
        ("f = __import__('flash_attn')\n", Severity.BLOCKER, ""),
        (
            "try:\n    import flash_attn\nexcept ImportError:\n    flash_attn = None\n",
            Severity.INFO,
            "goes on",
        ),
        ("try:\n    import flash_attn\nexcept:\n    pass\n", Severity.INFO, "goes on"),
        (
            "try:\n    import flash_attn\nexcept (ImportError, OSError) as e:\n    pass\n",
            Severity.INFO,
            "goes on",
        ),
        (
            "try:\n    import flash_attn\nexcept ImportError:\n    raise ImportError('install it')\n",
            Severity.BLOCKER,
            "",
        ),
        ("try:\n    import flash_attn\nexcept ImportError:\n    sys.exit(1)\n", Severity.BLOCKER, ""),
        ("try:\n    import a\nexcept ImportError:\n    import flash_attn\n", Severity.BLOCKER, ""),
        ("try:\n    import flash_attn\nfinally:\n    done()\n", Severity.BLOCKER, ""),
        ("if HAS_FLASH:\n    import flash_attn\n", Severity.INFO, "goes on"),
        ("if is_flash_attn_2_available():\n    import flash_attn\n", Severity.INFO, "goes on"),
        ("if TYPE_CHECKING:\n    import flash_attn\n", Severity.INFO, "goes on"),
        ("if args.fast:\n    import flash_attn\n", Severity.MANUAL, "condition"),
        ("if args.slow:\n    pass\nelse:\n    import flash_attn\n", Severity.MANUAL, "condition"),
        ("def f():\n    import flash_attn\n", Severity.MANUAL, "called"),
        ("class A:\n    import flash_attn\n", Severity.BLOCKER, ""),
        ("import apex\n", Severity.MANUAL, ""),
        ("def f():\n    import apex\n", Severity.MANUAL, "called"),
    ],
)
def test_how_grave_an_import_is(source, severity, remark):
    finding = found(source)
    assert finding.severity is severity
    assert remark in finding.message
    assert bool(remark) is finding.message.endswith(")")


def test_the_message_is_in_chinese_too():
    source = "try:\n    import flash_attn\nexcept ImportError:\n    pass\n"
    assert "缺少它时程序仍可继续" in found(source, lang="zh").message


def test_the_closest_row_counts():
    assert "NpuFusedAdamW" in found("from apex.optimizers import FusedAdam\n").advice
    assert "NpuFusedAdamW" in found("from apex import optimizers\n").advice
    assert "torch.npu.amp.autocast" in found("from apex import amp\n").advice


def test_the_same_is_said_once_in_a_file():
    assert len(findings("import triton\nimport triton.language as tl\n")) == 1
    both = "try:\n    import triton\nexcept ImportError:\n    pass\ndef f():\n    import triton\n"
    assert [f.severity for f in findings(both)] == [Severity.INFO, Severity.MANUAL]


def test_a_question_for_a_package_is_good_to_know_if_it_can_t_be_there():
    source = "from importlib.util import find_spec\nfast = find_spec('{}') is not None\n"
    assert found(source.format("flash_attn")).severity is Severity.INFO
    assert findings(source.format("triton")) == []  # it may be installed


@pytest.mark.parametrize(
    "source",
    [
        "import flash_attn_viewer\n",
        "from . import flash_attn\n",
        "from .flash_attn import f\n",
        "from tools import triton_helper\n",
        "import importlib\nimportlib.import_module(name)\n",
        "import importlib\nimportlib.import_module('.flash_attn', __package__)\n",
        "load('flash_attn')\n",
        "import deepspeed\nimport transformers\n",
        "# import flash_attn\n",
    ],
)
def test_what_is_no_such_import(source):
    assert findings(source) == []


def test_a_package_of_the_project_s_own():
    assert run("import triton\n", other="triton/__init__.py").findings == []


def test_a_comment_switches_it_off():
    assert findings("import flash_attn  # cuda2npu: ignore[NPU511]\n") == []


@pytest.mark.parametrize("source", [b"import json\n", b"import torch\nx = 'flash_attn'\n", b"cupy = None\n"])
def test_other_files_are_not_parsed_for_packages(source):
    assert not concerns(source, Settings(), build_index([]))


def test_a_package_in_a_notebook_without_another_sign_of_it():
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": ["import os\n", "import pynvml"]}
    data = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
    assert concerns(data, Settings(), build_index([]))


# --- the attention implementation


@pytest.mark.parametrize(
    "source",
    [
        "import torch\nm = load(attn_implementation='flash_attention_2' if fast else 'eager')\n",
        "m = load(attn_implementation=name or 'flash_attention_2')\n",
        "def load(path, attn_implementation='flash_attention_2'):\n    pass\n",
        "def load(path, *, attn_implementation: str = 'flash_attention_2'):\n    pass\n",
        "config._attn_implementation = r'flash_attention_2'\n",
        "config._attn_implementation_internal = 'flash_attention_3'\n",
        "attn = getattr(args, 'attn_implementation', 'flash_attention_2')\n",
        "setattr(config, '_attn_implementation', 'flash_attention_2')\n",
        "def attention_name():\n    return 'flash_attention_2'\n",
        "p.add_argument('--attn', choices=['sdpa', 'flash_attention_2'], default='flash_attention_2')\n",
    ],
)
def test_the_attention_implementation_is_changed_where_it_is_set(source):
    safe, unsafe = run(source), run(source, unsafe=True)
    assert [change.rule for change in safe.changes if change.rule == "NPU515"] == ["NPU515"]
    assert not any(change.applied for change in safe.changes)
    text = unsafe.data.decode()
    assert "sdpa" in text
    assert text.count("flash_attention_") == source.count("flash_attention_") - 1


@pytest.mark.parametrize(
    "source",
    [
        "if config._attn_implementation == 'flash_attention_2':\n    f()\n",
        "if name in ('flash_attention_2', 'sdpa'):\n    f()\n",
        "attn = 'eager' if name == 'flash_attention_2' else 'sdpa'\n",
        "NAMES = ['flash_attention_2']\n",
        "TABLE = {'flash_attention_2': f}\n",
        "log('flash_attention_2')\n",
        "mode = 'flash_attention_2'\n",
        "use(TABLE['flash_attention_2'])\n",
        "attn = f'flash_attention_{n}'\n",
    ],
)
def test_the_attention_implementation_stays_where_it_isn_t_set(source):
    assert [change for change in run(source, unsafe=True).changes if change.rule == "NPU515"] == []


# --- options, kernels, functions


def test_options_are_said_once_a_file_with_their_number():
    finding = found("a = f(load_in_8bit=True)\nb = f(load_in_8bit=eight)\nc = f(load_in_8bit=False)\n")
    assert finding.rule == "NPU516"
    assert "(2 in this file)" in finding.message


def test_triton_kernels_are_counted():
    source = "import triton\n@triton.jit\ndef a(x): pass\n"
    source += "@triton.autotune([], [])\n@triton.jit(debug=True)\ndef b(x): pass\n"
    kernel = next(f for f in findings(source) if f.rule == "NPU517")
    assert source[kernel.start : kernel.end] == "a"
    assert "(2 in this file)" in kernel.message
    assert kernel.severity is Severity.MANUAL


def test_triton_kernels_are_a_blocker_on_chips_without_triton():
    source = "import triton\n@triton.jit\ndef a(x): pass\n"
    old = findings(source, target=Target(soc="ascend310p"))
    assert next(f for f in old if f.rule == "NPU517").severity is Severity.BLOCKER


# --- extensions that are compiled at run time


@pytest.mark.parametrize(
    ("call", "severity"),
    [
        ("load('a', ['a.cpp', 'b.cu'])", Severity.BLOCKER),
        ("load(name='a', sources=[os.path.join(here, 'b.cu')])", Severity.BLOCKER),
        ("load(name='a', sources=[here / 'b.cu'])", Severity.BLOCKER),
        ("load(name='a', sources=[f'{here}/b.cu'])", Severity.BLOCKER),
        ("load(name='a', sources=files)", Severity.BLOCKER),
        ("load(name='a', sources=['a.cpp'], with_cuda=True)", Severity.BLOCKER),
        ("load(name='a', sources=['a.cpp'])", Severity.INFO),
        ("load(name='a', sources='a.cpp')", Severity.INFO),
        ("load(name='a', sources=find())", Severity.MANUAL),
        ("load(name='a', sources=[f'{x}{y}'])", Severity.MANUAL),
        ("load(name='a', sources=[])", Severity.INFO),
        ("load(**options)", Severity.MANUAL),
        ("load()", Severity.MANUAL),
        ("load_inline('a', cpp, cuda_sources=[source])", Severity.BLOCKER),
        ("load_inline('a', cpp, source)", Severity.BLOCKER),
        ("load_inline('a', cpp)", Severity.INFO),
        ("load_inline('a', cpp, cuda_sources='')", Severity.INFO),
    ],
)
def test_an_extension_is_a_blocker_if_cuda_is_in_it(call, severity):
    source = (
        f"from torch.utils.cpp_extension import load, load_inline\nfiles = ['a.cpp', 'b.cu']\nx = {call}\n"
    )
    finding = found(source)
    assert (finding.rule, finding.severity) == ("NPU507", severity)


def test_a_source_in_a_string_is_a_finding_of_all_its_lines():
    source = "import cupy\nk = cupy.RawKernel(r'''\n"
    source += "extern \"C\" __global__\nvoid add(float* x) { x[blockIdx.x] = 1; }\n''', 'add')\n"
    finding = next(f for f in findings(source) if f.rule == "NPU503")
    assert source[finding.start : finding.end].startswith("r'''")
    assert source[finding.start : finding.end].endswith("'''")
    assert finding.severity is Severity.BLOCKER


@pytest.mark.parametrize(
    "source",
    [
        "import torch\nif '__global__' in text:\n    cuda = True\n",
        "import torch\nlog('kernels have blockIdx.x and threadIdx.x')  # cuda\n",
        "import torch\nnames = {'cuda_runtime.h': 'hip_runtime.h'}\n",
    ],
)
def test_a_word_of_cuda_s_is_no_source(source):
    assert [f for f in findings(source) if f.rule == "NPU503"] == []


def test_a_library_of_cuda_s_is_a_blocker_and_one_of_operators_is_to_be_looked_at():
    assert found("import ctypes\nx = ctypes.CDLL('libcudart.so.12')\n").severity is Severity.BLOCKER
    assert found("import torch\ntorch.ops.load_library(path)\n").severity is Severity.MANUAL
    assert findings("import ctypes\nx = ctypes.CDLL(None)  # cuda\n") == []


# --- the path of the toolkit


@pytest.mark.parametrize(
    ("use", "severity"),
    [
        ("a = CUDA_HOME.split('/')", Severity.BLOCKER),
        ("print(CUDA_HOME)", Severity.INFO),
        ("a = CUDA_HOME is not None", Severity.MANUAL),
    ],
)
def test_the_path_of_the_toolkit_is_as_grave_as_its_use(use, severity):
    finding = found(f"from torch.utils.cpp_extension import CUDA_HOME\n{use}\n")
    assert (finding.rule, finding.severity) == ("NPU508", severity)
