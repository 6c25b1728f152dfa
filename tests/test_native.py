"""CUDA sources, C++ with CUDA's headers, CMake files: named, with the place, and not more than once."""

from __future__ import annotations

import pytest

from cuda2npu.catalog.grades import Severity
from cuda2npu.rewrite.change import Finding, Status
from cuda2npu.rewrite.formats.native import convert, is_native
from cuda2npu.settings import Settings

KERNELS = """// __global__ in a comment is none
#include <stdio.h>

__global__ void add(float* x) { x[0] += 1; }
template <typename T>
__global__ void scale(T* x) { x[0] *= 2; }
"""


def find(text: str | bytes, path: str, **options: object) -> Finding | None:
    data = text if isinstance(text, bytes) else text.encode()
    result = convert(data, path, Settings(**options))  # type: ignore[arg-type]
    if result is None:
        return None
    assert result.status is Status.UNCHANGED
    assert result.changes == ()
    (finding,) = result.findings
    return finding


@pytest.mark.parametrize(
    ("path", "native"),
    [
        ("csrc/add.cu", True),
        ("csrc/add.CUH", True),
        ("csrc/bind.cpp", True),
        ("include/a.h", True),
        ("CMakeLists.txt", True),
        ("cmake/Find.cmake", True),
        ("a.py", False),
        ("notes.txt", False),
        ("data.cu.json", False),
    ],
)
def test_which_files_are_native(path, native):
    assert is_native(path) is native


def test_a_cuda_source_is_a_blocker_at_its_first_kernel_with_their_number():
    finding = find(KERNELS, "csrc/add.cu")
    assert (finding.rule, finding.severity) == ("NPU502", Severity.BLOCKER)
    assert KERNELS[finding.start : finding.end].startswith("__global__ void add")
    assert "(2 kernels)" in finding.message


def test_one_kernel_is_one():
    assert "(1 kernel)" in find("__global__ void f();\n", "a.cu").message
    assert "（1 个内核）" in find("__global__ void f();\n", "a.cu", lang="zh").message


@pytest.mark.parametrize("data", [b"", b"int x;\n", b"\x7fELF\0\0", b"\xff\xfe\xfd"])
def test_a_cuda_source_without_a_kernel_is_named_at_its_start(data):
    finding = find(data, "csrc/types.cuh")
    assert (finding.rule, finding.start) == ("NPU502", 0)
    assert "kernel" not in finding.message


@pytest.mark.parametrize(
    "line",
    [
        "#include <cuda_runtime.h>",
        "#include <cuda.h>",
        "  # include <ATen/cuda/CUDAContext.h>",
        '#include "cutlass/numeric_types.h"',
        "#include <cub/cub.cuh>",
        "#include <nccl.h>",
    ],
)
def test_a_header_of_cuda_is_a_blocker_at_its_line(line):
    text = f"#pragma once\n#include <torch/extension.h>\n{line}\nint f();\n"
    finding = find(text, "csrc/a.h")
    assert (finding.rule, finding.severity) == ("NPU504", Severity.BLOCKER)
    assert text[finding.start : finding.end] == line


@pytest.mark.parametrize(
    "line",
    [
        "TORCH_CHECK(x.is_cuda(), x.device());",
        "auto y = torch::empty({1}, torch::kCUDA);",
        "cudaStream_t stream = 0;",
        "auto stream = at::cuda::getCurrentCUDAStream();",
        "run<<<grid, block>>>(x);",
    ],
)
def test_a_use_of_cuda_without_its_headers_has_to_be_looked_at(line):
    finding = find(f"#include <torch/extension.h>\n{line}\n", "a.cpp")
    assert (finding.rule, finding.severity) == ("NPU504", Severity.MANUAL)


@pytest.mark.parametrize("condition", ["#ifdef WITH_CUDA", "#if defined(USE_CUDA)", "#ifdef __CUDACC__"])
def test_what_a_condition_switches_off_is_good_to_know(condition):
    text = f"#include <vector>\n{condition}\n#include <cuda_runtime.h>\n#endif\nint f();\n"
    finding = find(text, "a.cpp")
    assert finding.severity is Severity.INFO
    assert "condition" in finding.message


def test_what_stands_behind_the_condition_counts_all_the_same():
    text = "#ifdef WITH_CUDA\n#include <cuda.h>\n#endif\nbool f(T x) { return x.is_cuda(); }\n"
    assert find(text, "a.cpp").severity is Severity.MANUAL


def test_the_guard_of_a_header_is_no_such_condition():
    text = "#ifndef FOO_CUDA_H\n#define FOO_CUDA_H\n#include <cuda_runtime.h>\n#endif\n"
    assert find(text, "foo_cuda.h").severity is Severity.BLOCKER


@pytest.mark.parametrize(
    "text",
    [
        "",
        "int main() { return 0; }\n",
        "// #include <cuda_runtime.h>\n/* x.is_cuda() */\nint f();\n",
        '#include "my_cuda_free_header.h"\n',
        'const char* s = "// not a comment"; // is_cuda()\n',
        "<<<<<<< HEAD\n=======\n>>>>>>> other\n",
        "#endif\n#endif\n",
        'AT_ASSERTM(!x.is_cuda(), "must be on the CPU");\n',
        "assert(a.device().is_cuda() == b.device().is_cuda());\n",
    ],
)
def test_other_native_code_isnt_named(text):
    assert find(text, "a.cpp") is None


@pytest.mark.parametrize(
    "text",
    [
        "project(fast LANGUAGES CXX CUDA)\n",
        "find_package(CUDA REQUIRED)\n",
        "find_package( CUDAToolkit )\n",
        "enable_language(CUDA)\n",
        "project(\n  fast\n  LANGUAGES CXX\n            CUDA)\n",
    ],
)
def test_a_build_for_cuda_is_named(text):
    finding = find("cmake_minimum_required(VERSION 3.18)\n" + text, "CMakeLists.txt")
    assert finding.rule == "NPU506"
    assert finding.severity is Severity.MANUAL


def test_a_build_for_cuda_names_the_lines():
    text = "find_package(CUDA)\n# cuda\nset(A 1)\nset(CMAKE_CUDA_STANDARD 17)\n"
    assert find(text, "CMakeLists.txt").message.endswith("in the lines 1, 4")


def test_a_build_that_only_mentions_cuda_is_named_as_other_files_are():
    assert find("set(DIR /usr/local/cuda)\n", "CMakeLists.txt").rule == "NPU903"
    assert find("set(A 1)\n", "CMakeLists.txt") is None


def test_rules_that_are_off_say_nothing():
    assert find(KERNELS, "a.cu", ignore=("NPU502",)) is None
    assert find(KERNELS, "a.cu", select=("NPU1",)) is None


def test_a_repository_with_native_code(tmp_path, write, cli):
    write(
        tmp_path,
        {
            "repo/csrc/add.cu": KERNELS,
            "repo/csrc/plain.cu": "int x;\n",
            "repo/csrc/bind.cpp": "#include <c10/cuda/CUDAGuard.h>\n",
            "repo/csrc/host.cpp": "int y;\n",
        },
    )
    ran = cli("check", tmp_path / "repo")
    assert ran.code == 1
    assert "add.cu:4:1" in ran.out
    assert "plain.cu:1:1" in ran.out
    assert "bind.cpp:1:1" in ran.out
    assert "host.cpp" not in ran.out
