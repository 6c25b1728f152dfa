from __future__ import annotations

import json
import os

import pytest
from snapshots import snapshot

SOURCE = "import torch\n\nx = torch.ones(1).cuda()\n"
LEFT = "import torch\nm = torch.nn.DataParallel(torch.nn.Linear(1, 1))\n"


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("", 0),
        ("print('cuda')  # a word and no device\n", 0),
        (SOURCE, 1),
        (LEFT, 1),
        ("import torch\ntorch.cuda(\n", 1),
    ],
    ids=["empty", "kept", "change", "person", "broken"],
)
def test_exit_code(tmp_path, write, cli, source, code):
    assert cli("check", write(tmp_path, {"a.py": source})).code == code


def test_one_line_for_each_place(tmp_path, write, cli, monkeypatch):
    write(tmp_path, {"pkg/b.py": SOURCE, "a.py": "x = torch.cuda(\n", "README": "cuda"})
    monkeypatch.chdir(tmp_path)
    before = snapshot(tmp_path)
    ran = cli("check", "pkg", "a.py")
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert lines == sorted(lines)
    assert lines[0].startswith("a.py:1:1: failed: ")
    assert any(line.startswith("pkg/b.py:3:19: NPU") for line in lines)
    assert ran.err.startswith("files: 2, ")
    assert snapshot(tmp_path) == before


def test_our_own_configuration_and_reports_are_no_use_of_cuda(tmp_path, write, cli):
    write(tmp_path, {"pyproject.toml": "[tool.cuda2npu]\n", "a.py": SOURCE})
    cli("convert", tmp_path / "a.py", "--in-place", "--report", tmp_path / "rep")
    ran = cli("check", tmp_path)
    assert (ran.code, ran.out) == (0, "")


@pytest.mark.parametrize("sources", [(".",), ("run.yaml",)])
def test_a_file_that_mentions_cuda_is_named_unless_excluded(tmp_path, write, cli, monkeypatch, sources):
    write(tmp_path, {"run.yaml": "a: 1\nvisible: cuda\nwith: nccl\n"})
    monkeypatch.chdir(tmp_path)
    ran = cli("check", *sources)
    assert ran.code == 1
    assert ran.out.startswith("run.yaml:2:1: NPU903 ")
    assert "2, 3" in ran.out
    assert cli("check", *sources, "--exclude", "*.yaml").out == ""


def test_an_unused_suppression_is_named(tmp_path, write, cli):
    write(tmp_path, {"a.py": "y = x.cpu()  # cuda2npu: ignore[NPU002]\n"})
    ran = cli("check", tmp_path / "a.py")
    assert "NPU902" in ran.out
    assert ran.code == 0


def test_quiet_has_the_places_but_no_sum(tmp_path, write, cli):
    ran = cli("check", write(tmp_path, {"a.py": SOURCE}), "-q")
    assert ran.out
    assert ran.err == ""


def test_json_is_the_report(tmp_path, write, cli):
    src = write(tmp_path / "src", {"a.py": SOURCE})
    ran = cli("check", src, "--format", "json", "--report", tmp_path / "report")
    report = json.loads(ran.out)
    assert report["schema"] == "cuda2npu-report/1"
    assert report["summary"]["changed"] == 1
    assert json.loads((tmp_path / "report" / "report.json").read_text()) == report


def test_a_converted_tree_passes(tmp_path, write, cli):
    src = write(tmp_path, {"a.py": SOURCE})
    assert cli("convert", src, "--in-place").code == 0
    ran = cli("check", src)
    assert (ran.code, ran.out) == (0, "")


def test_a_hook_with_single_files_finds_what_a_full_run_finds(tmp_path, write, cli, monkeypatch):
    own = "class Timer:\n    def cuda(self):\n        return self\n\n\ndef make():\n    return Timer()\n"
    use = "from timer import make\n\nt = make().cuda()\n"
    write(tmp_path, {"pyproject.toml": "", "timer.py": own, "use.py": use})
    monkeypatch.chdir(tmp_path)
    whole = [line for line in cli("check", ".").out.splitlines() if line.startswith("use.py")]
    assert cli("check", "use.py").out.splitlines() == whole


def test_nothing_to_check(tmp_path, cli):
    ran = cli("check", tmp_path)
    assert (ran.code, ran.out) == (0, "")
    assert cli("check").code == 2
    assert cli("check", tmp_path / "gone").code == 2


@pytest.mark.skipif(os.name == "nt", reason="names have no newline there")
def test_a_name_with_a_newline_is_on_one_line(tmp_path, write, cli):
    write(tmp_path, {"a\nb.py": SOURCE})
    lines = cli("check", tmp_path).out.splitlines()
    assert all("a\\nb.py:" in line for line in lines if "NPU" in line)
