"""The quick test that decides, without decoding or parsing, whether a file can concern us."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

# A token with one of these words is a CUDA word: it is changed, reported or kept, but never unmentioned.
CUDA_WORD = re.compile(r"cuda|cudnn|nccl|nvtx|nvidia", re.I)

# In files that aren't Python a word of CUDA's begins a part of a name, as in CUDAToolkit, or one of these
# stands before it, as in libcudart: a barracuda is none.
_PREFIXES = frozenset(
    ("has", "is", "lib", "my", "no", "non", "py", "pytorch", "torch", "tf", "use", "using", "with", "without")
)
_BEFORE = re.compile(r"[A-Za-z]*\Z")
_OWN_NAME = re.compile(r"cuda2npu", re.I)  # our own configuration is no use of CUDA

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
# An option for a device, which may reach a device or a comparison anywhere.
_DEVICE_OPTION = rb"""\badd_argument\([^()]*?["']--(?:torch[-_])?device["']"""
_FORK = rb"""["']fork["']"""
# Calls that may be given a bare number for a device.
_PLACES = re.compile(rb"\b(?:to|device)\(|\bdevice=")

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_TEST = re.compile(
    b"|".join((b"(?i:cuda|cudnn|nccl|nvtx|nvidia)", *HIDDEN_WORDS, _FORK, _BACKEND_OPTION, _DEVICE_OPTION))
)


def cuda_words(text: str) -> Iterator[int]:
    """Yield where a text that isn't Python names CUDA.

    A name is split at everything but letters, and at capitals: ``useCuda`` and ``CUDA_HOME`` name it.
    """
    for match in CUDA_WORD.finditer(text):
        start = match.start()
        if not _OWN_NAME.match(text, start) and _begins_a_part(text, start):
            yield start


def _begins_a_part(text: str, start: int) -> bool:
    letters = _BEFORE.search(text, max(0, start - 20), start)
    before = letters[0] if letters is not None else ""
    if not before or before.lower() in _PREFIXES:
        return True
    return text[start].isupper() and (before[-1].islower() or text[start + 1].islower())


def mentions_cuda(data: bytes, numbers_mean_cuda: bool = False) -> bool:
    """Whether the bytes of a file hold a word that any rule could be about, or can't be looked through.

    :param numbers_mean_cuda: whether the target takes a device that is a bare number for CUDA.
    """
    if _TEST.search(data) is not None or data.startswith(_UTF_16):
        return True
    return numbers_mean_cuda and _PLACES.search(data) is not None
