"""Random numbers. Every card draws from the CPU's generator; see :func:`_backend.default_generator`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Union

import torch

from cuda2npu.simulator.names import only_names_of_target
from torch_npu import _backend
from torch_npu.npu._device import _get_device_index, current_device
from torch_npu.npu._lifecycle import _lazy_call, _lazy_init

__all__ = [
    "get_default_generator", "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed",
    "manual_seed_all", "seed", "seed_all", "set_rng_state", "set_rng_state_all",
]  # fmt: skip

_Device = Union[int, str, torch.device]


def get_rng_state(device: _Device = "npu") -> torch.Tensor:
    """Return the state of a card's generator."""
    _lazy_init()
    return _generator(device).get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    """Return the states of all generators, by card."""
    return [get_rng_state(index) for index in range(_backend.device_count())]


def set_rng_state(new_state: torch.Tensor, device: _Device = "npu") -> None:
    """Set the state of a card's generator."""
    state = new_state.clone(memory_format=torch.contiguous_format)
    _lazy_call(lambda: _generator(device).set_state(state))


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Set the states of all generators, by card."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Seed the generator of the current card."""
    number = int(seed)
    _lazy_call(lambda: _generator(current_device()).manual_seed(number))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all cards."""
    number = int(seed)
    _lazy_call(lambda: _generator(0).manual_seed(number))


def seed() -> None:
    """Seed the generator of the current card with a random number."""
    _lazy_call(lambda: _generator(current_device()).seed())


def seed_all() -> None:
    """Seed the generators of all cards with a random number."""
    seed()


def initial_seed() -> int:
    """Return the seed of the current card's generator."""
    _lazy_init()
    return _generator(current_device()).initial_seed()


def get_default_generator(device_index: int) -> torch.Generator:
    """Return the generator of a card."""
    return _generator(device_index)


def _generator(device: _Device) -> torch.Generator:
    return _backend.default_generator(_get_device_index(device, optional=True))


only_names_of_target(__name__)
