"""Notebooks: code cells are one program, all else stays byte for byte."""

from __future__ import annotations

import json

import pytest

from cuda2npu.report.model import file_entry
from cuda2npu.report.patch import file_patch
from cuda2npu.rewrite.change import FileResult, Status
from cuda2npu.rewrite.files import convert
from cuda2npu.rewrite.formats.notebook import is_notebook
from cuda2npu.rewrite.index import ProjectIndex
from cuda2npu.settings import Settings

TEXT = "x = '中文 🤗 \\\\ \"q\"'; y = torch.zeros(1).cuda()\nprint('%d'\n      % 3)\n"
BASH = "%%bash\nCUDA_VISIBLE_DEVICES=0 date\n"
MAGIC = "%%time\n%matplotlib inline\nz = !ls\nif y.is_cuda:\n    !nvidia-smi\n"
CELLS = {
    "import torch": "import torch\nimport torch_npu  # noqa: F401",
    TEXT: TEXT.replace("cuda", "npu"),
    BASH: BASH,
    MAGIC: MAGIC.replace("cuda", "npu"),
    "await f(y.cuda())": "await f(y.npu())",
    "from torch import (\n    nn,\n    cuda,\n)\ncuda.init()": "from torch import (\n    nn,\n)\n"
    "from torch_npu import npu\nnpu.init()",
}


def write(cells: list[str], *, as_list: bool, language: str = "python", **style: object) -> str:
    output = {"output_type": "stream", "text": ["cuda:0 é 🤗 \u2028"]}
    written = [
        {
            "cell_type": "code",
            "outputs": [output],
            "source": source.splitlines(keepends=True) if as_list else source,
        }
        for source in cells
    ]
    markdown = {"cell_type": "markdown", "source": ["call `.cuda()`"]}
    metadata = {"language_info": {"name": language}, "tags": ["cuda"]}
    return json.dumps({"cells": [markdown, *written], "metadata": metadata, "nbformat": 4}, **style)  # type: ignore[arg-type]


def run(data: bytes) -> FileResult:
    return convert(data, "a.ipynb", Settings(), ProjectIndex())


@pytest.mark.parametrize("as_list", [True, False])
@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_cells_are_converted_and_nothing_else(as_list, indent, ascii_only):
    style = {"as_list": as_list, "indent": indent, "ensure_ascii": ascii_only}
    before, after = write(list(CELLS), **style), write(list(CELLS.values()), **style)
    result = run(before.encode())
    assert result.data.decode() == after
    assert not [change for change in run(result.data).changes if change.applied]


def test_changes_carry_the_cell_and_offsets_in_it():
    result = run(write(list(CELLS), as_list=True).encode())
    for change in result.changes:
        assert change.cell is not None
        assert result.cells[change.cell][change.start : change.end] == change.before
    entry = file_entry(result)
    assert sorted({c["cell"] for c in entry["changes"]}) == [1, 2, 4, 5, 6]
    (moved,) = [c for c in entry["changes"] if c["cell"] == 2]
    assert (moved["line"], moved["column"], moved["after"]) == (1, 39, "npu")


def test_lines_for_the_shell_are_named():
    result = run(write(list(CELLS), as_list=True).encode())
    lines = [result.cells[f.cell or 0][f.start : f.end] for f in result.findings]
    assert [(f.rule, f.cell) for f in result.findings] == [("NPU903", 3), ("NPU903", 4)]
    assert lines[1] == "    !nvidia-smi"


def test_the_patch_is_about_the_lines_of_the_file():
    result = run(write(["import torch\n", "x = torch.ones(1).cuda()"], as_list=True, indent=1).encode())
    patch = file_patch(result).decode()
    assert '-    "x = torch.ones(1).cuda()"\n+    "x = torch.ones(1).npu()"\n' in patch


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"cells": [cuda', "Expecting value"),
        ('{"worksheets": [], "cuda": 1}', "no list of cells"),
        ('["cuda"]', "no list of cells"),
    ],
)
def test_what_is_no_notebook_fails_and_stays(text, reason):
    result = run(text.encode())
    assert (result.status, result.data) == (Status.FAILED, b"")
    assert reason in (result.error or "")


def test_other_languages_are_left_alone():
    assert run(write(["x.cuda()"], as_list=True, language="R").encode()).status is Status.UNCHANGED


@pytest.mark.parametrize("cell", ["x = torch.cuda.(\n", "pip install cuda-python\n", "%time x = (1\n%cuda\n"])
def test_a_cell_that_is_no_python_is_named_and_keeps_no_other_from_it(cell):
    cells = write([cell, "import torch\nx = torch.ones(1).cuda()\n"], as_list=True)
    result = run(cells.encode())
    assert [(change.rule, change.cell) for change in result.changes] == [("NPU001", 2), ("NPU002", 2)]
    assert {(finding.rule, finding.cell) for finding in result.findings} == {("NPU903", 1)}


@pytest.mark.parametrize("metadata", ['{"kernelspec": "python"}', "[1]", "null"])
def test_metadata_of_any_kind_are_taken(metadata):
    text = write(["import torch\ntorch.cuda.synchronize()\n"], as_list=True)
    document = json.loads(text)
    document["metadata"] = json.loads(metadata)
    assert run(json.dumps(document).encode()).status is Status.CHANGED


def test_a_notebook_of_another_kernel_is_mentioned_by_cell():
    cell = {"cell_type": "code", "source": ["x = 1\n", "using CUDA\n"], "outputs": [], "metadata": {}}
    notebook = {"cells": [cell], "metadata": {"language_info": {"name": "julia"}}, "nbformat": 4}
    result = convert(json.dumps(notebook).encode(), "a.ipynb", Settings(), ProjectIndex())
    assert result.status is Status.UNCHANGED
    assert [(finding.rule, finding.cell, finding.start) for finding in result.findings] == [("NPU903", 0, 6)]


def test_the_suffix_may_be_written_in_capitals():
    assert is_notebook("U.IPYNB")
