"""Random numbers come from generators of the CPU, as those of the simulated NPU do."""

from __future__ import annotations

from typing import Any

import torch

from cuda2npu.simulator.cpu_as_cuda import placement

_Plain: Any = torch.Generator
_KindOfPlain: Any = type(_Plain)


class _Kind(_KindOfPlain):
    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, _Plain)


class Generator(_Plain, metaclass=_Kind):
    """``torch.Generator``, which for "cuda" is a generator of the CPU and says that it is on "cuda"."""

    _number: int | None

    def __new__(cls, device: Any = "cpu") -> Generator:
        """Make one, with the number of the GPU or None for the CPU."""
        on_gpu = placement.is_cuda(device)
        made: Generator = _Plain.__new__(cls, "cpu" if on_gpu else device)
        made._number = placement.number_of(device) if on_gpu else None
        return made

    @property
    def device(self) -> torch.device:
        """The device that was asked for."""
        return torch.device("cpu") if self._number is None else torch.device("cuda", self._number)


def install() -> None:
    """Put it into torch, and map the functions of ``torch.cuda`` that seed, save and restore."""
    functions: Any = torch
    functions.Generator = Generator
    cuda: Any = torch.cuda
    generator = torch.default_generator
    cuda.default_generators = (generator,) * cuda.device_count()
    seeded = {
        "manual_seed": lambda seed: generator.manual_seed(int(seed)) and None,
        "manual_seed_all": lambda seed: generator.manual_seed(int(seed)) and None,
        "seed": lambda: generator.seed() and None,
        "seed_all": lambda: generator.seed() and None,
        "initial_seed": lambda: generator.initial_seed(),
        "get_rng_state": lambda device="cuda": generator.get_state(),
        "set_rng_state": lambda state, device="cuda": generator.set_state(state) and None,
        "get_rng_state_all": lambda: [generator.get_state()],
        "set_rng_state_all": lambda states: generator.set_state(states[0]) and None,
    }
    for name, function in seeded.items():  # programs call torch.cuda.random.manual_seed, too
        setattr(cuda, name, function)
        setattr(cuda.random, name, function)
