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
    b"flash_attention_",
    b"float32_matmul_precision",
    b"fork_rng",
    b"load_in_4bit",
    b"load_in_8bit",
    b"set_default_tensor_type",
    b"timm",
)
# An option for a backend, which may reach a comparison with "nccl" in another file.
_BACKEND_OPTION = rb"""["']--[\w-]*backend["']"""
_FORK = rb"""["']fork["']"""
# Calls that may be given a bare number for a device.
_PLACES = re.compile(rb"\b(?:to|device)\(|\bdevice=")

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_TEST = re.compile(b"|".join((b"(?i:cuda|cudnn|nccl|nvtx|nvidia)", *HIDDEN_WORDS, _FORK, _BACKEND_OPTION)))


def mentions_cuda(data: bytes, numbers_mean_cuda: bool = False) -> bool:
    """Whether the bytes of a file hold a word that any rule could be about, or can't be looked through.

    :param numbers_mean_cuda: whether the target takes a device that is a bare number for CUDA.
    """
    if _TEST.search(data) is not None or data.startswith(_UTF_16):
        return True
    return numbers_mean_cuda and _PLACES.search(data) is not None
