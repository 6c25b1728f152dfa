"""Small repositories: each ``before`` must become exactly its ``after``."""

from __future__ import annotations

import filecmp
from pathlib import Path

import pytest

from cuda2npu.cli.main import run

FIXTURES = sorted(path for path in (Path(__file__).parent / "fixtures").iterdir() if path.is_dir())


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.name)
def test_fixture(fixture: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(["convert", str(fixture / "before"), "-o", str(out), "--quiet"]) == 0
    expected = files(fixture / "after")
    assert [name for name in files(out) if not name.startswith("cuda2npu-report/")] == expected
    _, different, errors = filecmp.cmpfiles(out, fixture / "after", expected, shallow=False)
    assert (different, errors) == ([], [])


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.name)
def test_converting_again_changes_nothing(fixture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", str(fixture / "after"), "--diff", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
