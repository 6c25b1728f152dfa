"""Shell scripts: variables and options that the converted Python code reads."""

from __future__ import annotations

import time

import pytest

from cuda2npu.rewrite.change import FileResult, Status
from cuda2npu.rewrite.formats import others
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
        "trtexec --device cuda\nmpirun --mca btl_device cuda python a.py\ngrep -- --device cuda f\n",
        "ARGS='--device cuda'\ntrtexec $ARGS\n",
        'DEVICE=cuda\nif [ "$DEVICE" = cuda ]; then a; fi\n',
        "DEVICE=cuda\npython a.py --config configs/$DEVICE.yaml\n",
        "export DEVICE=cuda\npython -c 'import os; os.environ[\"DEVICE\"]'\n",
        "MY_CUDA_VISIBLE_DEVICES=0\nEXTRA=CUDA_VISIBLE_DEVICES=0\n",
        "nvidia-smi -L\n",
        "export CUDA_VISIBLE_DEVICES=0  # cuda2npu: ignore\n",
        "python a.py --device cuda # cuda2npu: ignore[NPU003]\n",
        "# cuda2npu: skip-file\nexport CUDA_VISIBLE_DEVICES=0\n",
    ],
)
def test_what_is_something_else_stays(text):
    assert changed(text) == text


V = "CUDA_VISIBLE_DEVICES"


@pytest.mark.parametrize(
    "text",
    [
        f"{V}=0\nexport {V}\npython a.py\n",
        f"export {V}\n{V}=0\n",
        f"read -r {V}; echo ${V}\n",
        f"for {V} in 0 1; do export {V}; a; done\n",
        f"f() {{\n  local {V}\n  {V}=$1; typeset -x {V}; readonly {V}\n}}\n",
        f"[[ -v {V} ]] && echo ${{#{V}}}\nprintenv {V}\nenv -u {V} a\n",
        f"{V}=0\nmpirun -x {V} a\ndocker run --env {V} --env={V}=0 a\n",
        f"#SBATCH --export=ALL,{V}=0\nsrun --export={V}=0,ALL a\nsudo --preserve-env=A,{V} a\n",
        f'export {V}="${{{V}:-0,1}}"\n',
    ],
)
def test_every_use_of_a_variable_moves(text):
    assert changed(text) == text.replace(V, "ASCEND_RT_VISIBLE_DEVICES")
    assert not run(text).findings


@pytest.mark.parametrize(
    "use",
    [
        f"v={V}; echo ${{!v}}",
        f"python -c 'import os; print(os.environ[\"{V}\"])'",
        f"python - <<'EOF'\nimport os\nprint(os.environ['{V}'])\nEOF",
        f"python3 <<\\EOF\ndef f({V}=1): return {V}\nEOF",
        f"awk '\nBEGIN {{ print ENVIRON[\"{V}\"] }}\n'",
        f"cat <<EOF | bash\n{V}=1 python a.py\nEOF",
        f"trap 'unset {V}' EXIT",
        f"echo $(({V} + 1))",
        f"echo '{V}=1' > job.env",
    ],
)
def test_a_use_that_cannot_move_keeps_the_others(use):
    text = f"export {V}=0\n{use}\necho ${V}\n"
    assert changed(text) == text
    left = [text[f.start : f.end] for f in run(text).findings if f.rule == "NPU615"]
    assert set(left) == {V}


def test_what_is_said_to_a_person_keeps_nothing():
    text = f'export {V}=0\necho "{V} is ${V}" >&2\n'
    assert changed(text) == (
        f'export ASCEND_RT_VISIBLE_DEVICES=0\necho "{V} is $ASCEND_RT_VISIBLE_DEVICES" >&2\n'
    )


@pytest.mark.parametrize(
    "text",
    [
        f"export {V}=${{{V}:-1,0}}\n",
        ': "${NVIDIA_VISIBLE_DEVICES:=all}"\n',
        '[ "$NVIDIA_VISIBLE_DEVICES" = all ] && a\n',
        f"a --env={V}=1,0\n",
        f"{V}=1\n{V}+=,0\n",
    ],
)
def test_defaults_and_comparisons_are_values(text):
    assert changed(text) == text
    assert {f.rule for f in run(text).findings} == {"NPU602"}


def test_a_suppressed_use_keeps_the_others():
    text = f"export {V}=0  # cuda2npu: ignore\necho ${V}\n{V}=1 a\n"
    assert changed(text) == text
    assert [f.rule for f in run(text).findings] == ["NPU903", "NPU615"]


@pytest.mark.parametrize(
    "text",
    [
        f"if a; then ASCEND_RT_VISIBLE_DEVICES=0 a; else {V}=0 python a.py --device cuda; fi\n",
        "case $1 in\nnpu) python a.py --device npu;;\n*) python a.py --device cuda;;\nesac\n",
        f"export {V}=0 ASCEND_RT_VISIBLE_DEVICES=0\n",
    ],
)
def test_a_script_that_serves_both_devices_is_left_as_it_is(text):
    assert changed(text) == text
    assert [f.rule for f in run(text).findings] == ["NPU903"]


@pytest.mark.parametrize(
    "before",
    [
        'DEVICE=cuda:0\npython a.py --device "$DEVICE"\n',
        "DEVICE=${DEVICE:-cuda}\npython a.py --device=${DEVICE}\n",
        "export TRAIN_DEVICE='cuda'; python a.py --device $TRAIN_DEVICE\n",
        "DEVICE=cuda python a.py\n",
        'A=(--device cuda)\nB="\n  --x \\\n  --device cuda\n"\ntorchrun a.py ${A[@]} $B\n',
        "$PYTHON a --device cuda; ./a.py --device cuda; python -m a --device cuda\n",
        "python a.py device=cuda\n",
        'RUN=(python3)\n"${RUN[@]}" -m a \\\n  trainer.device=cuda\n',
    ],
)
def test_devices_that_python_code_gets(before):
    after = before.replace("cuda", "npu")
    assert changed(before) == after
    assert changed(after) == after


@pytest.mark.parametrize(
    "text",
    [
        "show() {\nnvidia-smi\n}\nshow | grep -c MiB\n",
        "for i in 1; do\n  nvidia-smi\ndone | grep a\n",
        "for i in 1; do\nnvidia-smi\ndone | grep a\n",
        "{\nnvidia-smi\n} > out\n",
        "(\nnvidia-smi\n) > out\n",
        "y=$(\nnvidia-smi\n)\n",
        "y=`\nnvidia-smi\n`\n",
        "a |\nnvidia-smi\n",
        "echo \\\nnvidia-smi\n",
        "nvidia-smi && \\\n  a\n",
    ],
)
def test_nvidia_smi_whose_output_may_be_read_is_reported(text):
    assert changed(text) == text
    assert [f.rule for f in run(text).findings] == ["NPU618"]


def test_quoted_code_over_several_lines_is_none_of_the_shell():
    text = 'python3 -c \'\nnvidia-smi\n"--device cuda"\n\'\nA="usage:\nnvidia-smi\n"\n'
    assert changed(text) == text


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("A=(" + '"a" ' * 20_000 + ")\n# cuda\n", "run.sh"),
        ("python a.py " + "--" * 40_000 + "cuda\n", "run.sh"),
        ("".join(f"NAME_{i} = {i}\n" for i in range(5_000)) + "a:\n\tnvcc $(NAME_1)\n", "Makefile"),
        ("".join(f"A{i}_DEVICE = cuda\n" for i in range(5_000)), "Makefile"),
    ],
    ids=["words", "hyphens", "names", "devices"],
)
def test_time_grows_with_the_length_only(text, path):
    begin = time.process_time()
    others.convert(text.encode(), path, Settings())
    assert time.process_time() - begin < 15  # seconds; it takes one, and took minutes


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
    [
        ("a.sh", b"", True),
        ("a", b"#!/bin/bash -e\n", True),
        ("a", b"#!/usr/bin/env python\n", False),
        ("job.sbatch", b"#!/usr/bin/env python3\n", False),
    ],
)
def test_shell_scripts_are_known_by_name_or_first_line(path, data, shell):
    assert is_shell(path, data) is shell


def test_a_line_with_a_finding_is_not_mentioned_besides(tmp_path, write, cli):
    script = "export NCCL_DEBUG=${NCCL_DEBUG:-WARN}\ncp x nccl_log\n"
    write(tmp_path, {"run.sh": script})
    found = cli("check", tmp_path).out.splitlines()
    assert [line.split()[1] for line in found] == ["NPU602", "NPU903"]
    assert "stay as they are: 2:" in found[1]
