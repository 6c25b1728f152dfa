"""How far two tensors are apart."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cuda2npu.verify.compare import metrics
from cuda2npu.verify.compare.metrics import measure

NAN, INF = math.nan, math.inf


def pair(size=1000, seed=0):
    generator = torch.Generator().manual_seed(seed)
    one = torch.randn(size, generator=generator, dtype=torch.float64)
    return one, one + 1e-3 * torch.randn(size, generator=generator, dtype=torch.float64)


def test_it_agrees_with_numpy():
    one, other = pair()
    left, right = one.numpy(), other.numpy()
    found = measure(one, other)
    error = right - left
    assert found.cosine == pytest.approx(left @ right / np.linalg.norm(left) / np.linalg.norm(right))
    assert found.norm_ratio == pytest.approx(np.linalg.norm(right) / np.linalg.norm(left))
    assert found.relative_norm == pytest.approx(np.linalg.norm(error) / np.linalg.norm(left))
    assert found.rms == pytest.approx(np.sqrt((error**2).mean()))
    assert found.mean_absolute == pytest.approx(abs(error).mean())
    assert found.max_absolute == pytest.approx(abs(error).max())
    assert found.mean_relative == pytest.approx((abs(error) / abs(left)).mean())
    assert found.thousandth == pytest.approx((abs(error) / abs(left) < 1e-3).mean())
    assert found.quantiles == pytest.approx(tuple(np.quantile(abs(error), metrics.QUANTILES)), rel=0.1)
    assert found.worst.index == (int(abs(error).argmax()),)


@pytest.mark.parametrize("size", [1, metrics._PIECE - 1, metrics._PIECE, 3 * metrics._PIECE + 5])
def test_pieces_make_no_difference(size):
    one, other = pair(size)
    other[-1] += 7
    found = measure(one, other)
    assert found.relative_norm == pytest.approx(float((other - one).norm() / one.norm()))
    assert found.worst.index == (size - 1,)
    assert found.elements == size


def test_an_error_of_scale_shows_in_the_norm_and_not_in_the_cosine():
    one, _ = pair()
    found = measure(one, 1.3 * one)
    assert found.cosine == pytest.approx(1)
    assert found.norm_ratio == pytest.approx(1.3)
    assert found.balance < 0.1


def test_a_bias_shows_in_the_balance():
    one, _ = pair()
    assert measure(one, one + 1).balance == 1


def test_small_elements_stand_apart():
    one = torch.tensor([1.0, 1.0, 1e-9])
    found = measure(one, torch.tensor([1.0, 1.0, 2e-9]), small=1e-6, small_error=1e-12)
    assert found.max_relative == 0
    assert found.small_errors == 1
    assert measure(one, one * 1.001, small=1e-6, small_error=1e-6).small_errors == 0


def test_the_size_of_all_makes_no_difference():
    one, other = pair()
    large, tiny = measure(one, other), measure(one * 1e-9, other * 1e-9)
    assert tiny.small_errors == large.small_errors
    assert tiny.mean_relative == pytest.approx(large.mean_relative)


@pytest.mark.parametrize("unit", [1e200, 1e-200, 1e307])
def test_numbers_whose_squares_are_none(unit):
    one, other = pair()
    found, plain = measure(one * unit / 10, other * unit / 10), measure(one, other)
    assert found.relative_norm == pytest.approx(plain.relative_norm)
    assert found.norm_ratio == pytest.approx(plain.norm_ratio)


def test_nan_and_infinity_are_counted_by_place():
    one = torch.tensor([NAN, NAN, 1, INF, INF, -INF, 2])
    other = torch.tensor([NAN, 0, NAN, INF, -INF, 5, 2])
    found = measure(one, other)
    assert (found.nan_mismatches, found.inf_mismatches, found.elements) == (2, 2, 7)
    assert found.max_absolute == 0


def test_the_worst_element_has_its_place_also_behind_nan():
    one, other = torch.zeros(3, 4), torch.zeros(3, 4)
    one[0, 0] = other[0, 0] = NAN
    other[2, 1] = 5
    assert measure(one, other).worst == metrics.Worst((2, 1), 0.0, 5.0)


def test_nothing_finite_and_nothing_at_all():
    nothing = torch.full((3,), NAN)
    assert measure(nothing, nothing.double()).cosine is None
    assert measure(torch.zeros(0, 3), torch.zeros(0, 3)).elements == 0


def test_zeros():
    zero, one = torch.zeros(4), torch.ones(4)
    assert measure(zero, zero.double()).relative_norm == 0
    assert measure(zero, zero.double()).cosine == 1
    assert measure(zero, one).relative_norm == INF
    assert measure(one, zero).cosine == 0


def test_complex_numbers_are_two_elements():
    one = torch.tensor([1 + 1j, 2 + 2j])
    found = measure(one, torch.tensor([1 + 1j, 2 + 3j]))
    assert (found.elements, found.worst.index) == (4, (1, 1))


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int64, torch.uint8])
def test_integers(dtype):
    one = torch.tensor([0, 1, 1], dtype=dtype)
    assert measure(one, one).max_absolute == 0
    assert measure(one, one.flip(0)).max_absolute == 1


def test_a_mask_of_the_largest_number_is_the_same_in_every_type():
    def mask(dtype):
        return torch.tensor([1.0, torch.finfo(dtype).min, torch.finfo(dtype).max], dtype=dtype)

    assert measure(mask(torch.float64), mask(torch.float16)).max_absolute == 0
    assert measure(mask(torch.float64), -mask(torch.float16)).max_absolute > 1


def test_shapes_that_differ():
    with pytest.raises(ValueError, match="differ"):
        measure(torch.zeros(2), torch.zeros(3))


finite = st.floats(-1e30, 1e30, allow_nan=False)


@settings(max_examples=200, deadline=None)
@example([(2.2e-311, 1.0)])
@example([(1.0, 2.2e-311)])
@example([(2.2e-311, 5e-324)])
@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=20))
def test_bounds_hold_for_any_numbers(pairs):
    one, other = (torch.tensor(side, dtype=torch.float64) for side in zip(*pairs))
    found = measure(one, other)
    assert -1 <= found.cosine <= 1
    assert 0 <= found.mean_absolute <= found.max_absolute * (1 + 1e-12)
    assert 0 <= found.small_errors <= 1
    assert 0 <= found.balance <= 1
    assert found.quantiles[-1] <= found.max_absolute
    assert found.worst.reference == one[found.worst.index]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), max_size=20))
def test_a_tensor_is_equal_to_itself(values):
    one = torch.tensor(values, dtype=torch.float32)
    found = measure(one, one.double())
    assert not found.max_absolute
    assert (found.nan_mismatches, found.inf_mismatches) == (0, 0)


def test_statistics_of_a_tensor():
    found = metrics.statistics(torch.tensor([1.0, -3.0, NAN, INF]))
    assert (found.minimum, found.maximum, found.mean, found.nan, found.inf) == (-3, 1, -1, 1, 1)
    assert found.norm == pytest.approx(math.sqrt(10))
    assert metrics.statistics(torch.zeros(0)).norm is None
