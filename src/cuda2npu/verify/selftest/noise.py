"""Other rounding, as by another device's kernels: results move by a unit in the last place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

# What rounds in no device: moving, choosing, comparing, filling.
_MOVING = (
    "_reshape_alias _to_copy _unsafe_view alias as_strided bernoulli_ cat chunk clone copy_ detach "
    "embedding empty empty_like expand fill_ full gather index index_select lift_fresh masked_fill "
    "masked_fill_ max_pool2d_with_indices narrow native_dropout neg new_zeros ones ones_like permute rand "
    "randint randn relu relu_ select set_ slice split stack squeeze t threshold_backward transpose unbind "
    "unsqueeze view zero_ zeros zeros_like "
)
_EXACT = frozenset(_MOVING.split())


class Noise(TorchDispatchMode):
    """Moves every result, at random, up, down, or not at all."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func._schema.name.rpartition("::")[2]
        if name in _EXACT:
            return result
        return tree_map(self._in_place if name.endswith("_") else self._moved, result)

    def _in_place(self, value: Any) -> Any:
        moved = self._moved(value)
        return value if moved is value else value.copy_(moved)

    def _moved(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point() or not value.numel():
            return value
        way = torch.randint(-1, 2, value.shape, generator=self._generator)
        up, down = (
            torch.nextafter(value, torch.full_like(value, end)) for end in (float("inf"), float("-inf"))
        )
        moved = torch.where(way > 0, up, torch.where(way < 0, down, value))
        return torch.where(torch.isfinite(value) & (value != 0), moved, value)
