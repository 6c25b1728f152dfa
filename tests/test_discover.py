from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from cuda2npu.discover import Entry, Kind, discover
from cuda2npu.rewrite.change import Status
from cuda2npu.roots import given_roots, named_roots, surroundings
from cuda2npu.settings import UsageError


def found(*sources: Path, exclude: tuple[str, ...] = ()) -> dict[str, Entry]:
    roots = named_roots([str(source) for source in sources])
    entries = list(discover(roots, exclude))
    by_path = {entry.path: entry for entry in entries}
    assert len(by_path) == len(entries)
    return by_path


def test_kinds_and_order(tmp_path, write):
    write(tmp_path, {"b/z.py": "", "b/a.pyi": "", "b/gui.pyw": "", "a.py": "", "notes.txt": "", "B.PY": ""})
    (tmp_path / "empty").mkdir()
    entries = found(tmp_path)
    assert list(entries) == ["B.PY", "a.py", "notes.txt", "b", "b/a.pyi", "b/gui.pyw", "b/z.py", "empty"]
    python = [path for path, entry in entries.items() if entry.kind is Kind.PYTHON]
    assert python == ["B.PY", "a.py", "b/a.pyi", "b/gui.pyw", "b/z.py"]
    assert entries["notes.txt"].kind is Kind.DATA
    assert entries["empty"].kind is Kind.FOLDER


def test_a_script_without_suffix_is_known_by_its_first_line(tmp_path, write):
    write(
        tmp_path, {"train": "#!/usr/bin/env python3\n", "build": "#!/bin/sh\npython x\n", "LICENSE": "python"}
    )
    assert [path for path, entry in found(tmp_path).items() if entry.kind is Kind.PYTHON] == ["train"]


def test_a_job_that_is_written_in_python_is_python(tmp_path, write):
    python, shell = "#!/usr/bin/env python3\nimport torch\n", "#!/bin/bash\npython x\n"
    write(
        tmp_path, {"a.sbatch": python, "b.sh": python, "c.sh": shell, "d.txt": python, "e.sh": "python x\n"}
    )
    assert [p for p, entry in found(tmp_path).items() if entry.kind is Kind.PYTHON] == ["a.sbatch", "b.sh"]


def test_version_control_caches_and_reports_are_left_out(tmp_path, write):
    caches = "__pycache__ .mypy_cache .ruff_cache .pytest_cache .tox .nox .eggs node_modules"
    folders = [".git", ".hg", ".svn", ".bzr", "cuda2npu-report", *caches.split()]
    write(tmp_path, {"pkg/b.py": "", ".github/c.py": "", **{f"pkg/{name}/a.py": "" for name in folders}})
    assert list(found(tmp_path)) == [".github", ".github/c.py", "pkg", "pkg/b.py"]


def test_the_git_file_of_a_worktree_is_left_out(tmp_path, write):
    write(tmp_path, {".git": "gitdir: elsewhere\n", ".gitignore": ""})
    assert list(found(tmp_path)) == [".gitignore"]


def test_a_virtual_environment_is_one_by_its_configuration(tmp_path, write):
    write(tmp_path, {"env/pyvenv.cfg": "", "env/lib/a.py": "", "venv/env.py": ""})
    assert list(found(tmp_path)) == ["venv", "venv/env.py"]


def test_what_was_asked_for_by_name_is_never_left_out(tmp_path, write):
    write(tmp_path, {".tox/pyvenv.cfg": "", ".tox/a.py": ""})
    assert "a.py" in found(tmp_path / ".tox")
    assert found(tmp_path / ".tox" / "a.py")["a.py"].kind is Kind.PYTHON


def test_a_named_file_that_may_mention_cuda_is_looked_at(tmp_path, write):
    write(tmp_path, {"run.sh": "cuda"})
    entry = found(tmp_path / "run.sh")["run.sh"]
    assert (entry.kind, entry.status) == (Kind.DATA, None)


def test_a_named_file_that_is_not_python_is_skipped(tmp_path, write):
    write(tmp_path, {"notes.txt": "cuda"})
    entry = found(tmp_path / "notes.txt")["notes.txt"]
    assert (entry.status, entry.reason) == (Status.SKIPPED, "not a Python file")


def test_excluded_files_are_in_the_copy_but_not_converted(tmp_path, write):
    write(tmp_path, {"a.py": "", "third_party/b.py": "", "third_party/keep.py": "", "third_party/x.bin": ""})
    entries = found(tmp_path, exclude=("", "/third_party/*", "!keep.py"))
    assert entries["third_party/b.py"].kind is Kind.DATA
    assert entries["third_party/b.py"].status is Status.SKIPPED
    assert entries["third_party/b.py"].reason == "excluded by the pattern /third_party/*"
    assert entries["third_party/keep.py"].kind is Kind.PYTHON
    assert (entries["third_party/x.bin"].status, entries["third_party/x.bin"].reason) == (
        Status.UNCHANGED,
        "",
    )
    assert entries["a.py"].kind is Kind.PYTHON


def test_nothing_comes_back_from_an_excluded_folder(tmp_path, write):
    write(tmp_path, {"old/deep/a.py": ""})
    assert found(tmp_path, exclude=("old/", "!a.py"))["old/deep/a.py"].status is Status.SKIPPED


def test_patterns_may_be_relative_to_the_working_folder(tmp_path, write, monkeypatch):
    write(tmp_path, {"repo/pkg/a.py": "", "repo/b.py": ""})
    monkeypatch.chdir(tmp_path)
    entries = found(Path("repo"), exclude=("/repo/pkg",))
    assert [path for path, entry in entries.items() if entry.status] == ["pkg/a.py"]


def test_a_wrong_pattern_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match=r"--exclude: not a pattern as in \.gitignore"):
        found(tmp_path, exclude=("!",))


def test_links(tmp_path, write):
    src = write(tmp_path / "src", {"a.py": "", "pkg/b.py": ""})
    write(tmp_path, {"outside.py": ""})
    for name, target in {
        "inside.py": "a.py",
        "absolute.py": str(src / "pkg" / "b.py"),
        "over_the_top.py": "../src/a.py",
        "folder": "pkg",
        "dangling": "gone.py",
        "out.py": "../outside.py",
        "loop": "loop",
        "pkg/up": "..",
    }.items():
        (src / name).symlink_to(target)
    entries = {path: entry for path, entry in found(src).items() if entry.kind is Kind.LINK}
    assert {path: entry.link for path, entry in entries.items()} == {
        "inside.py": "a.py",
        "absolute.py": "pkg/b.py",
        "over_the_top.py": "a.py",
        "folder": "pkg",
        "dangling": "gone.py",
        "out.py": "../outside.py",
        "loop": "loop",
        "pkg/up": "..",
    }
    failed = {path: entry.reason for path, entry in entries.items() if entry.status is Status.FAILED}
    assert set(failed) == {"out.py", "loop"}
    assert "leads out of the tree, to ../outside.py" in failed["out.py"]


def test_an_excluded_link_may_lead_anywhere(tmp_path):
    (tmp_path / "data").symlink_to("/")
    assert found(tmp_path, exclude=("data",))["data"].status is None


def test_a_link_given_by_name_is_followed(tmp_path, write):
    write(tmp_path, {"real/a.py": ""})
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "link.py").symlink_to("real/a.py")
    assert list(found(tmp_path / "link")) == ["a.py"]
    assert found(tmp_path / "link.py")["a.py"].source == str(tmp_path / "real" / "a.py")


def test_pipes_and_sockets_are_skipped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    os.mkfifo("pipe.py")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    entries = found(tmp_path)
    assert {path: (entry.kind, entry.status) for path, entry in entries.items()} == {
        "pipe.py": (Kind.NOTHING, Status.SKIPPED),
        "socket": (Kind.NOTHING, Status.SKIPPED),
    }


def test_a_huge_file_fails_unless_it_is_data(tmp_path):
    for name in ("huge.py", "weights.bin"):
        with (tmp_path / name).open("wb") as file:
            file.truncate((50 << 20) + 1)
    entries = found(tmp_path)
    assert entries["huge.py"].status is Status.FAILED
    assert entries["huge.py"].reason.startswith("50 MB: source above 50 MB is not read")
    assert entries["weights.bin"].status is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_folder_fails(tmp_path, write):
    write(tmp_path, {"locked/a.py": "", "b.py": ""})
    (tmp_path / "locked").chmod(0)
    try:
        entries = found(tmp_path)
    finally:
        (tmp_path / "locked").chmod(0o755)
    assert entries["locked"].reason == "can't be read: Permission denied"
    assert entries["b.py"].kind is Kind.PYTHON


def test_a_file_that_vanishes_after_its_folder_was_read(tmp_path, write):
    write(tmp_path, {"a.py": "", "b/c.py": ""})
    entries = discover(named_roots([str(tmp_path)]))
    assert next(entries).path == "a.py"
    (tmp_path / "b" / "c.py").unlink()
    (tmp_path / "b").rmdir()
    assert [(entry.path, entry.reason) for entry in entries] == [
        ("b", "can't be read: No such file or directory")
    ]


def test_several_sources_each_under_its_name(tmp_path, write):
    write(tmp_path, {"one/a.py": "", "two/a.py": "", "b.py": ""})
    entries = found(tmp_path / "one", tmp_path / "two", tmp_path / "b.py")
    assert list(entries) == ["one", "one/a.py", "two", "two/a.py", "b.py"]


def test_sources_must_not_overwrite_each_other(tmp_path, write):
    write(tmp_path, {"x/pkg/a.py": "", "y/pkg/a.py": ""})
    with pytest.raises(UsageError, match="have the same name"):
        found(tmp_path / "x" / "pkg", tmp_path / "y" / "pkg")
    with pytest.raises(UsageError, match="lies inside"):
        found(tmp_path / "x" / "pkg", tmp_path / "x")


def test_paths_as_given(tmp_path, write, monkeypatch):
    write(tmp_path, {"here/pkg/a.py": "", "there/b.py": ""})
    monkeypatch.chdir(tmp_path / "here")
    given = ["./pkg", str(tmp_path / "here" / "pkg" / "a.py"), "../there", str(tmp_path / "there" / "b.py")]
    paths = [entry.path for entry in discover(given_roots(given))]
    assert paths == ["pkg", "pkg/a.py", "../there", "../there/b.py"]  # nothing twice
    assert [root.name for root in given_roots([".", str(tmp_path / "there")])] == [
        "",
        str(tmp_path / "there"),
    ]


def test_a_source_that_is_missing(tmp_path):
    with pytest.raises(UsageError, match=r"gone\.py: there is no such file or folder"):
        given_roots([str(tmp_path / "gone.py")])


def test_the_project_around_single_files(tmp_path, write, monkeypatch):
    write(tmp_path, {"repo/pyproject.toml": "", "repo/pkg/a.py": "", "repo/b.py": "", "lone/c.py": ""})
    monkeypatch.chdir(tmp_path)
    around = surroundings(given_roots(["repo/pkg/a.py", "lone/c.py"]))
    assert [(root.path, root.name) for root in around] == [(tmp_path / "repo", "repo")]
    assert surroundings(given_roots(["repo/pkg"])) == []
    monkeypatch.chdir(tmp_path / "repo")
    assert [root.name for root in surroundings(given_roots(["pkg/a.py"]))] == [""]
    monkeypatch.chdir(tmp_path / "lone")
    assert surroundings(given_roots(["../repo/b.py"])) == []
