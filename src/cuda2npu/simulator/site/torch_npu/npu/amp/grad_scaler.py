"""Gradient scaling as ``torch.npu.amp`` has it: ``dynamic`` stands before ``enabled``."""
# ruff: noqa: F401 - the names are what this module offers

from __future__ import annotations

from typing import Any

import torch

from cuda2npu.simulator.names import only_names_of_target
from torch_npu.npu import _switches
from torch_npu.npu.amp.common import amp_definitely_not_available

__all__ = ["GradScaler"]


class GradScaler(torch.amp.GradScaler):
    """Scales the loss, and skips a step whose gradients aren't finite.

    :param dynamic: False keeps the scale as it is and skips no step. In torch.cuda's class the fifth
        parameter is ``enabled``: a call by position means something else here.
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        dynamic: bool = True,
        enabled: bool = True,
    ) -> None:
        super().__init__("npu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        self._dynamic = dynamic

    def scale(self, outputs: Any) -> Any:
        """Return ``outputs`` times the scale.

        :raises ValueError: if a tensor isn't on the NPU.
        """
        if self._enabled:
            for output in [outputs] if isinstance(outputs, torch.Tensor) else _tensors(outputs):
                if not output.is_npu:
                    raise ValueError("Device type of outputs should be npu.")
        return super().scale(outputs)

    def unscale_(self, optimizer: torch.optim.Optimizer) -> None:
        """Divide the gradients by the scale."""
        super().unscale_(optimizer)

    def step(self, optimizer: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> float | None:
        """Step, unless a gradient isn't finite and the scale is dynamic."""
        return super().step(optimizer, *args, **kwargs)

    def _maybe_opt_step(
        self, optimizer: torch.optim.Optimizer, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any
    ) -> float | None:
        if self._dynamic and _found_inf(optimizer_state):
            print("Gradient overflow. Skipping step")
            return None
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | torch.Tensor | None = None) -> None:
        """Set the scale for the next step: smaller after an overflow, larger after many good steps."""
        if self._enabled and not self._dynamic and new_scale is None:
            new_scale = self.get_scale()
        super().update(new_scale)

    def state_dict(self) -> dict[str, Any]:
        """Return what is needed to go on, ``dynamic`` included."""
        state = super().state_dict()
        return {**state, "dynamic": self._dynamic} if state else state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state that :meth:`state_dict` returned.

        :raises KeyError: for the state of another GradScaler, which has no ``dynamic``, as on the NPU.
        """
        super().load_state_dict(state_dict)
        if self._enabled:
            self._dynamic = state_dict["dynamic"]

    @staticmethod
    def get_npu_overflow_flag() -> bool:
        """Whether a number has overflowed in saturation mode."""
        return _switches.get_npu_overflow_flag()

    @staticmethod
    def clear_npu_overflow_flag() -> None:
        """Do nothing: the chip works in INF/NAN mode."""


def _found_inf(optimizer_state: dict[str, Any]) -> bool:
    return any(found.item() for found in optimizer_state["found_inf_per_device"].values())


def _tensors(outputs: Any) -> list[torch.Tensor]:
    """Return the tensors in lists and tuples; other iterables can be read only once and are left out."""
    if isinstance(outputs, torch.Tensor):
        return [outputs]
    if isinstance(outputs, (list, tuple)):
        return [tensor for output in outputs for tensor in _tensors(output)]
    return []


only_names_of_target(__name__)
