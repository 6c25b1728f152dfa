"""A tensor in a few numbers: found at once in host memory, and on a device kept there until the step ends.

Waiting for a device once per tensor would leave it idle; so there the numbers of all tensors come over
together.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Union

import numpy as np
import torch

from cuda2npu.verify.records import Statistics

_BLOCK = 2**14  # elements whose squares are summed at a time
EMPTY = Statistics(None, None, None, None)

Measured = Union[Statistics, torch.Tensor]  # a tensor is the seven numbers of _on_device


def measure(tensor: torch.Tensor) -> Measured:
    """Return the statistics of a strided tensor, or the numbers that :func:`resolve` makes them of.

    Of complex numbers, real and imaginary parts count as elements. To be called within
    :func:`.access.unseen`.
    """
    if tensor.numel() == 0:
        return EMPTY
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    if tensor.device.type == "cpu":
        return _on_host(_wide(tensor, torch.float64))
    # An NPU computes hardly anything in float64.
    return _on_device(_wide(tensor, torch.float32 if tensor.device.type == "npu" else torch.float64))


def _wide(tensor: torch.Tensor, for_whole_numbers: torch.dtype) -> torch.Tensor:
    if not tensor.is_floating_point():
        return tensor.to(for_whole_numbers)
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()


def _on_host(tensor: torch.Tensor) -> Statistics:
    """Four passes; the numbers show whether an element isn't finite, and only then there are more.

    NumPy's are of one thread: torch would wait for all its threads in each, long on a machine that is busy.
    """
    array = tensor.contiguous().numpy()
    with np.errstate(all="ignore"):
        numbers = [float(array.min()), float(array.max()), float(array.mean())]
    numbers.append(_norm(tensor).item())
    if all(map(math.isfinite, numbers)):
        low, high, mean, norm = numbers
        return Statistics(low, high, mean, norm)
    finite = tensor[torch.isfinite(tensor)].double()
    nan = int(torch.isnan(tensor).sum())
    inf = tensor.numel() - finite.numel() - nan
    if finite.numel() == 0:
        return Statistics(None, None, None, None, nan, inf)
    low, high = torch.aminmax(finite)
    norm = torch.linalg.vector_norm(finite)
    return Statistics(low.item(), high.item(), finite.mean().item(), norm.item(), nan, inf)


def _norm(tensor: torch.Tensor) -> torch.Tensor:
    """Return the norm, found in blocks: 67 million squares summed in float32 in a row lose half a percent."""
    flat = tensor.reshape(-1)
    whole = flat.numel() // _BLOCK * _BLOCK
    if not whole:
        return torch.linalg.vector_norm(flat)
    norms = torch.linalg.vector_norm(flat[:whole].view(-1, _BLOCK), dim=1)
    rest = torch.linalg.vector_norm(flat[whole:])
    return torch.linalg.vector_norm(torch.cat([norms, rest.reshape(1)]))


def _on_device(tensor: torch.Tensor) -> torch.Tensor:
    """Minimum, maximum, sum and norm of the finite elements, and the numbers of these, nan and inf."""
    finite = torch.isfinite(tensor)
    clean = torch.where(finite, tensor, 0)
    numbers = [
        torch.where(finite, tensor, math.inf).amin(),
        torch.where(finite, tensor, -math.inf).amax(),
        clean.sum(),
        _norm(clean),
        finite.sum(),
        torch.isnan(tensor).sum(),
        torch.isinf(tensor).sum(),
    ]
    return torch.stack([number.to(tensor.dtype) for number in numbers])


def resolve(measured: Sequence[Measured]) -> list[Statistics]:
    """Return the statistics of all; there is one transfer for each device and type."""
    groups: dict[tuple[torch.device, torch.dtype], list[int]] = defaultdict(list)
    found: dict[int, Statistics] = {}
    for i, item in enumerate(measured):
        if isinstance(item, Statistics):
            found[i] = item
        else:
            groups[item.device, item.dtype].append(i)
    for members in groups.values():
        rows = torch.stack([item for i in members if isinstance(item := measured[i], torch.Tensor)])
        for i, row in zip(members, rows.cpu().tolist()):
            found[i] = _from_row(row)
    return [found[i] for i in range(len(measured))]


def _from_row(row: Sequence[float]) -> Statistics:
    low, high, total, norm, count, nan, inf = row
    if not count:
        return Statistics(None, None, None, None, int(nan), int(inf))
    return Statistics(low, high, total / count, norm, int(nan), int(inf))
