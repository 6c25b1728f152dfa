"""``cuda2npu compare`` as a user meets it."""

from __future__ import annotations

import json

import pytest
import torch
from made_captures import Made

X = torch.randn(16, 16, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def captures(tmp_path):
    """Return the folders of a reference, an equal run, a wrong one and one with other inputs."""

    def make(name, inputs, output):
        made = Made(tmp_path / name).step().input("Net", inputs).input("Net.conv", inputs, same_as=0)
        made.output("Net.conv", output, source="net.py:7").output("Net", output, same_as=2).done()
        return tmp_path / name

    return make("ref", X, X), make("same", X, X), make("wrong", X, X * 2), make("other", X + 1, X)


def test_the_exit_code_tells(cli, captures):
    reference, same, wrong, other = captures
    assert [cli("compare", reference, each).code for each in (same, wrong, other)] == [0, 1, 2]
    ran = cli("compare", "-q", reference, wrong)
    assert (ran.code, ran.out, ran.err) == (1, "", "")


def test_the_verdict_comes_first(cli, captures):
    lines = cli("compare", captures[0], captures[2]).out.splitlines()
    assert lines[0] == "Verdict: FAIL"
    assert "First divergence, step 0: Net.conv (Module)" in lines
    assert "  net.py:7" in lines
    assert any(line.split()[:4] == ["fail", "0", "Net.conv", "output"] for line in lines)


def test_it_speaks_chinese(cli, captures):
    text = cli("compare", "--lang", "zh", captures[0], captures[2]).out
    assert text.startswith("结论：不通过")
    assert "首个偏差，第 0 步：Net.conv" in text
    assert "Verdict" not in text


def test_the_json_is_whole(cli, captures):
    ran = cli("compare", "--format", "json", captures[0], captures[2])
    found = json.loads(ran.out)
    assert (found["verdict"], found["first"]["name"], found["counts"]["fail"]) == ("fail", "Net.conv", 2)


def test_the_report_is_written(cli, captures, tmp_path):
    assert cli("compare", captures[0], captures[1], "-o", tmp_path / "out").code == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"comparison.json", "report.html", "compare_result.csv"}


def test_the_simple_rule(cli, captures):
    assert "guide" in cli("compare", "--criterion", "guide", captures[0], captures[2]).out


def test_ranks_are_compared_one_by_one(cli, tmp_path):
    for side in ("a", "b"):
        for rank in range(2):
            wrong = side == "b" and rank == 1
            made = Made(tmp_path / side / f"rank-{rank}", rank=rank, ranks=2).step()
            made.input("Net", X).output("Net", X * 2 if wrong else X).done()
    ran = cli("compare", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "out")
    assert ran.code == 1
    assert [line for line in ran.out.splitlines() if line.startswith(("rank", "Verdict"))] == [
        "rank 0",
        "Verdict: pass",
        "rank 1",
        "Verdict: FAIL",
    ]
    assert (tmp_path / "out/rank-1/report.html").is_file()
    alone = cli("compare", tmp_path / "a", tmp_path / "b/rank-0")
    assert (alone.code, "--nproc" in alone.err) == (2, True)


@pytest.mark.parametrize("what", ["missing", "foreign", "damaged"])
def test_bad_captures_are_one_line(cli, captures, tmp_path, what):
    bad = tmp_path / what
    if what == "foreign":
        bad.mkdir()
        (bad / "capture.json").write_text('{"schema": "another/1"}')
    elif what == "damaged":
        bad = captures[1]
        (bad / "step-000000/records.jsonl").write_text("{")
    ran = cli("compare", captures[0], bad)
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 1
    assert str(bad) in ran.err
