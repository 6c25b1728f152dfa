"""Values of environment variables: whether the NPU's variable takes them and means the same."""

from __future__ import annotations

import re

# torch_npu raises if expandable segments are combined with a limit or a threshold (NPUAllocatorConfig).
_EXCLUDES = re.compile(
    r"(?=.*expandable_segments:True)(?=.*(?:max_split_size_mb|garbage_collection_threshold))"
)
_ALLOCATOR_WORDS = re.compile(r"backend:|pinned_use_cuda_host_register|release_lock_on_cudamalloc")

_NUMBERS = re.compile(r"\d+(?:,\d+)*")  # the Ascend Docker Runtime takes no "all", "none" or UUID


def carries_over(name: str, value: str) -> bool:
    """Whether the NPU's counterpart of the variable ``name`` takes ``value`` and means the same by it."""
    if name == "CUDA_VISIBLE_DEVICES":
        return _is_ascending(value)
    if name == "NVIDIA_VISIBLE_DEVICES":
        return _NUMBERS.fullmatch(value) is not None
    if name == "PYTORCH_CUDA_ALLOC_CONF":
        return _ALLOCATOR_WORDS.search(value) is None and not _EXCLUDES.search(value)
    return True


def _is_ascending(value: str) -> bool:
    """ASCEND_RT_VISIBLE_DEVICES takes numbers in ascending order only; -1 and an empty value hide all."""
    if not value or value == "-1":
        return True
    numbers = value.replace(" ", "").split(",")
    if not all(number.isdigit() for number in numbers):
        return False
    ids = [int(number) for number in numbers]
    return ids == sorted(set(ids))
