"""The self-test: the shipped proof that faults are found and that right runs aren't accused."""

from __future__ import annotations

import pytest

from cuda2npu.verify.comparison import Verdict
from cuda2npu.verify.selftest import run_self_test, table
from cuda2npu.verify.selftest.faults import FAULTS
from cuda2npu.verify.selftest.models import MODELS


@pytest.fixture(scope="module")
def outcomes():
    return run_self_test("cpu", ("Recurrent",))


def test_every_fault_is_found_and_nobody_else_is_blamed(outcomes):
    assert [outcome for outcome in outcomes if not outcome.good] == []
    planted = {fault.name for fault in FAULTS if "Recurrent" in fault.places}
    assert planted <= {outcome.what for outcome in outcomes if outcome.verdict is Verdict.FAIL}
    assert all(outcome.blamed == outcome.expected for outcome in outcomes)


def test_right_runs_of_every_type_pass(outcomes):
    right = [outcome for outcome in outcomes if not outcome.expected]
    assert {outcome.dtype for outcome in right} == {"float32", "float16", "bfloat16"}
    assert {outcome.verdict for outcome in right} == {Verdict.PASS}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_table_has_a_line_for_each(outcomes, lang):
    lines = list(table(outcomes, lang))
    assert len(lines) == len(outcomes)
    assert all("Recurrent" in line for line in lines)


def test_faults_are_planted_in_every_model():
    for fault in FAULTS:
        assert set(fault.places) <= set(MODELS)
        assert fault.culprit(next(iter(fault.places)))
    assert {name for fault in FAULTS for name in fault.places} == set(MODELS)


@pytest.mark.soak
def test_the_whole():
    outcomes = run_self_test("cpu")
    assert [outcome for outcome in outcomes if not outcome.good] == []
    assert {outcome.model for outcome in outcomes} == set(MODELS)
