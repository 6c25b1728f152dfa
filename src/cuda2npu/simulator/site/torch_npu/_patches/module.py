"""``nn.Module.npu``, which takes a number at most."""

from __future__ import annotations

from typing import Any

import torch

from cuda2npu.catalog.versions import holds
from cuda2npu.simulator.names import target

# In the wheels of 2.1 to 2.6, 2.8 and 2.9 a module goes to the current card, whatever number it is given
# (torch_npu/utils/_module.py, 2.1.0.post17 to 2.14.0).
_TAKES_NUMBER = ">=2.7, !=2.8, !=2.9"


def npu(self: torch.nn.Module, device: int | None = None) -> torch.nn.Module:
    """Move all parameters and buffers to a card, by its number, or to the current one.

    :raises TypeError: for a device or its name, from the versions on that read ``device`` at all.
    """
    place = torch.device("npu")
    if device is not None and holds(_TAKES_NUMBER, target().version):
        place = torch.device("npu", device)
    move: Any = torch.Tensor.npu
    return self._apply(lambda tensor: move(tensor, place))


def apply() -> None:
    """Put it into torch."""
    torch.nn.Module.npu = npu
