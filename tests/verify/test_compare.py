"""Comparing captures, rule by rule."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from made_captures import Made

from cuda2npu.verify.compare import metrics
from cuda2npu.verify.compare.compare import compare
from cuda2npu.verify.comparison import Verdict
from cuda2npu.verify.records import Key, Kind
from cuda2npu.verify.store import CaptureError

PASS, WARN, FAIL, INCOMPARABLE = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.INCOMPARABLE
X = torch.randn(64, 64, generator=torch.Generator().manual_seed(0))
NOISE = torch.randn(64, 64, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def made(tmp_path):
    """Return a function that begins a capture with one step."""
    count = iter(range(100))
    return lambda **header: Made(tmp_path / str(next(count)), **header).step()


def of_output(made, one, other, **options):
    """Compare two outputs of a module with equal inputs."""
    sides = [made().input("Net", X).output("Net", value).done() for value in (one, other)]
    return compare(*sides, **options)


def last(comparison):
    row = comparison.rows[-1]
    return row.verdict, row.rule


def test_equal_captures_pass(made):
    found = of_output(made, X, X)
    assert found.verdict is PASS
    assert [row.rule for row in found.rows] == ["exact", "exact"]
    assert found.first is None
    assert found.counts[PASS] == 2


def test_rounding_passes_and_scale_does_not(made):
    found = of_output(made, X, X * (1 + 2**-23 * NOISE))
    assert (found.verdict, *last(found)) == (PASS, PASS, "relative-norm")
    found = of_output(made, X, X * 1.01)
    assert (found.verdict, *last(found)) == (FAIL, FAIL, "norm-ratio")
    assert "1.01" in found.rows[-1].message
    assert found.first.name == "Net"


def test_a_softmax_scaled_by_a_third_does_not_pass(made):
    """Cosine and absolute error take it for right."""
    soft = torch.softmax(X / 8, -1)
    assert of_output(made, soft, soft * 1.3, criterion="guide").verdict is PASS
    assert of_output(made, soft, soft * 1.3).verdict is FAIL


def test_a_correct_matmul_with_results_near_zero_passes(made):
    one, other = X.repeat(4, 4), NOISE.repeat(4, 4).roll(3, 0)
    exact = one.double() @ other.double()
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        right = (one.to(dtype) @ other.to(dtype)).to(dtype)
        assert of_output(made, exact.to(dtype), right).verdict is PASS


@pytest.mark.parametrize("change", ["zeroed", "swapped", "shifted"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_misplaced_elements_fail_in_every_type(made, change, dtype):
    other = X.clone()
    if change == "zeroed":
        other.view(-1)[::100] = 0
    elif change == "swapped":
        other[:, [0, 1]] = other[:, [1, 0]]
    else:
        other = other.roll(1, 0)
    assert of_output(made, X.to(dtype), other.to(dtype)).verdict is FAIL


def test_shape_and_dtype(made):
    assert last(of_output(made, X, X[:32])) == (FAIL, "shape")
    assert last(of_output(made, X, X.half())) == (FAIL, "dtype")
    assert last(of_output(made, X, None)) == (FAIL, "shape")
    assert last(of_output(made, None, None)) == (PASS, "exact")


def test_a_golden_has_types_of_its_own(made):
    golden = made(dtype="float64").input("Net", X.double()).output("Net", X.double()).done()
    wrong = made().input("Net", X).output("Net", X.half()).done()
    benchmark = made().input("Net", X).output("Net", X).done()
    alone = compare(golden, wrong)
    assert alone.verdict is PASS
    assert any("golden in float64" in english for english, _ in alone.notes)
    assert last(compare(golden, wrong, benchmark=benchmark)) == (FAIL, "dtype")


def test_the_mode_of_a_module(made):
    sides = [made().input("Net", X, training=mode).output("Net", X, training=mode) for mode in (False, True)]
    found = compare(*(side.done() for side in sides))
    assert {row.rule for row in found.rows} == {"mode"}
    assert found.verdict is FAIL
    assert "training" in found.first.reason


def test_nan_and_infinity(made):
    wrong = X.clone()
    wrong[3, 4] = math.nan
    found = of_output(made, X, wrong)
    assert last(found) == (FAIL, "nan")
    assert last(of_output(made, wrong, wrong)) == (PASS, "relative-norm")
    wrong[3, 4] = math.inf
    assert last(of_output(made, X, wrong)) == (FAIL, "overflow")
    nothing = torch.full((4,), math.nan)
    assert last(of_output(made, nothing, nothing)) == (INCOMPARABLE, "nan")


def test_an_overflow_of_the_benchmark_too_is_no_fault(made):
    over = X.clone()
    over[0, 0] = math.inf
    sides = [made().input("Net", X).output("Net", value).done() for value in (X, over, over)]
    assert last(compare(*sides[:2], benchmark=sides[2])) == (WARN, "overflow")


def test_integers_are_exact(made):
    one = torch.arange(10)
    assert last(of_output(made, one, one)) == (PASS, "exact")
    assert last(of_output(made, one, one.flip(0))) == (FAIL, "exact")


def test_empty_tensors_pass(made):
    assert of_output(made, torch.zeros(0, 3), torch.zeros(0, 3)).verdict is PASS


def test_what_is_missing_is_never_a_pass(made):
    more = made().input("Net", X).output("Net.extra", X).output("Net", X).done()
    less = made().input("Net", X).output("Net", X).done()
    for found in (compare(more, less), compare(less, more)):
        row = next(row for row in found.rows if row.rule == "unmatched")
        assert (found.verdict, row.verdict) == (INCOMPARABLE, INCOMPARABLE)
        assert row.key.name == "Net.extra"
        assert "called otherwise" in row.message


def test_why_something_is_missing(made):
    twice = made().input("Net", X).output("Net", X).output("Net", X, call=1).done()
    once = made().input("Net", X).output("Net", X).done()
    other = made().input("Net", X, path="x").output("Net", X).done()
    assert "called 1 times there" in compare(twice, once).rows[-1].message
    assert any("but x" in row.message for row in compare(once, other).rows)


def test_objects_that_could_not_be_recorded(made):
    sides = [made().input("Net", X).output("Net", None, dtype="Cache", note="unknown inside").done()] * 2
    assert last(compare(*sides)) == (INCOMPARABLE, "unknown")


def test_plain_values(made):
    def with_value(kind, value, **rest):
        return made().input("Net", X).output("Net", X).add(kind, "", value, **rest).done()

    def found(kind, one, other):
        return last(compare(with_value(kind, one), with_value(kind, other)))

    assert found(Kind.LOSS, 2.0, 2.0000001) == (PASS, "loss")
    assert found(Kind.LOSS, 2.0, 2.1) == (FAIL, "loss")
    assert found(Kind.LOSS, 2.0, math.nan) == (FAIL, "nan")
    assert found(Kind.LEARNING_RATE, 0.1, 0.1) == (PASS, "exact")
    assert found(Kind.LEARNING_RATE, 0.1, 0.1001) == (FAIL, "learning-rate")
    assert found(Kind.METRIC, 0.90, 0.901) == (PASS, "metric")
    assert found(Kind.METRIC, 0.90, 0.8) == (FAIL, "metric")
    assert found(Kind.RANDOM_STATE, "a", "b") == (WARN, "random-state")
    assert found(Kind.INPUT, True, False) == (FAIL, "exact")
    assert found(Kind.INPUT, "cuda:0", "npu:0") == (PASS, "exact")
    assert found(Kind.INPUT, "sum", "mean") == (FAIL, "exact")


def test_inputs_that_differ_prove_nothing(made):
    sides = [made().input("Net", value).output("Net", value * 2).done() for value in (X, NOISE)]
    found = compare(*sides)
    assert (found.verdict, found.first) == (INCOMPARABLE, None)
    assert "--like" in found.notes[0][0]
    assert "--like" in found.notes[0][1]


def test_inputs_that_differ_later_prove_nothing_from_then_on(made):
    def side(first, second):
        capture = made().input("Net", X).output("Net", first).step()
        return capture.input("Net", second).output("Net", second).done()

    found = compare(side(X, X), side(X, NOISE))
    assert (found.verdict, found.first) == (INCOMPARABLE, None)
    assert "step 1" in found.notes[0][0]
    found = compare(side(X, X), side(X * 2, NOISE))
    assert (found.verdict, found.first.step) == (FAIL, 0)


def test_statistics_find_what_they_can(made):
    def side(value):
        kept = metrics.statistics(value)
        return made().input("Net", X).output("Net", value, statistics=kept).done()

    assert last(compare(side(X), side(X))) == (PASS, "statistics")
    assert last(compare(side(X), side(X * 1.01))) == (FAIL, "statistics")
    whole = made().input("Net", X).output("Net", X * 1.3).done()
    assert last(compare(side(X), whole)) == (FAIL, "statistics")
    assert any("statistics" in english for english, _ in compare(side(X), side(X)).notes)


def test_noise_excuses_what_is_no_more_and_no_run_that_isnt_reproducible(made):
    def side(value):
        return made().input("Net", X).output("Net", value).done()

    small, large = X * (1 + 2e-6 * NOISE), X * (1 + 0.1 * NOISE)
    found = compare(side(X), side(small), repeat=side(X))
    assert last(found) == (PASS, "noise-floor")
    assert found.rows[-1].noise > 0
    assert last(compare(side(X), side(large), repeat=side(X))) == (INCOMPARABLE, "noise-floor")


def test_the_benchmark_decides_where_there_is_one(made):
    def side(error, **header):
        return made(**header).input("Net", X).output("Net", X * (1 + error * NOISE)).done()

    golden = made(dtype="float64").input("Net", X.double()).output("Net", X.double()).done()
    assert last(compare(golden, side(1e-3), benchmark=side(1e-3))) == (PASS, "benchmark-ratio")
    assert last(compare(golden, side(1e-3))) == (FAIL, "relative-norm")
    found = compare(golden, side(1e-3), benchmark=side(1e-5))
    assert last(found) == (FAIL, "benchmark-ratio")
    assert found.rows[-1].benchmark.rms < found.rows[-1].metrics.rms
    assert last(compare(golden, side(1e-9), benchmark=side(0))) == (PASS, "benchmark-ratio")


def test_records_of_one_tensor_are_judged_once(made):
    def side(value):
        capture = made().input("Net", X).output("Net.a", value)
        return capture.input("Net.b", value, same_as=1).output("Net.b", value).output("Net", value, same_as=3)

    found = compare(side(X).done(), side(X * 2).done())
    assert found.first.name == "Net.a"
    assert [row.verdict for row in found.rows] == [PASS, FAIL, FAIL, FAIL, FAIL]


def test_what_came_in_is_not_held_against_a_module(made):
    """An error that grows by and by accuses nobody, a jump accuses who made it."""
    one, other = made().input("Net", X), made().input("Net", X)
    for number in range(5):
        off = X * (1 + 1e-6 * (number + 1) * NOISE)
        one.input(f"Net.{number}", X).output(f"Net.{number}", X)
        other.input(f"Net.{number}", X if not number else off).output(f"Net.{number}", off)
    found = compare(one.done(), other.done())
    assert found.counts[FAIL] == 0
    assert found.rows[-1].added < 2e-6


def test_code_between_two_modules_is_blamed_with_its_line(made):
    def side(between):
        capture = made().input("Net", X, source="train.py:9").output("Net.a", X, source="net.py:4")
        capture.input("Net.b", between, source="net.py:7").output("Net.b", X, source="net.py:7")
        return capture.output("Net", X, source="train.py:9").done()

    found = compare(side(X), side(X.roll(1)))
    assert (found.first.name, found.first.source) == ("Net", "net.py:7")
    assert "Net.b" in found.first.reason
    assert "Net.b" in found.first.reason_zh


def test_a_backward_is_blamed_on_the_module_that_took_the_tensor(made):
    def side(gradient):
        capture = (
            made().input("Net", X).output("Net.a", X).input("Net.b", X, same_as=1).output("Net.b", NOISE)
        )
        capture.add(Kind.OUTPUT_GRADIENT, "Net.b", X)
        return capture.add(Kind.OUTPUT_GRADIENT, "Net.a", gradient).done()

    found = compare(side(X), side(X * 2))
    assert found.first.name == "Net.b"
    assert "backward" in found.first.reason


def test_the_optimizer_is_blamed_for_parameters(made):
    def side(parameter):
        capture = made().input("Net", X).output("Net", X).add(Kind.GRADIENT, "Net.weight", X)
        return capture.add(Kind.PARAMETER, "Net.weight", parameter).done()

    assert compare(side(X), side(X * 1.5)).first.name == "optimizer"


def test_steps_and_ends_that_differ(made):
    two = made().input("Net", X).output("Net", X).step().input("Net", X).output("Net", X).done()
    one = made().input("Net", X).output("Net", X).done()
    broken = made(complete=False, error="out of memory").input("Net", X).output("Net", X).done()
    found = compare(two, one)
    assert found.verdict is INCOMPARABLE
    assert any("common" in english for english, _ in found.notes)
    found = compare(one, broken)
    assert found.verdict is INCOMPARABLE
    assert any("out of memory" in english for english, _ in found.notes)


def test_nothing_in_common(tmp_path):
    empty = Made(tmp_path / "empty")
    empty.step()
    assert compare(empty.done(), empty.done()).verdict is INCOMPARABLE


def test_a_simulation_is_named(made):
    sides = [made(device=device).input("Net", X).output("Net", X).done() for device in ("cpu", "simulated")]
    assert any("simulated" in english for english, _ in compare(*sides).notes)


def test_curves(made):
    def side(*losses):
        capture = made()
        for number, loss in enumerate(losses):
            if number:
                capture.step()
            capture.input("Net", X).add(Kind.LOSS, "", loss)
        return capture.done()

    (curve,) = compare(side(3.0, 2.0), side(3.0)).curves
    assert (curve.name, curve.reference, curve.candidate) == ("loss", [3.0], [3.0])


def test_tf32_is_allowed_its_rounding_on_real_devices_only(made):
    flags = {"flags": {"npu.conv.allow_hf32": True}}
    rounded = X * (1 + 2**-11 * NOISE)

    def verdict(device):
        one = made().input("Net", X).output("Net", X).done()
        other = made(device=device, environment=flags).input("Net", X).output("Net", rounded).done()
        return compare(one, other).verdict

    assert (verdict("npu"), verdict("simulated")) == (PASS, FAIL)


def test_a_damaged_capture_is_an_error(made):
    capture = made().input("Net", X).output("Net", X).done()
    (shard,) = capture.folder.glob("step-*/*.safetensors")
    shard.write_bytes(shard.read_bytes()[:-100])
    with pytest.raises(CaptureError, match="damaged"):
        compare(capture, capture)


def test_an_unknown_criterion(made):
    capture = made().done()
    with pytest.raises(ValueError, match="guide"):
        compare(capture, capture, criterion="feeling")


def test_rows_say_what_they_are_about(made):
    row = of_output(made, X, X * 1.3).rows[-1]
    assert row.key == Key(Kind.OUTPUT, "Net")
    assert (row.dtype, row.shape) == (("float32", "float32"), ((64, 64), (64, 64)))
    assert row.metrics.norm_ratio == pytest.approx(1.3)
    assert replace(row, step=0) == row
