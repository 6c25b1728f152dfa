"""One file: bytes in, bytes out, and what becomes of files that can't be handled."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda2npu.catalog.grades import Applicability
from cuda2npu.rewrite.change import FileResult, Status, apply
from cuda2npu.rewrite.engine import convert
from cuda2npu.rewrite.index import ProjectIndex
from cuda2npu.settings import Settings, Target

CUDA = "import torch\nx = torch.ones(1).cuda()\n"
NPU = "import torch\nimport torch_npu  # noqa: F401\nx = torch.ones(1).npu()\n"


def run(data: bytes, **options: object) -> FileResult:
    return convert(data, "a.py", Settings(**options), ProjectIndex())  # type: ignore[arg-type]


def test_a_file_without_a_cuda_word_is_not_even_decoded() -> None:
    assert run(b"\xff not python (") == FileResult("a.py", Status.UNCHANGED)


def test_line_ends_are_kept_and_the_inserted_line_has_them() -> None:
    assert run(CUDA.replace("\n", "\r\n").encode()).data == NPU.replace("\n", "\r\n").encode()


def test_a_byte_order_mark_stays_first() -> None:
    result = run(b"\xef\xbb\xbf" + CUDA.encode())
    assert result.data == b"\xef\xbb\xbf" + NPU.encode()
    assert result.text == CUDA
    assert result.encoding == "utf-8"


def test_a_declared_encoding_is_kept() -> None:
    head = "# -*- coding: gbk -*-\ns = '中文'\n"
    result = run((head + CUDA).encode("gbk"))
    assert result.data == (head + NPU).encode("gbk")
    assert result.encoding == "gbk"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"s = '\xd6\xd0\xce\xc4'  # cuda\n", "coding: gbk"),
        (b"# coding: nonsense\ncuda = 1\n", "unknown encoding"),
        (b"cuda = 1\0\n", "NUL"),
        (b"x.cuda(\nprint x\n", "syntax error in line"),
        (b"import torch\nprint torch.cuda\n", "Python 2"),
        (b"cuda = " + b"(" * 300 + b")" * 300, "nested more than 200"),
        ("cuda = '\ufeff\n".encode("utf-16"), "UTF-16"),
    ],
)
def test_what_cannot_be_handled_fails_with_the_reason(data: bytes, reason: str) -> None:
    result = run(data)
    assert result.status is Status.FAILED
    assert reason in (result.error or "")
    assert result.data == b""


def test_brackets_in_strings_do_not_count() -> None:
    data = f"cuda = '{'(' * 300}'\n".encode()
    assert run(data).status is Status.UNCHANGED


@pytest.mark.parametrize(
    "expression",
    [
        " + ".join(["x"] * 600),  # in Python 3.12 LibCST meets a fixed limit at 740, and at 390 calls
        "x" + ".f(1, 2)" * 300,
        "[" + ", ".join(["a.b"] * 20_000) + "]",
        "'" + "a.b " * 5000 + "'",
        "{" + "".join(f"'{n}': a.b + c,\n" for n in range(5000)) + "}",
    ],
    ids=["sum", "calls", "list", "text", "table"],
)
def test_long_code_is_no_problem(expression: str) -> None:
    assert run(f"cuda = {expression}\n".encode()).status is Status.UNCHANGED


@pytest.mark.parametrize(
    "expression",
    [
        " + ".join(["x"] * 20_000),
        "(" + "\n+ ".join(["x"] * 20_000) + ")",
        " + \\\n".join(["x"] * 20_000),
        "x" + ".f()" * 20_000,
        "x" + ".f(1, 2)" * 20_000,
        "not " * 20_000 + "x",
    ],
    ids=["sum", "sum in brackets", "sum over lines", "calls", "calls with arguments", "not"],
)
def test_endless_code_fails_alone(expression: str) -> None:
    assert "in a row" in (run(f"cuda = {expression}\n".encode()).error or "")


def test_an_endless_elif_fails_alone() -> None:
    data = ("cuda = 1\nif a: pass\n" + "elif a: pass\n" * 5000).encode()
    assert run(data).error == "an expression is nested too deeply to be analysed"


def test_unsafe_changes_are_shown_but_not_applied() -> None:
    data = b"import torch\ntorch.backends.cuda.matmul.allow_tf32 = True\n"
    result = run(data)
    assert result.status is Status.UNCHANGED
    assert [(c.applicability, c.applied) for c in result.changes] == [(Applicability.UNSAFE, False)]
    assert b"torch.npu.matmul.allow_hf32 = True" in run(data, unsafe=True).data


def test_selected_rules_only() -> None:
    data = b"import torch\nx = torch.device('cuda')\ntorch.cuda.init()\n"
    assert b"device('cuda')" in run(data, select=("NPU1",)).data
    assert b"torch.cuda.init" in run(data, ignore=("NPU1",)).data


def test_the_import_follows_whatever_is_selected() -> None:
    data = b"import torch\ntorch.cuda.init()\n"
    assert b"import torch_npu" in run(data, select=("NPU101",)).data
    assert b"import torch_npu" not in run(data, ignore=("NPU001",)).data


def test_a_later_import_is_no_help() -> None:
    late = CUDA + "import torch_npu\n"
    assert run(late.encode()).data.decode() == NPU + "import torch_npu\n"
    in_time = "import torch\ndef f(x): return x.cuda()\nimport torch_npu\n"
    assert run(in_time.encode()).data.decode() == in_time.replace("cuda", "npu")


@pytest.mark.parametrize(
    "call",
    [
        "functools.partial(torch.cuda.amp.GradScaler, 1.0, 2.0, 0.5, 3, False)",
        "class Scaler(torch.cuda.amp.GradScaler):\n"
        "    def __init__(self): super().__init__(1.0, 2.0, 0.5, 3, False)",
    ],
)
def test_a_position_that_means_something_else_is_reported(call: str) -> None:
    result = run(f"import functools\nimport torch\n{call}\n".encode())
    assert [finding.rule for finding in result.findings] == ["NPU123"]


@pytest.mark.parametrize(
    ("comment", "kept"),
    [
        ("# cuda2npu: ignore", True),
        ("# cuda2npu: ignore[NPU101]", True),
        ("# cuda2npu: ignore[NPU002]", False),
    ],
)
def test_a_comment_switches_rules_off(comment: str, kept: bool) -> None:
    for source in (
        f"torch.cuda.init()  {comment}\n",
        f"{comment}\ntorch.cuda.init()\n",
        f"{comment}\n# The driver starts here.\n\ntorch.cuda.init()\n",
    ):
        result = run(f"import torch\n{source}torch.cuda.init()\n".encode())
        assert result.data.count(b"torch.cuda.init()") == kept
        assert [k.reason for k in result.kept] == ["switched off by a comment"] * kept


def test_a_comment_skips_a_file() -> None:
    result = run(f"# cuda2npu: skip-file\n{CUDA}".encode())
    assert result.status is Status.SKIPPED
    assert not result.changes


def test_a_string_that_names_the_comments_does_nothing() -> None:
    result = run(f'HELP = """\n# cuda2npu: skip-file\n# cuda2npu: ignore\n"""\n{CUDA}'.encode())
    assert result.status is Status.CHANGED


def test_a_file_that_cannot_be_parsed_may_be_skipped() -> None:
    result = run(b"print 'cuda' % (\n# cuda2npu: skip-file\n")
    assert result.status is Status.SKIPPED


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("(\n    nn,\n    cuda,  # the card\n)", "(\n    nn,\n)"),
        ("(\n    nn,  # layers\n    cuda  # the card\n)", "(\n    nn,  # layers\n)"),
        ("(\n    cuda,  # the card\n    nn,  # layers\n)", "(\n    nn,  # layers\n)"),
        ("(nn,\n     cuda)", "(nn)"),
        ("(nn, cuda,)", "(nn)"),
        ("nn, \\\n    cuda", "nn"),
        ("cuda, \\\n    nn", "nn"),
    ],
)
def test_a_name_leaves_its_import_in_any_layout(before: str, after: str) -> None:
    text = f"from torch import {before}\ncuda.init(nn)\n"
    expected = f"from torch import {after}\nfrom torch_npu import npu\nnpu.init(nn)\n"
    assert run(text.encode()).data.decode() == expected


def test_an_import_is_inserted_behind_the_continued_line() -> None:
    text = "import torch \\\n\ntorch.cuda.init()\n"
    expected = "import torch \\\n\nimport torch_npu  # noqa: F401\ntorch.npu.init()\n"
    assert run(text.encode()).data.decode() == expected


def test_a_converted_guard_is_no_branch_of_the_npus_own() -> None:
    guard = "if not torch.cuda.is_available():\n    raise SystemExit\n"
    text = f"import torch\n{guard}if torch.cuda.get_device_capability()[0] >= 8:\n    run()\n"
    once = run(text.encode())
    again = run(once.data)
    assert [f.rule for f in once.findings] == [f.rule for f in again.findings] == ["NPU107"]


def test_messages_in_chinese() -> None:
    (change,) = [c for c in run(CUDA.encode(), lang="zh").changes if c.rule == "NPU002"]
    assert "改为" in change.message


def test_a_name_that_the_target_lacks_is_not_written() -> None:
    data = b"import torch\ntorch.cuda.ipc_collect()\n"
    assert run(data, target=Target("2.5.1")).status is Status.UNCHANGED
    assert b"torch.npu.ipc_collect" in run(data, target=Target("2.7.1")).data


WORDS = [
    "torch",
    "cuda",
    ".",
    "(",
    ")",
    "'cuda'",
    "=",
    "import ",
    "x",
    ",",
    "\n",
    ":",
    " ",
    "if ",
    "f'cuda:{x}'",
    "#",
]


@given(st.lists(st.sampled_from(WORDS), max_size=30).map("".join))
def test_any_text_is_converted_to_what_its_report_says_or_fails(text: str) -> None:
    result = run(text.encode())
    if result.status is Status.FAILED:
        assert result.error
        return
    applied = [change for change in result.changes if change.applied]
    if result.text:
        assert apply(result.text, applied).encode() == result.data
    if result.status is Status.CHANGED:
        again = run(result.data)
        assert not [change for change in again.changes if change.applied]
