"""How far two tensors of one shape are apart, in float64 and piece by piece.

Of a tensor of 1 GB no more than a few MB are in float64 at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from cuda2npu.verify.comparison import Metrics, Worst
from cuda2npu.verify.records import Statistics

QUANTILES = (0.5, 0.9, 0.99, 0.999)
_PIECE = 2**15  # elements in float64 at a time: they stay in the processor's cache
_SAMPLE = 2**14  # quantiles of larger tensors are those of about so many elements, evenly spaced
_SQUARES = 1e150  # the squares of numbers beyond it, and below its inverse, aren't float64s
_SMALLEST = float(torch.finfo(torch.float64).smallest_normal)  # one over it is a float64


def measure(
    reference: torch.Tensor, candidate: torch.Tensor, *, small: float = 2**-20, small_error: float = 2**-30
) -> Metrics:
    """Measure a candidate against the reference.

    The largest finite number of each's type counts as equal to that of the other's: it stands for
    "everything", as in ``torch.finfo(dtype).min`` of a mask.

    :param reference: of any numeric type and shape; of complex numbers, both parts are elements, and the
        last index of the worst element is the part.
    :param candidate: of the same shape.
    :param small: elements below this, times the root mean square of the reference, are small: their relative
        error says nothing.
    :param small_error: the absolute error that a small element may have, times the same.
    :raises ValueError: if the shapes differ.
    """
    if reference.shape != candidate.shape:
        raise ValueError(f"shapes {tuple(reference.shape)} and {tuple(candidate.shape)} differ")
    reference, candidate = _real(reference), _real(candidate)
    shape = tuple(reference.shape)
    if reference.numel() and reference.dtype == candidate.dtype and torch.equal(reference, candidate):
        return _equal(reference)  # the usual case on a simulated device, and eight times faster
    left, right = reference.reshape(-1), candidate.reshape(-1)
    unit = _unit(left, right)
    sums = _Sums()
    scale = _root_mean_square(left, unit)
    for start, one, other in _pieces(left, right):
        sums.add(start, one / unit, other / unit, small * scale / unit, small_error * scale / unit)
    return sums.metrics(unit, shape, _quantiles(left, right))


def of_statistics(reference: Statistics, candidate: Statistics, elements: int) -> Metrics:
    """Measure what the statistics of two tensors say: errors are those of minimum, maximum and mean."""
    errors = [
        abs(one - other)
        for one, other in (
            (reference.minimum, candidate.minimum),
            (reference.maximum, candidate.maximum),
            (reference.mean, candidate.mean),
        )
        if one is not None and other is not None
    ]
    return Metrics(
        norm_ratio=_ratio(candidate.norm, reference.norm),
        max_absolute=max(errors, default=None),
        nan_mismatches=abs(reference.nan - candidate.nan),
        inf_mismatches=abs(reference.inf - candidate.inf),
        elements=elements,
    )


def statistics(tensor: torch.Tensor) -> Statistics:
    """Return the statistics of a tensor that was recorded whole."""
    tensor = _real(tensor).reshape(-1)
    unit = _unit(tensor)
    minimum, maximum, total, squares = math.inf, -math.inf, 0.0, 0.0
    count = nan = inf = 0
    for _, piece, _ in _pieces(tensor, tensor):
        finite = piece[torch.isfinite(piece)]
        nan += int(torch.isnan(piece).sum())
        inf += int(torch.isinf(piece).sum())
        if finite.numel():
            minimum = min(minimum, float(finite.min()))
            maximum = max(maximum, float(finite.max()))
            total += float((finite / unit).sum())
            squares += float((finite / unit).square().sum())
            count += finite.numel()
    if not count:
        return Statistics(None, None, None, None, nan, inf)
    return Statistics(minimum, maximum, total / count * unit, math.sqrt(squares) * unit, nan, inf)


@dataclass
class _Sums:
    """What is summed over the pieces, in units of the largest element where its square is no float64."""

    finite: int = 0
    elements: int = 0
    nan: int = 0
    inf: int = 0
    left: float = 0.0
    right: float = 0.0
    both: float = 0.0
    squares: float = 0.0
    absolute: float = 0.0
    signs: int = 0
    smalls: int = 0
    small_errors: int = 0
    relative: float = 0.0
    max_relative: float = 0.0
    thousandth: int = 0
    five_thousandths: int = 0
    worst: tuple[float, int, float, float] = (-1.0, 0, 0.0, 0.0)

    def add(self, start: int, left: torch.Tensor, right: torch.Tensor, small: float, allowed: float) -> None:
        self.elements += left.numel()
        finite = torch.isfinite(left) & torch.isfinite(right)
        all_finite = bool(finite.all())
        if not all_finite:
            self.nan += int((torch.isnan(left) != torch.isnan(right)).count_nonzero())
            infinite = (torch.isinf(left) | torch.isinf(right)) & ~torch.isnan(left) & ~torch.isnan(right)
            self.inf += int((infinite & (left != right)).count_nonzero())
            kept = finite.nonzero().squeeze(1)
            left, right = left[kept], right[kept]
        if not left.numel():
            return
        error = right - left
        size = error.abs()
        self.finite += left.numel()
        self.left += float(left.dot(left))
        self.right += float(right.dot(right))
        self.both += float(left.dot(right))
        self.squares += float(error.dot(error))
        self.absolute += float(size.sum())
        self.signs += int(error.sign().sum())
        largest = int(size.argmax())
        if float(size[largest]) > self.worst[0]:
            index = start + (largest if all_finite else int(kept[largest]))
            self.worst = (float(size[largest]), index, float(left[largest]), float(right[largest]))
        self._add_relative(left.abs(), size, small, allowed)

    def _add_relative(self, left: torch.Tensor, size: torch.Tensor, small: float, allowed: float) -> None:
        large = (left >= small) & (left > 0)
        count = int(large.count_nonzero())
        self.smalls += left.numel() - count
        if count < left.numel():
            self.small_errors += int(((size > allowed) & ~large).count_nonzero())
        relative = torch.where(large, size / left, 0.0)
        self.relative += float(relative.sum())
        self.max_relative = max(self.max_relative, float(relative.max()))
        self.thousandth += int((relative < 1e-3).count_nonzero()) - (left.numel() - count)
        self.five_thousandths += int((relative < 5e-3).count_nonzero()) - (left.numel() - count)

    def metrics(self, unit: float, shape: tuple[int, ...], quantiles: tuple[float, ...]) -> Metrics:
        if not self.finite:
            return Metrics(nan_mismatches=self.nan, inf_mismatches=self.inf, elements=self.elements)
        large = self.finite - self.smalls
        size, index, left, right = self.worst
        norms = math.sqrt(self.left), math.sqrt(self.right), math.sqrt(self.squares)
        return Metrics(
            cosine=_cosine(self.both, norms[0], norms[1]),
            norm_ratio=_ratio(norms[1], norms[0]),
            relative_norm=_ratio(norms[2], norms[0], both_zero=0.0),
            max_absolute=size * unit,
            mean_absolute=self.absolute / self.finite * unit,
            rms=norms[2] / math.sqrt(self.finite) * unit,
            max_relative=self.max_relative if large else None,
            mean_relative=self.relative / large if large else None,
            small_errors=self.small_errors / self.smalls if self.smalls else 0.0,
            balance=abs(self.signs) / self.finite,
            thousandth=self.thousandth / large if large else None,
            five_thousandths=self.five_thousandths / large if large else None,
            quantiles=quantiles,
            nan_mismatches=self.nan,
            inf_mismatches=self.inf,
            elements=self.elements,
            worst=Worst(_position(index, shape), left * unit, right * unit),
        )


def _equal(tensor: torch.Tensor) -> Metrics:
    first = float(tensor.reshape(-1)[0])
    return Metrics(
        cosine=1.0,
        norm_ratio=1.0,
        relative_norm=0.0,
        max_absolute=0.0,
        mean_absolute=0.0,
        rms=0.0,
        max_relative=0.0,
        mean_relative=0.0,
        small_errors=0.0,
        balance=0.0,
        thousandth=1.0,
        five_thousandths=1.0,
        quantiles=(0.0,) * len(QUANTILES),
        elements=tensor.numel(),
        worst=Worst((0,) * tensor.dim(), first, first),
    )


def _pieces(left: torch.Tensor, right: torch.Tensor) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
    """Yield piece by piece in float64, with the position of its first element."""
    most = _most(left.dtype), _most(right.dtype)
    for start in range(0, left.numel(), _PIECE):
        one = left[start : start + _PIECE].to(torch.float64)
        other = right[start : start + _PIECE].to(torch.float64)
        if most[0] is not None and most[1] is not None and left.dtype != right.dtype:
            extreme = (one.abs() == most[0]) & (other.abs() == most[1]) & (one.sign() == other.sign())
            other = torch.where(extreme, one, other)
        yield start, one, other


def _most(dtype: torch.dtype) -> float | None:
    return torch.finfo(dtype).max if dtype.is_floating_point else None


def _real(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.detach()
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def _unit(*tensors: torch.Tensor) -> float:
    """Return 1, or the largest element of all tensors where float64 can't hold its square."""
    if not any(tensor.dtype == torch.float64 for tensor in tensors):
        return 1.0
    pieces = (piece for tensor in tensors for piece in tensor.split(_PIECE) if piece.numel())
    largest = max((float(_finite(piece).abs().max()) for piece in pieces), default=0.0)
    if 0.0 < largest < 1 / _SQUARES:
        return max(largest, _SMALLEST)
    return largest if largest > _SQUARES else 1.0


def _root_mean_square(tensor: torch.Tensor, unit: float) -> float:
    squares = sum(float((_finite(piece) / unit).square().sum()) for piece in tensor.split(_PIECE))
    return math.sqrt(squares / max(tensor.numel(), 1)) * unit


def _finite(piece: torch.Tensor) -> torch.Tensor:
    return torch.nan_to_num(piece.to(torch.float64), nan=0.0, posinf=0.0, neginf=0.0)


def _quantiles(left: torch.Tensor, right: torch.Tensor) -> tuple[float, ...]:
    """Return the quantiles of the absolute error; of large tensors, those of an evenly spaced sample."""
    step = -(-left.numel() // _SAMPLE) or 1
    errors = [(other - one).abs() for _, one, other in _pieces(left[::step], right[::step])]
    error = torch.cat(errors) if errors else torch.empty(0)
    error = error[torch.isfinite(error)].sort().values
    last = error.numel() - 1
    return tuple(float(error[round(share * last)]) for share in QUANTILES) if last >= 0 else ()


def _cosine(both: float, left: float, right: float) -> float:
    if left == 0 or right == 0:
        return 1.0 if left == right else 0.0
    return max(-1.0, min(1.0, both / left / right))


def _ratio(over: float | None, under: float | None, both_zero: float = 1.0) -> float | None:
    if over is None or under is None:
        return None
    if under == 0:
        return both_zero if over == 0 else math.inf
    return over / under


def _position(index: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    position = []
    for size in reversed(shape):
        index, rest = divmod(index, size)
        position.append(rest)
    return tuple(reversed(position))
