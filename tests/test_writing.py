from __future__ import annotations

import os
from pathlib import Path

import pytest

from cuda2npu.discover import Entry, Kind, discover
from cuda2npu.rewrite.change import FileResult, Status
from cuda2npu.roots import named_roots
from cuda2npu.settings import UsageError
from cuda2npu.writing import Copy, leave, prepare, replacing, rewrite_in_place

CHANGED = FileResult("a.py", Status.CHANGED, data=b"new")
OLD = 1_000_000_000  # a time long ago


def copied(source: Path, out: Path, **results: FileResult) -> None:
    out.mkdir(exist_ok=True)
    copy = Copy(out)
    for entry in discover(named_roots([str(source)])):
        copy(entry, results.get(Path(entry.path).stem, FileResult(entry.path, Status.UNCHANGED)))
    copy.close()


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt, SystemExit])
def test_replacing_leaves_the_old_file_after_an_error(tmp_path, error):
    target = tmp_path / "a.py"
    target.write_text("old")

    def write() -> None:
        with replacing(target) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        write()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.py", "old")]


def test_replacing_works_for_the_longest_name(tmp_path):
    target = tmp_path / ("n" * 252 + ".py")
    with replacing(target) as temporary:
        temporary.write_text("new")
    assert target.read_text() == "new"


def test_in_place_keeps_permission_bits(tmp_path):
    target = tmp_path / "a.py"
    target.write_text("old")
    target.chmod(0o751)
    rewrite_in_place(Entry("a.py", str(target), Kind.PYTHON), CHANGED)
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o7777 == 0o751
    assert list(tmp_path.iterdir()) == [target]


def test_in_place_writes_nothing_but_changes(tmp_path):
    target = tmp_path / "a.py"
    target.write_text("old")
    os.utime(target, (OLD, OLD))
    entry = Entry("a.py", str(target), Kind.PYTHON)
    for status in (Status.UNCHANGED, Status.FAILED, Status.SKIPPED):
        rewrite_in_place(entry, FileResult("a.py", status, data=b"new"))
    leave(entry, CHANGED)
    assert target.read_text() == "old"
    assert target.stat().st_mtime == OLD


@pytest.mark.parametrize("failing", ["fsync", "chmod", "replace"])
def test_in_place_leaves_the_old_file_when_the_disk_fails(tmp_path, monkeypatch, failing):
    target = tmp_path / "a.py"
    target.write_text("old")

    def fail(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(OSError, match="No space left"):
        rewrite_in_place(Entry("a.py", str(target), Kind.PYTHON), CHANGED)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.py", "old")]


def test_a_copy_is_complete(tmp_path, write):
    src = write(tmp_path / "src", {"a.py": "old", "b.py": "same", "data/x.bin": b"\0\xff", "run.sh": "echo"})
    (src / "a.py").chmod(0o755)
    (src / "run.sh").chmod(0o740)
    (src / "empty" / "deep").mkdir(parents=True)
    (src / "link").symlink_to("data/x.bin")
    (src / "folder_link").symlink_to("data")
    (src / "out").symlink_to("/etc")
    for name in ("a.py", "b.py", "run.sh"):
        os.utime(src / name, (OLD, OLD))
    (src / "data").chmod(0o555)
    out = tmp_path / "out"
    copied(src, out, a=CHANGED)
    assert {p.relative_to(out) for p in out.rglob("*")} == {p.relative_to(src) for p in src.rglob("*")}
    assert (out / "a.py").read_text() == "new"
    assert (out / "a.py").stat().st_mode & 0o777 == 0o755
    assert (out / "a.py").stat().st_mtime > OLD
    for name, mode in {"b.py": 0o644, "run.sh": 0o740}.items():
        assert (out / name).read_bytes() == (src / name).read_bytes()
        assert (out / name).stat().st_mtime == OLD
        assert (out / name).stat().st_mode & 0o777 == mode
    assert (out / "data" / "x.bin").read_bytes() == b"\0\xff"
    assert (out / "data").stat().st_mode & 0o777 == 0o555
    links = ("link", "folder_link", "out")
    assert [os.readlink(out / link) for link in links] == ["data/x.bin", "data", "/etc"]


def test_a_copy_never_writes_through_what_is_there(tmp_path, write):
    src = write(tmp_path / "src", {"a.py": "", "pkg/b.py": "b", "was_file/c.py": "c"})
    precious = write(tmp_path / "precious", {"a.py": "precious"})
    out = write(tmp_path / "out", {"was_file": "", "other.py": "other"})
    (out / "a.py").symlink_to(precious / "a.py")
    (out / "pkg").symlink_to(precious)
    copied(src, out, a=CHANGED)
    assert [path.name for path in precious.iterdir()] == ["a.py"]
    assert (precious / "a.py").read_text() == "precious"
    assert (out / "a.py").read_text() == "new"
    assert not (out / "a.py").is_symlink()
    assert (out / "pkg" / "b.py").read_text() == "b"
    assert (out / "was_file" / "c.py").read_text() == "c"
    assert (out / "other.py").read_text() == "other"


def refused(out: Path, source: Path, force: bool = False) -> str:
    with pytest.raises(UsageError) as raised:
        prepare(out, named_roots([str(source)]), force)
    return str(raised.value)


def test_where_a_copy_may_not_go(tmp_path, write):
    src = write(tmp_path / "src", {"a.py": "", "pkg/b.py": ""})
    full = write(tmp_path / "full", {"x": ""})
    (tmp_path / "alias").symlink_to(src)
    assert "is the source itself" in refused(src, src)
    assert "is the source itself" in refused(tmp_path / "alias", src, force=True)
    assert "lies inside the source" in refused(src / "out", src, force=True)
    assert not (src / "out").exists()
    assert "lies inside" in refused(tmp_path, src, force=True)
    assert "lies inside" in refused(src, src / "a.py", force=True)
    assert "is a file" in refused(full / "x", src)
    assert "Not a directory" in refused(full / "x" / "y", src)
    assert "is not empty" in refused(full, src)
    prepare(full, named_roots([str(src)]), force=True)
    prepare(tmp_path / "new" / "deep", named_roots([str(src)]), force=False)
    assert (tmp_path / "new" / "deep").is_dir()
