"""The rules as a LibCST codemod, run by LibCST's own test class and tool."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import libcst as cst
from libcst.codemod import CodemodContext, CodemodTest

from cuda2npu.libcst_command import Cuda2NpuCommand


class TestCommand(CodemodTest):
    TRANSFORM = Cuda2NpuCommand

    def test_converts(self) -> None:
        before = "import torch\n\nx = torch.ones(2).cuda()\n"
        after = "import torch\nimport torch_npu  # noqa: F401\n\nx = torch.ones(2).npu()\n"
        self.assertCodemod(before, after)

    def test_leaves_other_code(self) -> None:
        self.assertCodemod("import torch\n\ny = 1\n", "import torch\n\ny = 1\n")

    def test_warns_of_what_is_left(self) -> None:
        context = CodemodContext()
        module = cst.parse_module("import torch\ntorch.cuda.nccl.version()\n")
        Cuda2NpuCommand(context).transform_module(module)
        (warning,) = context.warnings
        assert warning.startswith("module.py:2: NPU103 ")

    def test_unsafe(self) -> None:
        before = "import torch\nimport torch_npu\ntorch.backends.cuda.matmul.allow_tf32 = True\n"
        after = "import torch\nimport torch_npu\ntorch.npu.matmul.allow_hf32 = True\n"
        self.assertCodemod(before, before)
        self.assertCodemod(before, after, unsafe=True)


def test_libcst_tool_runs_it(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("import torch\nx = torch.ones(2).cuda()\n")
    command = [sys.executable, "-m", "libcst.tool", "codemod"]
    done = subprocess.run(
        [*command, "-x", "cuda2npu.libcst_command.Cuda2NpuCommand", "--no-format", str(file)],
        cwd=tmp_path,
        timeout=60,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert file.read_text() == "import torch\nimport torch_npu  # noqa: F401\nx = torch.ones(2).npu()\n"
