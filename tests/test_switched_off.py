"""Comments that switch rules off in files that aren't Python: where the format has them, nowhere else."""

from __future__ import annotations

import pytest

from cuda2npu.rewrite.change import FileResult, Status
from cuda2npu.rewrite.formats.others import convert
from cuda2npu.settings import Settings

V = "CUDA_VISIBLE_DEVICES"
IGNORE = "cuda2npu: ignore"


def run(text: str, path: str) -> FileResult:
    return convert(text.encode(), path, Settings()) or FileResult(path, Status.UNCHANGED)


def kept(result: FileResult) -> list[str]:
    for each in result.kept:
        assert each.token == result.text[each.start : each.end]
        assert each.reason == "switched off by a comment"
    return [each.token for each in result.kept]


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("a.sh", f"export {V}=0 # {IGNORE}\n", [V]),
        ("a.sh", f"# {IGNORE}[NPU601]\nexport {V}=0\n", [V]),
        ("a.sh", f"cp nccl_log x # {IGNORE}\n", ["nccl_log"]),
        (".env", f"{V}=0 # {IGNORE}\n", [V]),
        (".env", f"# {IGNORE}\nNCCL_DEBUG=WARN\n", ["NCCL_DEBUG"]),
        ("Makefile", f"a:\n\t{V}=0 b # {IGNORE}\n", [V]),
        ("Dockerfile", f"# {IGNORE}\nENV {V}=0\n", [V]),
        ("Dockerfile", f"RUN export {V}=0 # {IGNORE}\n", [V]),
        ("Dockerfile", f"RUN a && \\\n    export {V}=0 # {IGNORE}\n", [V]),
        ("requirements.txt", f"torch==2.1+cu118 # {IGNORE}\n", ["torch==2.1+cu118"]),
        ("a.yaml", f"device: cuda # {IGNORE}\n", ["cuda"]),
        ("a.yaml", f"note: it's one\ndevice: 'cuda'  # {IGNORE}, isn't it\n", ["cuda"]),
        ("a.yaml", f"it's: 1 # {IGNORE}\n", []),
        ("a.toml", f'device = "cuda"# {IGNORE}\n', ["cuda"]),
        ("a.ini", f"[a]\n; {IGNORE}\ndevice = cuda\n", ["cuda"]),
        ("a.ini", f"[a]\n# {IGNORE}\ndevice = cuda\n", ["cuda"]),
    ],
)
def test_what_a_comment_switches_off_is_listed_as_kept(path, text, words):
    result = run(text, path)
    assert not result.changes
    assert not result.findings
    assert kept(result) == words


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("Dockerfile", f"ENV {V}=0 A=1 # {IGNORE}\n"),
        ("Dockerfile", f"ARG {V}=0 # {IGNORE}\n"),
        ("a.ini", f"[a]\ndevice = cuda ; {IGNORE}\n"),
        ("a.ini", f"[a]\ndevice = cuda # {IGNORE}\n"),
        ("setup.cfg", f"[options]\ninstall_requires =\n  flash-attn # {IGNORE}\n"),
        ("a.json", f'{{"a": "# {IGNORE}", "device": "cuda"}}\n'),
        ("a.yaml", f'{{a: "x # {IGNORE}", device: cuda}}\n'),
        ("a.toml", f'a = {{b = "x # {IGNORE}", device = "cuda"}}\n'),
        ("a.yaml", f"; {IGNORE}: 1\ndevice: cuda\n"),
        ("a.sh", f"export {V}=0 ; {IGNORE}\n"),
        ("a.sh", f"export {V}=0 A=x#{IGNORE}\n"),
    ],
)
def test_what_is_a_part_of_a_value_switches_nothing_off(path, text):
    result = run(text, path)
    assert result.changes or result.findings
    assert not result.kept


def test_the_report_lists_them(tmp_path, write, cli):
    folder = write(tmp_path / "repo", {"a.sh": f"export {V}=0 # {IGNORE}\n"})
    ran = cli("check", folder, "--format", "json")
    assert ran.code == 0
    assert '"token": "CUDA_VISIBLE_DEVICES"' in ran.out
    assert cli("check", folder).out == ""


def test_a_switch_stays_one_beside_a_part_for_the_npu():
    text = f"# {IGNORE}[NPU610]\ndevice: cuda\nother_device: npu\n"
    result = run(text, "a.yaml")
    assert (result.changes, result.findings, kept(result)) == ([], [], ["cuda"])
