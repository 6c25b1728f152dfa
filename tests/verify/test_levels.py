"""How far a conversion came, by what was compared and by how its run ended."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from cuda2npu.verify.comparison import Comparison, Row, Side, Verdict
from cuda2npu.verify.levels import Outcome, with_levels, worst
from cuda2npu.verify.records import Key, Kind

LEVELS = ("build", "forward", "backward", "train", "evaluate")


def row(kind: Kind, verdict: Verdict = Verdict.PASS, step: int = 0, rule: str = "") -> Row:
    return Row(step, 0, Key(kind, "Net"), verdict, rule)


TRAINED = Outcome(True, training_steps=2)


def levels(*rows: Row, outcome: Outcome = TRAINED) -> list[tuple[str, Verdict | None]]:
    side = Side("", "", "cpu", "")
    found = with_levels(Comparison(Verdict.PASS, "table", side, side, rows), LEVELS, outcome)
    return [(level.name, level.verdict) for level in found.levels]


ALL = (row(Kind.OUTPUT), row(Kind.GRADIENT), row(Kind.LOSS), row(Kind.OUTPUT, step=2))


def test_each_level_is_judged_by_its_own_rows():
    failed = row(Kind.LOSS, Verdict.FAIL, step=1)
    assert [verdict for _, verdict in levels(*ALL, failed)] == [
        Verdict.PASS,
        Verdict.PASS,
        Verdict.PASS,
        Verdict.FAIL,
        Verdict.PASS,
    ]


def test_nothing_recorded_is_no_pass():
    assert dict(levels(*ALL[:3]))["evaluate"] is Verdict.INCOMPARABLE


def test_an_error_fails_the_first_level_that_is_not_complete():
    missing = row(Kind.GRADIENT, Verdict.INCOMPARABLE, rule="unmatched")
    found = levels(ALL[0], missing, outcome=Outcome(True, "it broke", 2))
    assert [verdict for _, verdict in found] == [Verdict.PASS, Verdict.PASS, Verdict.FAIL, None, None]


def test_an_error_behind_everything_fails_the_last_level():
    assert dict(levels(*ALL, outcome=Outcome(True, "it broke", 2)))["evaluate"] is Verdict.FAIL


def test_what_does_not_build_reaches_nothing():
    found = levels(*ALL, outcome=Outcome(False, "no module named x", 2))
    assert [verdict for _, verdict in found] == [Verdict.FAIL, None, None, None, None]


def test_the_whole_is_as_bad_as_its_worst_level():
    side = Side("", "", "cpu", "")
    found = with_levels(Comparison(Verdict.PASS, "table", side, side, ALL[:3]), LEVELS, Outcome(True))
    assert found.verdict is Verdict.INCOMPARABLE


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], None),
        ([Verdict.PASS, Verdict.WARN], Verdict.WARN),
        ([Verdict.WARN, Verdict.INCOMPARABLE], Verdict.INCOMPARABLE),
        ([Verdict.INCOMPARABLE, Verdict.FAIL], Verdict.FAIL),
    ],
)
def test_the_worst_of_several_verdicts(verdicts, expected):
    assert worst(verdicts) is expected
