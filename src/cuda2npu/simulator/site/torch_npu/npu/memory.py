"""Memory of the cards. There is no cache: what is reserved is what is allocated."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from cuda2npu.simulator.names import only_names_of_target, refuse
from torch_npu import _backend
from torch_npu.npu._device import _checked_index, _get_device_index

__all__ = [
    "caching_allocator_alloc", "caching_allocator_delete", "change_current_allocator", "empty_cache",
    "empty_virt_addr_cache", "get_allocator_backend", "get_per_process_memory_fraction",
    "host_empty_cache", "host_memory_stats", "host_memory_stats_as_nested_dict",
    "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "memory_allocated",
    "memory_cached", "memory_reserved", "memory_snapshot", "memory_stats",
    "memory_stats_as_nested_dict", "memory_summary", "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_host_memory_stats", "reset_peak_memory_stats", "set_per_process_memory_fraction",
]  # fmt: skip

_IN_BYTES = ("allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes", "requested_bytes")
_IN_BLOCKS = ("allocation", "segment", "active", "inactive_split")
_POOLS = ("all", "large_pool", "small_pool")
_fractions: dict[int, float] = {}


def _index(device: Any) -> int:
    return _get_device_index(device, optional=True)


def memory_allocated(device: Any = None) -> int:
    """Return the bytes that tensors hold on a card."""
    return _backend.memory_allocated(_index(device))


def max_memory_allocated(device: Any = None) -> int:
    """Return the most bytes that tensors held on a card."""
    return _backend.max_memory_allocated(_index(device))


def memory_reserved(device: Any = None) -> int:
    """Return the bytes that the allocator holds, which without a cache are those of the tensors."""
    return _backend.memory_allocated(_index(device))


def max_memory_reserved(device: Any = None) -> int:
    """Return the most bytes that the allocator held."""
    return _backend.max_memory_allocated(_index(device))


def memory_cached(device: Any = None) -> int:
    """Return what :func:`memory_reserved` does, under the old name."""
    _renamed("memory_cached", "memory_reserved")
    return memory_reserved(device)


def max_memory_cached(device: Any = None) -> int:
    """Return what :func:`max_memory_reserved` does, under the old name."""
    _renamed("max_memory_cached", "max_memory_reserved")
    return max_memory_reserved(device)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the maxima of a card count from now."""
    _backend.reset_peak_memory(_index(device))


def reset_max_memory_allocated(device: Any = None) -> None:
    """Do what :func:`reset_peak_memory_stats` does, under the old name."""
    _renamed("reset_max_memory_allocated", "reset_peak_memory_stats")
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: Any = None) -> None:
    """Do what :func:`reset_peak_memory_stats` does, under the old name."""
    _renamed("reset_max_memory_cached", "reset_peak_memory_stats")
    reset_peak_memory_stats(device)


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Do nothing: sums over time aren't kept."""


def _renamed(old: str, new: str) -> None:
    warnings.warn(f"torch_npu.npu.{old} has been renamed to torch_npu.npu.{new}", stacklevel=3)


def empty_cache() -> None:
    """Do nothing: there is no cache."""


def empty_virt_addr_cache() -> None:
    """Do nothing: there is no cache."""


def host_empty_cache() -> None:
    """Do nothing: there is no cache."""


def memory_stats(device: Any = None) -> dict[str, int]:
    """Return the counters of a card, by names such as ``allocated_bytes.all.peak``.

    Only current and peak bytes are kept; the rest is 0.
    """
    return dict(sorted(_flat(memory_stats_as_nested_dict(device))))


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Return the counters of a card as nested dicts."""
    index = _index(device)
    nothing = {"current": 0, "peak": 0, "allocated": 0, "freed": 0}
    used = {
        **nothing,
        "current": _backend.memory_allocated(index),
        "peak": _backend.max_memory_allocated(index),
    }
    stats: dict[str, Any] = {}
    for counter in _IN_BLOCKS + _IN_BYTES:
        stats[counter] = {pool: dict(nothing) for pool in _POOLS}
        if counter in _IN_BYTES and counter != "inactive_split_bytes":
            stats[counter]["all"] = dict(used)
    return {**stats, "num_alloc_retries": 0, "num_ooms": 0, "max_split_size": -1}


def _flat(stats: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, int]]:
    for name, value in stats.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Return the counters of a card as text."""
    index = _index(device)
    return "\n".join(
        (
            f"Memory summary, simulated NPU {index} (host memory, no cache)",
            f"  allocated now  {_backend.memory_allocated(index):>16,} bytes",
            f"  allocated most {_backend.max_memory_allocated(index):>16,} bytes",
        )
    )


def memory_snapshot(mempool_id: Any = None) -> list[Any]:
    """Return no segments: memory is the host's."""
    return []


def host_memory_stats() -> dict[str, int]:
    """Return no counters: pinned memory isn't counted."""
    return {}


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """Return no counters: pinned memory isn't counted."""
    return {}


def reset_accumulated_host_memory_stats() -> None:
    """Do nothing: pinned memory isn't counted."""


def reset_peak_host_memory_stats() -> None:
    """Do nothing: pinned memory isn't counted."""


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Remember the share of a card's memory that may be used; the simulation doesn't enforce it.

    :raises TypeError: if it is no float.
    :raises ValueError: if it isn't between 0 and 1.
    """
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    _fractions[_checked_index(device)] = fraction


def get_per_process_memory_fraction(device: Any = None) -> float:
    """Return what :func:`set_per_process_memory_fraction` was given, else 1."""
    return _fractions.get(_checked_index(device), 1.0)


def get_allocator_backend() -> str:
    """Return ``native``."""
    return "native"


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """Not simulated."""
    refuse("torch_npu.npu.caching_allocator_alloc")


def caching_allocator_delete(mem_ptr: int) -> None:
    """Not simulated."""
    refuse("torch_npu.npu.caching_allocator_delete")


def change_current_allocator(allocator: Any) -> None:
    """Not simulated."""
    refuse("torch_npu.npu.change_current_allocator")


def _record_memory_history(enabled: Any = "all", *args: Any, **kwargs: Any) -> None:
    """Do nothing: no history is kept."""


def _snapshot(device: Any = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
    return {"segments": [], "device_traces": []}


@contextlib.contextmanager
def _free_mutex() -> Iterator[None]:
    yield


def _set_allocator_settings(settings: str) -> None:
    """Do nothing: there is no caching allocator."""


only_names_of_target(__name__)
