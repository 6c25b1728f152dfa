"""What a run says of its operators, on one line."""

from __future__ import annotations

from collections.abc import Sequence

from cuda2npu.messages import say
from cuda2npu.verify.operators.classes import Operator, State

_NAMED = 5  # of each sort; the JSON has all


def run_line(operators: Sequence[Operator], version: str, lang: str) -> str:
    """Return what the target lacks of a run's operators.

    :param lang: ``en`` or ``zh``.
    """
    names = {
        state.value: _listed(sorted({each.full_name for each in operators if each.state is state}), lang)
        for state in (State.NONE, State.CPU)
    }
    return say("inventory_lacks", lang, version=version, **names)


def _listed(names: Sequence[str], lang: str) -> str:
    if not names:
        return say("inventory_none_of_them", lang)
    more = len(names) - _NAMED
    return ", ".join([*names[:_NAMED], *([say("inventory_more", lang, count=more)] if more > 0 else [])])
