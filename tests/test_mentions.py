"""Which words in files that aren't Python mention CUDA, and which of these files are data."""

from __future__ import annotations

import json

import pytest

from cuda2npu.rewrite.change import Finding
from cuda2npu.rewrite.formats.others import convert
from cuda2npu.settings import Settings


def findings(text: str, path: str) -> list[Finding]:
    result = convert(text.encode(), path, Settings())
    return list(result.findings) if result is not None else []


@pytest.mark.parametrize(
    "word",
    [
        *("cuda", "CUDA", "Cuda", "cuda:0", "x_cuda_y", "cuda12", "12cuda", "withCUDA", "useCudaGraph"),
        *("CUDAToolkit", "cudart", "libcudart.so.12", "libnccl2", "pycuda", "cudatoolkit", "TORCHCuda"),
        *("cuDNN", "CUDNN_HOME", "libcudnn8", "NVTX", "nvidia-smi", "NCCL_DEBUG", "用cuda训练", "nocuda"),
        *("use-cuda", "ncclAllReduce", "cuda.is_available", "THCudaTensor"),
    ],
)
@pytest.mark.parametrize("path", ["a.yaml", "a.json", "a.service", "a.sh"])
def test_words_of_cuda(word, path):
    text = json.dumps({"name": word}, ensure_ascii=False) if path == "a.json" else f"name: {word}\n"
    (found,) = findings(text, path)
    assert found.rule in ("NPU903", "NPU618")
    assert found.severity.value == "manual"


@pytest.mark.parametrize("word", ["BARRACUDA", "barracuda", "Barracuda", "barracudas", "invidia", "sacuda"])
@pytest.mark.parametrize("path", ["a.yaml", "a.json", "a.service", "a.sh", ".env", "Dockerfile"])
def test_words_that_merely_contain_one(word, path):
    assert not findings(json.dumps({"name": word}) if path == "a.json" else f"name={word}\n", path)


PROSE = "It is my buddy, and he trains all of his models on CUDA these days."
RECORD = {"device": "cuda", "seconds": 1.5}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("data/a.json", json.dumps([RECORD, RECORD])),
        ("data/a.json", json.dumps({"1.mp3": {"begin": "0:01", "text": PROSE}})),
        ("data/a.json", json.dumps({"1.mp3": {"text": f'He said "{PROSE}"\nand left.'}})),
        ("data/a.json", "\n".join([json.dumps({"text": PROSE}), json.dumps(RECORD)])),
        ("results/a.json", json.dumps(RECORD)),
    ],
)
def test_what_data_mention_is_only_good_to_know(path, text, tmp_path, write, cli):
    assert [(found.rule, found.severity.value) for found in findings(text, path)] == [("NPU903", "info")]
    folder = write(tmp_path / "repo", {path: text})
    assert cli("check", folder).code == 0
    assert "NPU903 good to know" in cli("check", folder).out


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"note": PROSE, "where": "cuda"}),
        json.dumps({"where": "cuda"}),
        json.dumps({"cuda": 1}),
        json.dumps({"command": "cd /work && python train.py --steps 10 --seed 1 on cuda"}),
        json.dumps({"command": "CUDA_VISIBLE_DEVICES=0 python train.py a b c d e f"}),
        json.dumps({"items": [RECORD], "kind": "my-cuda"}),
    ],
)
def test_a_configuration_with_some_prose_is_looked_at(text):
    found = [each for each in findings(text, "a.json") if each.rule == "NPU903"]
    assert not found or [each.severity.value for each in found] == ["manual"]
    assert findings(text, "a.json") or "device" in text
