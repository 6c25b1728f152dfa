"""The quick test that decides, without decoding or parsing, whether a file can concern us."""

from __future__ import annotations

import codecs
import re

# A token with one of these words is a CUDA word: it is changed, reported or kept, but never unmentioned.
CUDA_WORD = re.compile(r"cuda|cudnn|nccl|nvtx|nvidia", re.I)

# CUDA uses without a CUDA word: names whose default device is CUDA, or that the NPU lacks.
HIDDEN_WORDS = (
    b"DataParallel",
    b"ExecutionTraceObserver",
    b"GradScaler",
    b"autocast",
    b"cpp_extension",
    b"data_parallel",
    b"device_id",
    b"float32_matmul_precision",
    b"fork_rng",
    b"set_default_tensor_type",
    b"timm",
)
_PACKAGES = (
    rb"^[ \t]*(?:from|import)[ \t]+(?:amp_C|apex|bitsandbytes|cupyx?|flash_attn|megatron|numba|polygraphy|"
    rb"sageattention|tensorrt|torch2trt|torch_tensorrt|transformer_engine|triton|xformers)\b"
)
_FORK = rb"""["']fork["']"""
_NUMBER = rb"\b(?:to|device)\(\s*\d|\bdevice=\d"

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_TEST = re.compile(
    b"|".join((b"(?i:cuda|cudnn|nccl|nvtx|nvidia)", *HIDDEN_WORDS, _FORK, _NUMBER, _PACKAGES)), re.M
)


def mentions_cuda(data: bytes) -> bool:
    """Whether the bytes of a file hold a word that any rule could be about, or can't be looked through."""
    return _TEST.search(data) is not None or data.startswith(_UTF_16)
