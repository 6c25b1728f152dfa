"""Dockerfiles, Makefiles, files of variables and requirements."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda2npu.rewrite.change import FileResult, Status, apply
from cuda2npu.rewrite.formats.others import convert
from cuda2npu.rewrite.formats.requirements import look_at_requirement
from cuda2npu.rewrite.formats.text_file import TextFile
from cuda2npu.settings import Settings, Target


def run(text: str, path: str, **options: object) -> FileResult:
    settings = Settings(**options)  # type: ignore[arg-type]
    result = convert(text.encode(), path, settings) or FileResult(path, Status.UNCHANGED)
    assert result.status is not Status.FAILED
    applied = [change for change in result.changes if change.applied]
    assert not applied or apply(text, applied).encode() == result.data
    return result


def changed(text: str, path: str, **options: object) -> str:
    result = run(text, path, **options)
    return result.data.decode() if result.status is Status.CHANGED else text


def found(text: str, path: str, **options: object) -> list[tuple[str, str]]:
    """Return the rules of the findings with the text that each is about; for NPU903 with its lines."""
    return [
        (f.rule, f.message.rpartition(": ")[2] if f.rule == "NPU903" else text[f.start : f.end])
        for f in run(text, path, **options).findings
    ]


# --- Dockerfiles

WHEELS = "https://download.pytorch.org/whl"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ENV CUDA_VISIBLE_DEVICES=0\n", "ENV ASCEND_RT_VISIBLE_DEVICES=0\n"),
        ("ENV CUDA_VISIBLE_DEVICES 0\n", "ENV ASCEND_RT_VISIBLE_DEVICES 0\n"),
        (
            'ENV A="x y" CUDA_LAUNCH_BLOCKING=1 \\\n    # cuda\n    NCCL_SOCKET_IFNAME="eth0"\n',
            'ENV A="x y" ASCEND_LAUNCH_BLOCKING=1 \\\n    # cuda\n    HCCL_SOCKET_IFNAME="eth0"\n',
        ),
        (
            "ARG CUDA_VISIBLE_DEVICES\r\nENV X=${CUDA_VISIBLE_DEVICES}\r\n",
            "ARG ASCEND_RT_VISIBLE_DEVICES\r\nENV X=${ASCEND_RT_VISIBLE_DEVICES}\r\n",
        ),
        (
            "RUN a && \\\n  CUDA_VISIBLE_DEVICES=0 python a.py --device cuda\n",
            "RUN a && \\\n  ASCEND_RT_VISIBLE_DEVICES=0 python a.py --device npu\n",
        ),
        ("CMD python a.py --dist-backend nccl", "CMD python a.py --dist-backend hccl"),
        ("env NVIDIA_VISIBLE_DEVICES=0,1\n", "env ASCEND_VISIBLE_DEVICES=0,1\n"),
        ("ENV DEVICE=cuda A_DEVICE=cuda:0\n", "ENV DEVICE=npu A_DEVICE=npu:0\n"),
        ('CMD ["python", "a.py", "--device", "cuda"]\n', 'CMD ["python", "a.py", "--device", "npu"]\n'),
        (
            'ENTRYPOINT ["python", "a.py"]\nCMD ["--device=cuda:0", "--backend", "nccl"]\n',
            'ENTRYPOINT ["python", "a.py"]\nCMD ["--device=npu:0", "--backend", "hccl"]\n',
        ),
        (
            "RUN echo $((1<<3))\nENV CUDA_VISIBLE_DEVICES=0\n",
            "RUN echo $((1<<3))\nENV ASCEND_RT_VISIBLE_DEVICES=0\n",
        ),
        ("RUN nvidia-smi\n", "RUN npu-smi info\n"),
    ],
)
def test_variables_and_commands_of_a_dockerfile_follow(before, after):
    assert changed(before, "Dockerfile") == after
    assert changed(after, "Dockerfile") == after


@pytest.mark.parametrize(
    "text",
    [
        "# ENV CUDA_VISIBLE_DEVICES=0\n",
        "LABEL CUDA_VISIBLE_DEVICES=0\n",
        "# escape=`\nENV CUDA_VISIBLE_DEVICES=0\n",
        "RUN <<'EOF'\nCUDA_VISIBLE_DEVICES=0 python a.py\nEOF\n",
        "COPY cuda:0 /npu\n",
        'CMD ["python", "main.py", "--cuda"]\n',
        'CMD ["trtexec", "--device", "cuda"]\n',
        "ARG DEVICE=cuda\nFROM base-${DEVICE}\n",
        "ENV A=${CUDA_VISIBLE_DEVICES:-1,0} CUDA_VISIBLE_DEVICES=0\n",
        "RUN <<EOF\nCUDA_VISIBLE_DEVICES=0 a\nEOF\nENV CUDA_VISIBLE_DEVICES=0\n",
        "ENV ASCEND_VISIBLE_DEVICES=0 CUDA_VISIBLE_DEVICES=0\n",
        "RUN echo 'export CUDA_VISIBLE_DEVICES=0'\n",
        "ENV\n",
        "RUN \\",
    ],
)
def test_what_else_stands_in_a_dockerfile_stays(text):
    assert changed(text, "docker/Dockerfile.dev") == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FROM nvidia/cuda:12.1.0-base AS b\nFROM b\n", [("NPU620", "nvidia/cuda:12.1.0-base")]),
        (
            "FROM --platform=linux/amd64 nvcr.io/nvidia/pytorch:24.07-py3\n",
            [("NPU620", "nvcr.io/nvidia/pytorch:24.07-py3")],
        ),
        ("ARG T=1\nFROM pytorch/pytorch:$T-cuda\n", [("NPU620", "pytorch/pytorch:$T-cuda")]),
        ("FROM ubuntu:22.04\n", []),
        ("ENV NVIDIA_VISIBLE_DEVICES=all\n", [("NPU602", "NVIDIA_VISIBLE_DEVICES")]),
        ('ENV TORCH_CUDA_ARCH_LIST="8.0 9.0"\n', [("NPU603", "TORCH_CUDA_ARCH_LIST")]),
        ("ENV PATH=/usr/local/cuda/bin:$PATH\n", [("NPU903", "1")]),
        ("RUN nvcc --version\n", [("NPU618", "nvcc")]),
        (
            "RUN pip install --no-cache-dir \\\n  torch==2.1.0+cu118 numpy \\\n  --extra-index-url https://x/whl/cu118\n",
            [("NPU631", "torch==2.1.0+cu118"), ("NPU631", "https://x/whl/cu118")],
        ),
        ("RUN pip install 'flash-attn>=2' && pip install -r cupy.txt\n", [("NPU630", "flash-attn>=2")]),
        (
            "RUN conda install -y -c nvidia pytorch-cuda=12.1\n",
            [("NPU631", "nvidia"), ("NPU631", "pytorch-cuda=12.1")],
        ),
    ],
)
def test_findings_in_a_dockerfile(text, expected):
    assert found(text, "Dockerfile") == expected


# --- Makefiles and files of variables


def test_recipes_are_shell():
    text = (
        "DEVICE ?= cuda\ntrain:\n\t@CUDA_VISIBLE_DEVICES=0 python a.py \\\n\t\t--device cuda\n\tnvidia-smi\n"
    )
    assert changed(text, "Makefile") == text.replace("CUDA_VIS", "ASCEND_RT_VIS").replace(
        "--device cuda", "--device npu"
    ).replace("?= cuda", "?= npu").replace("nvidia-smi", "npu-smi info")


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("export CUDA_VISIBLE_DEVICES = 0\ntrain:\n\techo $$CUDA_VISIBLE_DEVICES\n", {"NPU903"}),
        (
            "train:\n\tCUDA_VISIBLE_DEVICES=0 python a.py --cards $(CUDA_VISIBLE_DEVICES)\n",
            {"NPU615"},
        ),
    ],
)
def test_variables_that_make_knows_stay(text, rules):
    assert changed(text, "Makefile") == text
    assert {rule for rule, _ in found(text, "Makefile")} == rules


def test_a_device_that_make_compares_stays():
    text = "DEVICE ?= cuda\nifeq ($(DEVICE),cuda)\nA=1\nendif\na:\n\tpython a.py --device $(DEVICE)\n"
    assert changed(text, "Makefile") == text


def test_a_page_about_a_dockerfile_is_none():
    text = "ENV CUDA_VISIBLE_DEVICES=0\n"
    assert changed(text, "Dockerfile.md") == text


def test_a_file_of_variables():
    assert changed("A=it's\nB=a<<b\nDEVICE=cuda\n", ".env") == "A=it's\nB=a<<b\nDEVICE=npu\n"
    assert changed("A=1\nCUDA_VISIBLE_DEVICES=0\n", "prod/.env") == "A=1\nASCEND_RT_VISIBLE_DEVICES=0\n"


# --- requirements


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torch==2.1.0+cu118\n", [("NPU631", "torch==2.1.0+cu118")]),
        ("--extra-index-url https://x/whl/cu118\n", [("NPU631", "--extra-index-url https://x/whl/cu118")]),
        (
            "-f https://x/whl/cu118/torch_stable.html\n",
            [("NPU631", "-f https://x/whl/cu118/torch_stable.html")],
        ),
        (
            "torch @ https://x/torch-2.1.0+cu118-cp310-cp310-linux_x86_64.whl\n",
            [("NPU631", "torch @ https://x/torch-2.1.0+cu118-cp310-cp310-linux_x86_64.whl")],
        ),
        ("flash_attn >= 2.5 ; python_version > '3.8'  # fast\n", [("NPU630", "flash_attn >= 2.5")]),
        (
            "https://x/flash_attn-2.5.8+cu122torch2.3-cp310.whl\n",
            [("NPU630", "https://x/flash_attn-2.5.8+cu122torch2.3-cp310.whl")],
        ),
        (
            "git+https://github.com/NVIDIA/apex.git@master#egg=apex\n",
            [("NPU630", "git+https://github.com/NVIDIA/apex.git@master#egg=apex")],
        ),
        (
            "xformers\nTriton==2.1\ndeepspeed[inf]>0.9\n",
            [("NPU630", "xformers"), ("NPU630", "Triton==2.1"), ("NPU630", "deepspeed[inf]>0.9")],
        ),
        (
            "nvidia-cublas-cu12==12.1\nfaiss-gpu\nnvidia-ml-py\n",
            [("NPU630", "nvidia-cublas-cu12==12.1"), ("NPU630", "faiss-gpu"), ("NPU630", "nvidia-ml-py")],
        ),
        ("torch<2.0\n", [("NPU633", "torch<2.0")]),
        ("torch==2.7.1+cpu\ntorch==2.6.0+cpu\n", [("NPU633", "torch==2.6.0+cpu")]),
        ("torch>=2.0,<3\ntorchvision==0.15\n", []),
        ("numpy\n# flash-attn\n-e .\n-r other.txt\n.[train]\n./local\n;\n==\n", []),
        ("flash-attn  # cuda2npu: ignore\n", []),
    ],
)
def test_findings_in_requirements(text, expected):
    assert found(text, "requirements.txt") == expected
    assert found(text, "requirements/train.txt") == expected


def test_packages_with_the_same_advice_are_one_finding_where_they_stand_together():
    text = "nvidia-a==1\nnvidia-b==1\n\nnvidia-c\nnumpy\nnvidia-d\n"
    assert found(text, "requirements.txt") == [
        ("NPU630", "nvidia-a==1\nnvidia-b==1"),
        ("NPU630", "nvidia-c"),
        ("NPU630", "nvidia-d"),
    ]


def test_each_package_gets_its_advice():
    result = run("bitsandbytes\nfaiss-gpu\n", "requirements.txt")
    assert "NF4" in result.findings[0].advice
    assert "faiss-cpu" in result.findings[1].advice


@pytest.mark.parametrize(
    ("target", "before", "after"),
    [
        ("2.7.1", "torch\nnumpy\n", "torch\ntorch_npu==2.7.1.*\nnumpy\n"),
        ("2.7", "numpy\r\ntorch>=2\r\n", "numpy\r\ntorch>=2\r\ntorch_npu==2.7.1.*\r\n"),
        ("2.14.0", "torch[opt]", "torch[opt]\ntorch_npu==2.14.0.*"),
        ("2.7.1", "torch\ntorch\n", "torch\ntorch_npu==2.7.1.*\ntorch\n"),
        ("2.7.1", "torch\ntorch-npu==2.7.1\n", None),
        ("2.7.1", "torch==2.0.1\n", None),
        ("2.6.0", "torch==2.6.0+cu124\nnumpy\n", "torch==2.6.0+cu124\ntorch_npu==2.6.0.*\nnumpy\n"),
        ("2.7.1", "torch==2.7.1+cpu\n", "torch==2.7.1+cpu\ntorch_npu==2.7.1.*\n"),
        (
            "2.6.0",
            "torch ==2.6.0+cu1 ; a == 'b' # c",
            "torch ==2.6.0+cu1 ; a == 'b' # c\ntorch_npu==2.6.0.*; a == 'b'",
        ),
        ("2.7.1", "torch==2.6.0+cu124\n", None),  # another one has to be required first
        ("2.6.0", f"{WHEELS}/cu124/torch-2.6.0%2Bcu124-cp310-cp310-linux_x86_64.whl\n", ""),
        ("2.6.0", f"torch @ {WHEELS}/cpu/torch-2.6.0+cpu-cp310-cp310-linux_x86_64.whl\n", ""),
        ("2.7.1", f"{WHEELS}/cu124/torch-2.6.0%2Bcu124-cp310-cp310-linux_x86_64.whl\n", None),
        ("2.6.0", f"{WHEELS}/cu124/torchvision-0.21.0%2Bcu124-cp310-cp310-linux_x86_64.whl\n", None),
        ("2.7.1", "torch --hash=sha256:00\n", None),
        ("2.7.1", "torchaudio\n# torch\n", None),
    ],
)
def test_the_torch_npu_for_the_target_is_offered(target, before, after):
    options = {"target": Target(target)}
    assert changed(before, "requirements.txt", **options) == before
    new = changed(before, "requirements.txt", unsafe=True, **options)
    after = f"{before}torch_npu=={target}.*\n" if after == "" else after
    assert new == (after or before)
    assert changed(new, "requirements.txt", unsafe=True, **options) == new


def test_the_offer_names_the_cann_that_it_needs():
    change = run("torch\n", "requirements.txt").changes[0]
    assert (change.applied, "CANN 9.1.0" in change.message) == (False, True)


def test_constraints_install_nothing():
    assert run("torch\n", "constraints.txt").changes == ()


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "pyproject.toml",
            '[project]\nname = "a"\ndependencies = ["torch", "xformers>=0.0.20"]\n',
            [("NPU630", "xformers>=0.0.20")],
        ),
        (
            "pyproject.toml",
            '[project.optional-dependencies]\nfast = ["flash-attn"]\n',
            [("NPU630", "flash-attn")],
        ),
        (
            "pyproject.toml",
            '[tool.poetry.dependencies]\nbitsandbytes = "^0.41"\n',
            [("NPU630", "bitsandbytes")],
        ),
        ("pyproject.toml", '[tool.black]\nexclude = ["xformers"]\n', []),
        (
            "setup.cfg",
            "[options]\ninstall_requires =\n    numpy\n    cupy-cuda12x\n",
            [("NPU630", "cupy-cuda12x")],
        ),
        (
            "environment.yml",
            "dependencies:\n  - cudatoolkit=11.8\n  - pip:\n      - apex\n",
            [("NPU631", "cudatoolkit=11.8"), ("NPU630", "apex")],
        ),
    ],
)
def test_requirements_in_other_files(path, text, expected):
    assert found(text, path) == expected


@pytest.mark.parametrize(
    "text", ["", "=", "torch==", "torch ==x.y", "torch=2.1.0=py3_cuda11", "-", "torch~=", "[x]", "é"]
)
def test_no_requirement_is_a_crash(text):
    look_at_requirement(TextFile("r.txt", text, Settings()), 0, text)


PIECES = st.sampled_from(
    [
        *(
            "CUDA_VISIBLE_DEVICES",
            "CUDA_VISIBLE_DEVICES=0",
            "$CUDA_VISIBLE_DEVICES",
            "NCCL_DEBUG=INFO",
            "cuda",
            "nccl",
        ),
        *(
            "FROM nvidia/cuda:12",
            "ENV",
            "ARG",
            "RUN",
            "CMD",
            "--device cuda",
            "--dist-backend",
            "nvidia-smi",
            "torch",
        ),
        *(
            "torch==2.1+cu118",
            "pip install",
            "conda install -c nvidia",
            "docker run --gpus all",
            "apex",
            "<<EOF",
            "EOF",
        ),
        *(
            " ",
            "\n",
            "\t",
            "\\\n",
            "\r\n",
            '"',
            "'",
            "\\",
            "#",
            "=",
            "&&",
            ";",
            "|",
            "$(",
            ")",
            "`",
            "{{",
            "é",
        ),
        *(
            "# cuda2npu: ignore",
            "unset ",
            "export ",
            "- ",
            ": ",
            "[",
            "]",
            "env:",
            "device",
            "&a ",
            "*a",
            ",",
        ),
    ]
)


@settings(max_examples=400, deadline=None)
@given(
    st.lists(PIECES, max_size=25).map("".join),
    st.sampled_from(
        [
            "run.sh",
            "Dockerfile",
            "Makefile",
            "requirements.txt",
            ".env",
            "a.yaml",
            "a.ini",
            "a.toml",
            "a.json",
        ]
    ),
)
def test_no_text_is_a_crash_and_the_second_run_changes_nothing(text, path):
    once = changed(text, path)
    assert changed(once, path) == once
