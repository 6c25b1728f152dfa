"""Native code: CUDA sources, C++ that needs CUDA's headers, and the CMake files that build them."""

from __future__ import annotations

import re
from typing import NamedTuple

from cuda2npu.catalog.grades import Severity
from cuda2npu.catalog.load import load_catalog
from cuda2npu.catalog.rules import Text
from cuda2npu.rewrite.change import FileResult, Finding, Status
from cuda2npu.rewrite.formats.mention import mention
from cuda2npu.rewrite.words import CUDA_WORD
from cuda2npu.settings import Settings

SOURCE = "NPU502"
HEADER = "NPU504"
BUILD = "NPU506"

_CUDA_SUFFIXES = (".cu", ".cuh", ".ptx", ".cubin", ".fatbin")
_CPP_SUFFIXES = (".cpp", ".cc", ".cxx", ".c", ".h", ".hh", ".hpp", ".hxx", ".inl")
_CMAKE = re.compile(r"(?:.*/)?(?:CMakeLists\.txt|[^/]*\.cmake(?:\.in)?)")

_COMMENT = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
_KERNEL = re.compile(r"\b__global__\b")
_INCLUDE = re.compile(
    r"""^[ \t]*\#[ \t]*include[ \t]*[<"](?:
    cuda(?:_runtime|_runtime_api|_fp16|_fp8|_bf16|_profiler_api|_gl_interop)?\.h
    |(?:cudnn|cublas|cublasLt|curand|curand_kernel|cufft|cusparse|cusolver|cusolverDn|nccl|nvml|nvrtc|nvToolsExt)
    (?:_v2)?\.h
    |(?:nvtx3|thrust|cub|cutlass|cute|ATen/cuda|ATen/cudnn|c10/cuda|torch/csrc/cuda|THC)/
    |(?:device_launch_parameters|cooperative_groups|mma)\.h)""",
    re.M | re.X,
)
_USE = re.compile(
    r"\b(?:at|c10|torch)::cuda::|\bis_cuda\(\)|\bkCUDA\b|\bDeviceType::CUDA\b|\bcuda[A-Z]\w*(?=\(|\s)"
    r"|\w[ \t]{0,8}<<<[ \t]*\w"
)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?P<word>if|ifdef|ifndef|endif)\b(?P<rest>[^\n]*)", re.M)
_ABOUT_CUDA = re.compile(r"CUDA|NVCC|GPU", re.I)
_BUILDS = re.compile(
    r"\b(?:find_package\s*\(\s*(?:CUDA|CUDAToolkit|CUDNN|NCCL|TensorRT)\b|enable_language\s*\([^)]*\bCUDA\b"
    r"|project\s*\([^)]*\bCUDA\b|check_language\s*\(\s*CUDA\b|cuda_add_(?:library|executable)\s*\()",
    re.I,
)
_MOST_LINES = 10


class _Found(NamedTuple):
    """What a file has: the rule, the place, how grave it is, what is said besides the summary."""

    code: str
    start: int
    end: int
    severity: Severity | None = None
    remark: Text | None = None


def is_native(path: str) -> bool:
    """Whether a file of this name is CUDA, C++ or CMake."""
    return path.lower().endswith(_CUDA_SUFFIXES + _CPP_SUFFIXES) or _CMAKE.fullmatch(path) is not None


def convert(data: bytes, path: str, settings: Settings) -> FileResult | None:
    """Return a result with one finding if the file needs CUDA, else None. Nothing is changed.

    :param path: a path for which :func:`is_native` holds.
    """
    text = data.decode("utf-8", "replace") if b"\0" not in data else ""
    found: _Found | None
    if path.lower().endswith(_CUDA_SUFFIXES):
        found = _cuda(text)
    elif path.lower().endswith(_CPP_SUFFIXES):
        found = _cpp(text)
    else:
        found = _cmake(text)
        if found is None:
            return mention(data, path, settings)
    rule = load_catalog(settings.rules).rules[found.code] if found is not None else None
    if found is None or rule is None or not settings.selects(rule.code, rule.default):
        return None
    message = rule.summary.in_language(settings.lang)
    if found.remark is not None:
        message = f"{message} {found.remark.in_language(settings.lang)}"
    advice = rule.advice.in_language(settings.lang)
    finding = Finding(rule.code, found.severity or rule.severity, found.start, found.end, message, advice)
    return FileResult(path, Status.UNCHANGED, "utf-8", text=text, findings=[finding])


def _cuda(text: str) -> _Found:
    """Return the first kernel and how many there are, or the first line."""
    kernels = [match.start() for match in _KERNEL.finditer(_without_comments(text))]
    count = len(kernels)
    remark = Text(f"({count} kernel{'s' if count > 1 else ''})", f"（{count} 个内核）") if count else None
    start, end = _line(text, kernels[0] if kernels else 0)
    return _Found(SOURCE, start, end, remark=remark)


def _cpp(text: str) -> _Found | None:
    """Return the gravest place: a header of CUDA's that no condition switches off, a use, any of them."""
    code = _without_comments(text)
    includes = [match.start() for match in _INCLUDE.finditer(code)]
    uses = [match.start() for match in _USE.finditer(code) if not _is_harmless(code, match)]
    if not includes and not uses:
        return None
    conditions = _conditions(code)
    for places, severity in ((includes, Severity.BLOCKER), (uses, Severity.MANUAL)):
        free = [place for place in places if not any(start < place < end for start, end in conditions)]
        if free:
            return _Found(HEADER, *_line(text, free[0]), severity)
    remark = Text("(under a condition of the preprocessor)", "（处于预处理条件之内）")
    return _Found(HEADER, *_line(text, (includes or uses)[0]), Severity.INFO, remark)


def _is_harmless(code: str, match: re.Match[str]) -> bool:
    """Whether a use only refuses CUDA tensors, or compares where two tensors are."""
    start, end = _line(code, match.start())
    refuses = re.search(r"!\s*[\w.>()-]*$", code[start : match.start()]) is not None
    return match[0].startswith("is_cuda") and (refuses or code[start:end].count("is_cuda()") > 1)


def _cmake(text: str) -> _Found | None:
    """Return the first line that looks for CUDA, with the numbers of all that mention it."""
    code = re.sub(r"#[^\n]*", lambda match: " " * len(match[0]), text)
    first = _BUILDS.search(code)
    if first is None:
        return None
    lines = sorted({code.count("\n", 0, match.start()) + 1 for match in CUDA_WORD.finditer(code)})
    numbers = ", ".join(map(str, lines[:_MOST_LINES])) + (", …" if len(lines) > _MOST_LINES else "")
    return _Found(BUILD, *_line(text, first.start()), remark=Text(numbers, numbers))


def _conditions(code: str) -> list[tuple[int, int]]:
    """Return the stretches of ``code`` that an ``#if`` about CUDA may switch off."""
    found: list[tuple[int, int]] = []
    stack: list[tuple[int, bool]] = []
    for match in _DIRECTIVE.finditer(code):
        if match["word"] == "endif":
            start, about_cuda = stack.pop() if stack else (0, False)
            if about_cuda:
                found.append((start, match.start()))
        else:
            about_cuda = _ABOUT_CUDA.search(match["rest"]) is not None and not _guards_file(code, match)
            stack.append((match.end(), about_cuda))
    return found


def _guards_file(code: str, match: re.Match[str]) -> bool:
    """Whether an ``#ifndef`` is the guard of a header: the next thing is to define the name."""
    name = match["rest"].strip()
    return (
        match["word"] == "ifndef"
        and re.match(rf"\s*#[ \t]*define[ \t]+{re.escape(name)}\b", code[match.end() :]) is not None
    )


def _without_comments(text: str) -> str:
    """Return ``text`` with blanks for comments, so that offsets stay."""

    def blank(match: re.Match[str]) -> str:
        return match[0] if match[0][0] in "\"'" else re.sub(r"[^\n]", " ", match[0])

    return _COMMENT.sub(blank, text)


def _line(text: str, offset: int) -> tuple[int, int]:
    """Return the span of the line that ``offset`` lies in, without the newline."""
    end = text.find("\n", offset)
    return text.rfind("\n", 0, offset) + 1, end if end >= 0 else len(text)
