from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from snapshots import snapshot

SOURCE = "import torch\n\nx = torch.ones(1).cuda()\n"
BROKEN = "import torch\nx = torch.ones(1).cuda(\n"


def report_of(folder: Path) -> dict:
    return json.loads((folder / "report.json").read_text())


def entry(report: dict, path: str) -> dict:
    (found,) = [each for each in report["files"] if each["path"] == path]
    return found


@pytest.fixture
def odd(tmp_path, write):
    """A tree with everything that real trees have in them, and files that can't be converted."""
    src = write(
        tmp_path / "src",
        {
            "plain.py": SOURCE,
            "empty.py": "",
            "no_newline.py": SOURCE.rstrip("\n"),
            "dos.py": SOURCE.replace("\n", "\r\n"),
            "bom.py": b"\xef\xbb\xbf" + SOURCE.encode(),
            "declared.py": f"# -*- coding: gbk -*-\n# 模型\n{SOURCE}".encode("gbk"),
            "undeclared.py": f"# 模型\n{SOURCE}".encode("gbk"),
            "broken.py": BROKEN,
            "old runs/größe (1).py": SOURCE,
            "data/weights.bin": bytes(range(256)),
            "run.sh": "#!/bin/sh\n",
            ".git/config": "[core]\n",
            "pkg/__pycache__/x.pyc": "",
        },
    )
    (src / "run.sh").chmod(0o755)
    (src / "plain.py").chmod(0o750)
    (src / "logs").mkdir()
    (src / "link.py").symlink_to("plain.py")
    (src / "loop").symlink_to("loop")
    (src / "outside").symlink_to("/etc/hostname")
    return src


FAILED = ["broken.py", "loop", "outside", "undeclared.py"]


def test_a_copy_is_converted_and_complete(odd, tmp_path, cli):
    before, out = snapshot(odd), tmp_path / "out"
    ran = cli("convert", odd, "-o", out)
    assert ran.code == 1
    assert snapshot(odd) == before
    report = report_of(out / "cuda2npu-report")
    assert sorted(each["path"] for each in report["files"] if each["status"] == "failed") == FAILED
    assert report["summary"]["failed"] == len(FAILED)
    after = snapshot(out)
    left_out = {".git/config", "pkg/__pycache__/x.pyc"}
    added = {"cuda2npu-report/report.json", "cuda2npu-report/changes.patch"}
    assert set(after) == set(before) - left_out | added
    changed = {path for path in set(before) & set(after) if before[path] != after[path]}
    whole = {"plain.py", "no_newline.py", "dos.py", "bom.py", "declared.py", "old runs/größe (1).py"}
    assert changed == whole
    assert all(b"torch.ones(1).npu()" in after[path] and b".cuda()" not in after[path] for path in changed)
    assert b"\r\n" in after["dos.py"]
    assert after["dos.py"].count(b"\n") == after["dos.py"].count(b"\r\n")
    assert after["bom.py"].startswith(b"\xef\xbb\xbfimport torch\n")
    assert after["declared.py"].decode("gbk").splitlines()[1] == "# 模型"
    assert not after["no_newline.py"].endswith(b"\n")
    assert (out / "plain.py").stat().st_mode & 0o777 == 0o750
    assert (out / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (out / "logs").is_dir()
    assert "changes.patch" in ran.out
    assert "broken.py" in ran.out
    assert "100" not in ran.out


def test_the_patch_turns_the_source_into_the_copy(odd, tmp_path, cli):
    out, again = tmp_path / "out", tmp_path / "again"
    cli("convert", odd, "-o", out)
    subprocess.run(["cp", "-a", odd, again], check=True)
    patch = out / "cuda2npu-report" / "changes.patch"
    subprocess.run(["git", "apply", "--unsafe-paths", f"--directory={again}", patch], cwd="/", check=True)
    copy = {path: data for path, data in snapshot(out).items() if not path.startswith("cuda2npu-report/")}
    assert {path: data for path, data in snapshot(again).items() if path in copy} == copy


def test_the_report_accounts_for_every_byte(odd, tmp_path, cli):
    out = tmp_path / "out"
    cli("convert", odd, "-o", out)
    changed = [each for each in report_of(out / "cuda2npu-report")["files"] if each["status"] == "changed"]
    assert changed
    for each in changed:
        data = (odd / each["path"]).read_bytes()
        bom = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
        text, parts, at = data[len(bom) :].decode(each["encoding"]), [], 0
        for change in each["changes"]:
            if change["applied"]:
                assert text[change["start"] : change["end"]] == change["before"]
                parts += [text[at : change["start"]], change["after"]]
                at = change["end"]
        assert (
            bom + "".join([*parts, text[at:]]).encode(each["encoding"]) == (out / each["path"]).read_bytes()
        )


def test_without_a_place_to_write_to_nothing_is_written(odd, tmp_path, cli):
    before = snapshot(tmp_path)
    ran = cli("convert", odd)
    assert (ran.code, snapshot(tmp_path)) == (1, before)
    assert re.search(r"^  would change +6$", ran.out, re.M)


def test_a_diff_goes_to_stdout_and_the_summary_to_stderr(odd, tmp_path, cli):
    before = snapshot(tmp_path)
    ran = cli("convert", odd, "--diff")
    assert snapshot(tmp_path) == before
    assert re.search(r"^  would change +6$", ran.err, re.M)
    cli("convert", odd, "-o", tmp_path / "out")
    assert ran.raw == (tmp_path / "out" / "cuda2npu-report" / "changes.patch").read_bytes()
    assert ran.raw.startswith(b"diff --git a/bom.py b/bom.py\n")


def test_in_place_rewrites_what_changes_and_nothing_else(odd, tmp_path, cli):
    out = tmp_path / "out"
    cli("convert", odd, "-o", out)
    kept = [odd / "empty.py", odd / "broken.py", odd / "data" / "weights.bin"]
    for path in kept:
        os.utime(path, (1_000_000_000, 1_000_000_000))
    ran = cli("convert", odd, "--in-place", "--report", tmp_path / "report")
    assert ran.code == 1
    after, copy = snapshot(odd), snapshot(out)
    assert {path: after[path] for path in copy if path in after} == {
        path: data for path, data in copy.items() if path in after
    }
    assert {path.stat().st_mtime for path in kept} == {1_000_000_000}
    assert (odd / "plain.py").stat().st_mode & 0o777 == 0o750
    assert report_of(tmp_path / "report") == report_of(out / "cuda2npu-report")
    assert not [path for path in snapshot(tmp_path) if path.endswith(".tmp")]


def test_a_second_run_changes_nothing(odd, tmp_path, cli):
    cli("convert", odd, "--in-place")
    after = snapshot(odd)
    times = {path: (odd / path).lstat().st_mtime_ns for path in after}
    ran = cli("convert", odd, "--in-place", "--report", tmp_path / "report")
    assert re.search(r"^  changed +0$", ran.out, re.M)
    assert snapshot(odd) == after
    assert {path: (odd / path).lstat().st_mtime_ns for path in after} == times
    assert (tmp_path / "report" / "changes.patch").read_bytes() == b""


def test_its_own_report_is_not_converted_again(tmp_path, write, cli):
    src = write(tmp_path / "src", {"a.py": SOURCE})
    cli("convert", src, "-o", tmp_path / "one")
    cli("convert", tmp_path / "one", "-o", tmp_path / "two")
    report = report_of(tmp_path / "two" / "cuda2npu-report")
    assert report["summary"]["files"] == 1
    assert report["summary"]["changed"] == 0


def test_several_sources(tmp_path, write, cli):
    write(tmp_path, {"one/a.py": SOURCE, "two/a.py": SOURCE, "b.py": SOURCE})
    out = tmp_path / "out"
    assert cli("convert", tmp_path / "one", tmp_path / "two", tmp_path / "b.py", "-o", out).code == 0
    assert {"one/a.py", "two/a.py", "b.py"} < set(snapshot(out))
    assert len(report_of(out / "cuda2npu-report")["files"]) == 3
    assert b"+++ b/two/a.py\n" in (out / "cuda2npu-report" / "changes.patch").read_bytes()


def test_one_file(tmp_path, write, cli, monkeypatch):
    write(tmp_path, {"pkg/a.py": SOURCE})
    monkeypatch.chdir(tmp_path)
    assert b"+++ b/pkg/a.py\n" in cli("convert", "pkg/a.py", "--diff").raw
    assert cli("convert", "pkg/a.py", "-o", "out").code == 0
    assert b".npu()" in snapshot(tmp_path / "out")["a.py"]
    assert cli("convert", "pkg/a.py", "--in-place").code == 0
    assert b".npu()" in (tmp_path / "pkg" / "a.py").read_bytes()


def test_stdin_to_stdout(cli):
    data = b"\xef\xbb\xbf" + SOURCE.replace("\n", "\r\n").encode()
    ran = cli("convert", "-", stdin=data)
    assert ran.code == 0
    assert ran.raw.startswith(b"\xef\xbb\xbfimport torch\r\n")
    assert b"torch.ones(1).npu()\r\n" in ran.raw
    assert re.search(r"^  changed +1$", ran.err, re.M)


@pytest.mark.parametrize("data", [b"print(1)\n", b"", "模 = 1  # cuda\n".encode()])
def test_stdin_without_anything_to_do_is_passed_on(cli, data):
    ran = cli("convert", "-", "--quiet", stdin=data)
    assert (ran.code, ran.raw, ran.err) == (0, data, "")


def test_stdin_that_is_not_python_is_passed_on_and_fails(cli):
    ran = cli("convert", "-", "-q", stdin=BROKEN.encode())
    assert (ran.code, ran.raw) == (1, BROKEN.encode())
    assert ran.err.startswith("stdin.py:1:1: failed: ")


def test_jobs_make_no_difference(tmp_path, write, cli):
    files = {f"pkg{n % 3}/f{n:02}.py": SOURCE + f"y{n} = x.cuda()\n" for n in range(40)}
    src = write(tmp_path / "src", {**files, "broken.py": BROKEN})
    for jobs in (1, 2):
        assert cli("convert", src, "-o", tmp_path / f"out{jobs}", "--jobs", jobs).code == 1
    assert snapshot(tmp_path / "out1") == snapshot(tmp_path / "out2")


def test_ids_survive_lines_that_are_inserted_above(tmp_path, write, cli):
    ids = []
    for name, source in {"one": SOURCE, "two": SOURCE.replace("\n\n", "\nimport os\n\n# more\n\n")}.items():
        write(tmp_path / name, {"a.py": source})
        cli("convert", tmp_path / name, "--report", tmp_path / "report" / name)
        changes = entry(report_of(tmp_path / "report" / name), "a.py")["changes"]
        ids.append([change["id"] for change in changes if change["before"]])
    assert ids[0]
    assert ids[0] == ids[1]


def test_quiet_says_only_what_failed(odd, tmp_path, cli):
    ran = cli("convert", odd, "-o", tmp_path / "out", "--quiet")
    assert ran.out == ""
    assert [line.split(":")[0] for line in ran.err.splitlines()] == FAILED


def test_chinese(odd, cli):
    ran = cli("convert", odd, "--lang", "zh")
    assert re.search(r"^  将修改 +6$", ran.out, re.M)
    assert "以下文件失败，保持原样：" in ran.out


def test_strict_fails_if_anything_is_left_to_a_person(tmp_path, write, cli):
    clean = write(tmp_path / "clean", {"a.py": SOURCE})
    left = write(
        tmp_path / "left", {"a.py": "import torch\nm = torch.nn.DataParallel(torch.nn.Linear(1, 1))\n"}
    )
    assert cli("convert", clean, "--strict").code == 0
    assert cli("convert", left).code == 0
    assert cli("convert", left, "--strict").code == 1


def test_excluded_files_are_copied_as_they_are(tmp_path, write, cli):
    src = write(tmp_path / "src", {"a.py": SOURCE, "third_party/b.py": SOURCE, "broken.py": BROKEN})
    out = tmp_path / "out"
    assert cli("convert", src, "-o", out, "--exclude", "third_party/", "--exclude", "broken.py").code == 0
    assert (out / "third_party" / "b.py").read_text() == SOURCE
    report = report_of(out / "cuda2npu-report")
    assert entry(report, "third_party/b.py")["status"] == "skipped"
    assert (report["summary"]["files"], report["summary"]["skipped"]) == (1, 2)


def test_a_place_that_cannot_be_written_to(tmp_path, write, cli):
    src = write(tmp_path / "src", {"a.py": SOURCE})
    for arguments in (("-o", src / "a.py" / "out"), ("--report", src / "a.py"), ("-o", "/proc/out")):
        ran = cli("convert", src, *arguments)
        assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
        assert str(arguments[1]) in ran.err
    assert snapshot(src) == {"a.py": SOURCE.encode()}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path, write, cli):
    src = write(tmp_path / "src", {"a.py": SOURCE, "locked/b.py": SOURCE})
    (src / "locked").chmod(0o555)
    try:
        ran = cli("convert", src, "--in-place")
    finally:
        (src / "locked").chmod(0o755)
    assert ran.code == 1
    assert "locked/b.py: can't be written: Permission denied" in ran.out
    assert (src / "locked" / "b.py").read_text() == SOURCE
    assert b".npu()" in (src / "a.py").read_bytes()


def test_force_writes_into_a_folder_with_files(tmp_path, write, cli):
    src = write(tmp_path / "src", {"a.py": SOURCE})
    out = write(tmp_path / "out", {"notes.txt": "mine", "a.py": "old"})
    ran = cli("convert", src, "-o", out)
    assert (ran.code, snapshot(out)) == (2, {"notes.txt": b"mine", "a.py": b"old"})
    assert "--force" in ran.err
    assert cli("convert", src, "-o", out, "--force").code == 0
    assert (out / "notes.txt").read_text() == "mine"
    assert b".npu()" in (out / "a.py").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument 'SRC...'"),
        (("gone",), "gone: there is no such file or folder"),
        (("src", "--in-place", "--diff"), "only one of -o, --in-place and --diff"),
        (("src", "-o", "out", "--in-place"), "only one of -o, --in-place and --diff"),
        (("src", "--force"), "--force goes with -o OUT"),
        (("src", "-o", "src"), "is the source itself"),
        (("src", "-o", "src/out"), "lies inside the source"),
        (("src/a.py", "-o", "src"), "lies inside src"),
        (("src", "."), "lies inside"),
        (("-", "src"), "- stands alone"),
        (("-", "--in-place"), "- stands alone"),
        (("src", "--torch", "two"), "--torch two: not a version"),
        (("src", "--torch", "1.8"), "--torch 1.8: what torch_npu has is known for 2.1 to 2.14"),
        (("src", "--torch", "2.15"), "--torch 2.15: what torch_npu has is known for 2.1 to 2.14"),
        (("src", "--select", "NPU89"), "select NPU89: there is no such rule"),
        (("src", "--ignore", "NPU199"), "ignore NPU199: there is no such rule"),
        (("src", "--soc", "h100"), "'h100' is not one of"),
        (("src", "--select", "CUDA-1"), "select CUDA-1: neither a rule nor a family"),
        (("src", "--exclude", "!"), "--exclude: not a pattern"),
        (("src", "--jobs", "0"), "0 is not in the range"),
        (("src", "--rules", "gone.toml"), "gone.toml"),
        (("src", "--rules", "src/a.py"), "src/a.py"),
        (("src", "--colour"), "No such option"),
    ],
)
def test_wrong_usage_is_one_clear_line(tmp_path, write, cli, monkeypatch, arguments, message):
    write(tmp_path, {"src/a.py": SOURCE})
    monkeypatch.chdir(tmp_path)
    more = ("-o", "out") if arguments == ("src", ".") else ()
    ran = cli("convert", *arguments, *more)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert snapshot(tmp_path) == {"src/a.py": SOURCE.encode()}
