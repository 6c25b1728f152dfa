"""How far a conversion came: it builds, computes forward and backward, trains, does on the validation set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cuda2npu.verify.comparison import Comparison, Level, Row, Verdict
from cuda2npu.verify.records import Kind

UNMATCHED = "unmatched"  # the rule by which a record has no counterpart

_FORWARD = (Kind.INPUT, Kind.OUTPUT, Kind.BUFFER)
_BACKWARD = (Kind.INPUT_GRADIENT, Kind.OUTPUT_GRADIENT, Kind.GRADIENT)
# What could not be compared is worse than a warning: nobody knows what it hides.
_WORST_FIRST = (Verdict.FAIL, Verdict.INCOMPARABLE, Verdict.WARN, Verdict.PASS)


@dataclass(frozen=True)
class Outcome:
    """How the candidate's run went.

    :param is_built: whether it came as far as to have a model.
    :param error: why it ended before its time; "" if it didn't.
    :param training_steps: so many steps train, those behind them validate; None if all train.
    :param is_script: whether the program decides itself how far it goes.
    """

    is_built: bool
    error: str = ""
    training_steps: int | None = None
    is_script: bool = False


def worst(verdicts: Iterable[Verdict]) -> Verdict | None:
    """Return the verdict that counts for the whole; None if there is none."""
    found = set(verdicts)
    return next((verdict for verdict in _WORST_FIRST if verdict in found), None)


def with_levels(comparison: Comparison, levels: Sequence[str], outcome: Outcome) -> Comparison:
    """Return ``comparison`` with the verdict of each level; none passes without something that was compared.

    Levels behind one that fails are judged by what was computed. The first that isn't complete fails with
    the error that ended the run, and those behind it are not reached.

    :param levels: those that were tried, in order.
    """
    found: list[Level] = []
    ended = False
    for name in levels:
        if ended:
            found.append(Level(name, None))
            continue
        rows = [row for row in comparison.rows if _level_of(row, outcome.training_steps) == name]
        is_complete = outcome.is_built if name == "build" else _is_complete(rows)
        ended = bool(outcome.error) and not is_complete
        if ended:
            found.append(Level(name, Verdict.FAIL, outcome.error, outcome.error))
        elif name == "build":
            found.append(Level(name, Verdict.PASS))
        elif outcome.is_script and not rows:
            found.append(Level(name, None, "the script doesn't do this", "脚本不包含此项"))
        else:
            found.append(_judged(name, rows))
    if outcome.error and not ended:  # every level has its rows, and yet the run broke off
        found[-1] = Level(levels[-1], Verdict.FAIL, outcome.error, outcome.error)
    verdicts = [level.verdict for level in found if level.verdict is not None]
    if len(levels) > 1:  # else nothing was to be compared
        verdicts.append(comparison.verdict)
    verdict = worst(verdicts) or comparison.verdict
    return replace(comparison, levels=tuple(found), verdict=verdict)


def _judged(name: str, rows: Sequence[Row]) -> Level:
    verdict = worst(row.verdict for row in rows)
    if verdict is None:
        return Level(name, Verdict.INCOMPARABLE, "nothing was recorded", "没有记录到任何内容")
    failed, incomparable, warned, passed = (sum(row.verdict is v for row in rows) for v in _WORST_FIRST)
    return Level(
        name,
        verdict,
        f"{passed} pass, {warned} warn, {failed} fail, {incomparable} incomparable",
        f"通过 {passed}，警告 {warned}，不通过 {failed}，无法比较 {incomparable}",
    )


def _is_complete(rows: Sequence[Row]) -> bool:
    return bool(rows) and all(row.rule != UNMATCHED for row in rows)


def _level_of(row: Row, training_steps: int | None) -> str:
    """Return the level that a row is evidence for; "" for none."""
    if row.key.kind is Kind.RANDOM_STATE:
        return ""
    if training_steps is not None and row.step >= training_steps:
        return "evaluate"
    if row.step == 0 and row.key.kind in _FORWARD:
        return "forward"
    if row.step == 0 and row.key.kind in _BACKWARD:
        return "backward"
    return "train"
