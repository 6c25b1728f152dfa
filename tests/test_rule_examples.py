"""Every example of every rule: changed as it says, kept, or reported; converting again changes nothing."""

from __future__ import annotations

import pytest

from cuda2npu.catalog.load import load_catalog
from cuda2npu.catalog.rules import Rule
from cuda2npu.rule_tests import failures


@pytest.mark.parametrize("rule", [pytest.param(r, id=r.code) for r in load_catalog().rules.values()])
def test_examples(rule: Rule) -> None:
    assert list(failures([rule], ())) == []
