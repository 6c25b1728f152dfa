"""What is left to a person is said of the converted files as it was of the original ones."""

from __future__ import annotations

import pytest

from cuda2npu.rewrite.change import FileResult, Status
from cuda2npu.rewrite.formats.others import convert
from cuda2npu.settings import Settings

V, N = "CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"


def run(text: str, path: str) -> FileResult:
    return convert(text.encode(), path, Settings()) or FileResult(path, Status.UNCHANGED)


def said(result: FileResult) -> list[tuple[str, str, str]]:
    """Return what was found: the rule, the words that it is about, and the advice."""
    return [(f.rule, result.text[f.start : f.end], f.advice) for f in result.findings]


@pytest.mark.parametrize(
    ("path", "text", "rules"),
    [
        ("run.sh", f"export {V}=0\nexport NCCL_DEBUG=WARN\n", ["NPU602"]),
        ("run.sh", f"export {V}=0\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n", ["NPU603"]),
        ("run.sh", f"export {V}=0\nnvidia-smi -L | wc -l\n", ["NPU618"]),
        (
            "run.sh",
            f"export NCCL_SOCKET_IFNAME=e\nexport {V}=0\npython -c 'print({V})'\n",
            ["NPU615", "NPU903"],
        ),
        (".env", f"{V}=0\nNCCL_DEBUG=WARN\n", ["NPU602"]),
        ("Makefile", f"train:\n\t{V}=0 NCCL_DEBUG=WARN python a.py\n", ["NPU602"]),
        ("Dockerfile", f"FROM nvidia/cuda:12\nENV {V}=0 \\\n    NVIDIA_VISIBLE_DEVICES=all\n", None),
        ("Dockerfile", f'ENV {V}=0\nENV NCCL_DEBUG=WARN\nCMD ["a.py", "--device", "cuda"]\n', ["NPU602"]),
        (
            "a.json",
            '{"backend": "nccl", "env": {"NCCL_DEBUG": "WARN",\n"CUDA_DEVICE_MAX_CONNECTIONS": "1"}}',
            None,
        ),
        ("a.yaml", f"device: cuda\nenv:\n  {V}: '0'\n  NCCL_DEBUG: WARN\n", ["NPU602"]),
        ("a.yaml", "device: cuda\nmap: &name cuda\nrun_name: *name\ndist_backend: nccl\n", None),
        ("a.yaml", "device: cuda\ntrainer:\n  accelerator: gpu\n", ["NPU614"]),
        ("a.toml", 'device = "cuda"\n[env]\nNCCL_DEBUG = "WARN"\n', ["NPU602"]),
        ("a.ini", "[train]\ndevice = cuda\n[env]\nNCCL_DEBUG = WARN\n", ["NPU602"]),
    ],
)
def test_the_advice_stays_when_the_rest_has_been_converted(path, text, rules):
    first = run(text, path)
    after = first.data.decode() if first.status is Status.CHANGED else text
    again = run(after, path)
    assert not again.changes
    assert said(again) == said(first)
    assert rules is None or [found.rule for found in again.findings] == rules


def test_what_was_only_offered_is_reported_later():
    first = run("device: cuda\nattn_implementation: flash_attention_2\n", "a.yaml")
    assert [(c.rule, c.applied) for c in first.changes] == [("NPU610", True), ("NPU613", False)]
    again = convert(first.data, "a.yaml", Settings(unsafe=True))
    assert again is not None
    assert not again.changes
    assert [found.rule for found in again.findings] == ["NPU613"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("run.sh", f"if a; then {N}=0 a; else {V}=0 NCCL_DEBUG=WARN a; fi\n"),
        ("a.yaml", f"npu: {{{N}: '0'}}\nenv: {{NCCL_DEBUG: WARN, {V}: '0'}}\n"),
    ],
)
def test_a_line_with_advice_of_its_own_gets_no_other(path, text):
    result = run(text, path)
    assert not result.changes
    assert [found.rule for found in result.findings] == ["NPU602"]
