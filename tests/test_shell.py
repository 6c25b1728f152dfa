"""Shell scripts: variables and options that the converted Python code reads."""

from __future__ import annotations

import pytest

from cuda2npu.rewrite.change import FileResult, Status
from cuda2npu.rewrite.formats.shell import convert, is_shell
from cuda2npu.settings import Settings


def run(text: str) -> FileResult:
    return convert(text.encode(), "run.sh", Settings()) or FileResult("run.sh", Status.UNCHANGED)


def changed(text: str) -> str:
    result = run(text)
    return result.data.decode() if result.status is Status.CHANGED else text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("export CUDA_VISIBLE_DEVICES=0,1\n", "export ASCEND_RT_VISIBLE_DEVICES=0,1\n"),
        ("CUDA_VISIBLE_DEVICES='0' python a.py\n", "ASCEND_RT_VISIBLE_DEVICES='0' python a.py\n"),
        ("for i in 0 1; do CUDA_VISIBLE_DEVICES=$i python a.py; done", None),
        ("A=1 CUDA_LAUNCH_BLOCKING=1 python a.py", "A=1 ASCEND_LAUNCH_BLOCKING=1 python a.py"),
        (
            'N="${CUDA_VISIBLE_DEVICES:-0}"\necho "on $CUDA_VISIBLE_DEVICES"\nunset CUDA_VISIBLE_DEVICES\n',
            None,
        ),
        ("python a.py --dist-backend nccl --device=cuda:0", "python a.py --dist-backend hccl --device=npu:0"),
        (
            'python a.py --device "cuda" \\\n  --backend nccl\n',
            'python a.py --device "npu" \\\n  --backend hccl\n',
        ),
        ("cat <<EOF\n$CUDA_VISIBLE_DEVICES\nEOF\n", None),
        (
            "python a.py trainer.device=cuda \\\n  +env.dist_cfg.backend=nccl",
            "python a.py trainer.device=npu \\\n  +env.dist_cfg.backend=hccl",
        ),
    ],
)
def test_variables_and_options_follow(before, after):
    after = after or before.replace("CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES")
    assert changed(before) == after
    assert changed(after) == after


@pytest.mark.parametrize(
    "text",
    [
        "# export CUDA_VISIBLE_DEVICES=0\n",
        "echo 'CUDA_VISIBLE_DEVICES=0 $CUDA_VISIBLE_DEVICES'\n",
        'ssh host "CUDA_VISIBLE_DEVICES=0 python a.py"\n',
        "echo CUDA_VISIBLE_DEVICES\n",
        "cat <<'EOF'\nCUDA_VISIBLE_DEVICES=0\n$CUDA_VISIBLE_DEVICES\nEOF\n",
        "cat <<EOF\n\\$CUDA_VISIBLE_DEVICES\nEOF\n",
        "python a.py --cuda --arch cuda --out runs/cuda:0 --device cuda_like\n",
        "device=cuda\nexport device=cuda\npython a.py run.name=cuda a.device=cuda_like\n",
        "MY_CUDA_VISIBLE_DEVICES=0\nEXTRA=CUDA_VISIBLE_DEVICES=0\n",
        "nvidia-smi -L\n",
        "export CUDA_VISIBLE_DEVICES=0  # cuda2npu: ignore\n",
        "python a.py --device cuda # cuda2npu: ignore[NPU003]\n",
        "# cuda2npu: skip-file\nexport CUDA_VISIBLE_DEVICES=0\n",
    ],
)
def test_what_is_something_else_stays(text):
    assert changed(text) == text


def test_a_value_that_does_not_carry_over_keeps_every_use_of_the_variable():
    result = run("CUDA_VISIBLE_DEVICES=3,1 a\nCUDA_VISIBLE_DEVICES=0 a\necho $CUDA_VISIBLE_DEVICES\n")
    assert (result.status, [f.rule for f in result.findings]) == (
        Status.UNCHANGED,
        ["NPU602", "NPU602", "NPU903"],
    )


def test_what_is_left_is_named_and_comments_are_not():
    result = run("# cuda\nexport CUDA_VISIBLE_DEVICES=0\npython a.py --cuda\nNCCL_DEBUG=INFO python a.py\n")
    assert [f.rule for f in result.findings] == ["NPU903", "NPU602"]
    assert result.findings[0].message.endswith(": 3")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("nvidia-smi\n", "npu-smi info\n"),
        ("  nvidia-smi && \\\n  a", "  npu-smi info && \\\n  a"),
        ("watch -n 0.5 -d nvidia-smi\r\n", "watch -n 0.5 -d npu-smi info\r\n"),
    ],
)
def test_nvidia_smi_for_people(before, after):
    assert changed(before) == after


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nvidia-smi -L\n", ["nvidia-smi"]),
        ("nvidia-smi | grep x\nnvidia-smi > out\nif nvidia-smi; then a; fi\n", ["nvidia-smi"] * 3),
        ('N="$(nvidia-smi -L | wc -l)"\n', ["nvidia-smi"]),
        ("torchrun --nproc_per_node=$(nvidia-smi -L | wc -l) a.py\n", ["nvidia-smi"]),
        ("nsys profile -o out python a.py\n/usr/local/cuda/bin/nvcc a.cu\n", ["nsys", "nvcc"]),
        ("docker run --rm \\\n  --gpus all \\\n  image\n", ["--gpus"]),
        (
            "docker run --runtime=nvidia image\nnvidia-docker run image\n",
            ["--runtime=nvidia", "nvidia-docker"],
        ),
        (
            "pip3 install -U torch==2.1.0+cu118 -f https://x/whl/cu118/t.html\n",
            ["torch==2.1.0+cu118", "https://x/whl/cu118/t.html"],
        ),
        ("python -m pip install 'xformers==0.0.22' # fast\n", ["xformers==0.0.22"]),
        ("rm -rf /usr/local/cuda/bin/nsys && ln -s /opt/nsys out\n", []),
        ("srun --gpus 4 a\ndocker ps\nmake nvcc-flags\nls nvcc.txt\n", []),
        ("echo 'nvidia-smi'\n# nvidia-smi\ntorchrun --nproc_per_node=8 a.py\n", []),
    ],
)
def test_programs_and_packages_are_reported(text, words):
    result = run(text)
    named = [text[f.start : f.end] for f in result.findings if f.rule != "NPU903"]
    assert (result.status, named) == (Status.UNCHANGED, words)


def test_a_suppression_may_stand_on_the_line_above():
    text = "# cuda2npu: ignore[NPU601]\nexport CUDA_VISIBLE_DEVICES=0\n"
    assert changed(text) == text


def test_other_encodings_are_only_mentioned():
    result = convert("# 中文\nexport CUDA_VISIBLE_DEVICES=0\n".encode("gbk"), "run.sh", Settings())
    assert result is not None
    assert (result.status, [f.rule for f in result.findings]) == (Status.UNCHANGED, ["NPU903"])


@pytest.mark.parametrize(
    ("path", "data", "shell"),
    [("a.sh", b"", True), ("a", b"#!/bin/bash -e\n", True), ("a", b"#!/usr/bin/env python\n", False)],
)
def test_shell_scripts_are_known_by_name_or_first_line(path, data, shell):
    assert is_shell(path, data) is shell


def test_a_line_with_a_finding_is_not_mentioned_besides(tmp_path, write, cli):
    script = "export NCCL_DEBUG=${NCCL_DEBUG:-WARN}\ncp x nccl_log\n"
    write(tmp_path, {"run.sh": script})
    found = cli("check", tmp_path).out.splitlines()
    assert [line.split()[1] for line in found] == ["NPU602", "NPU903"]
    assert "stay as they are: 2:" in found[1]
