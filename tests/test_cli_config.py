from __future__ import annotations

import json
import sys

import pytest

from cuda2npu import config
from cuda2npu.settings import DEFAULT_SOC, DEFAULT_TORCH, UsageError


def settings(folder, table="", **flags):
    if table:
        (folder / "pyproject.toml").write_text(f"[tool.cuda2npu]\n{table}", encoding="utf-8")
    return config.settings([str(folder)], flags)


def test_defaults(tmp_path):
    plain = settings(tmp_path, torch=None, unsafe=None, select=None)
    assert (plain.target.torch, plain.target.soc) == (DEFAULT_TORCH, DEFAULT_SOC)
    assert (plain.unsafe, plain.select, plain.lang) == (False, (), "en")


def test_every_key(tmp_path):
    read = settings(
        tmp_path,
        'target-torch = "2.6.0"\nsoc = "ascend310p"\nselect = ["NPU1"]\nignore = ["NPU101"]\n'
        'exclude = ["third_party/"]\nunsafe = true\nlang = "zh"\nrules = ["our/rules.toml", "/abs.toml"]\n',
    )
    assert (read.target.torch, read.target.soc) == ("2.6.0", "ascend310p")
    assert (read.select, read.ignore, read.exclude) == (("NPU1",), ("NPU101",), ("third_party/",))
    assert (read.unsafe, read.lang) == (True, "zh")
    assert read.rules == (str(tmp_path / "our" / "rules.toml"), "/abs.toml")


def test_the_version_goes_by_the_name_of_the_flag_too(tmp_path):
    assert settings(tmp_path, 'torch = "2.6.0"\n').target.torch == "2.6.0"


def test_flags_win(tmp_path):
    table = 'target-torch = "2.6.0"\nunsafe = true\nselect = ["NPU1"]\n'
    read = settings(tmp_path, table, torch="2.5.1", unsafe=False, select=("NPU2",), jobs=3)
    assert (read.target.torch, read.unsafe, read.select, read.jobs) == ("2.5.1", False, ("NPU2",), 3)


def test_the_nearest_file_with_a_table_counts(tmp_path):
    inner = tmp_path / "repo" / "pkg"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[tool.cuda2npu]\nlang = "zh"\n')
    (inner.parent / "pyproject.toml").write_text('[project]\nname = "not-cuda2npu"\n')
    (inner / "a.py").write_text("")
    assert config.settings([str(inner)], {}).lang == "zh"
    assert config.settings([str(inner / "a.py"), str(tmp_path)], {}).lang == "zh"


def test_a_broken_file_that_does_not_concern_us(tmp_path):
    (tmp_path / "pyproject.toml").write_bytes(b"[not toml \xff")
    assert settings(tmp_path).lang == "en"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.cuda2npu]\ntarget = '2.6'\n", "[tool.cuda2npu] has no key 'target'"),
        ("[tool.cuda2npu]\nunsafe = 'yes'\n", "[tool.cuda2npu] unsafe must be true or false"),
        ("[tool.cuda2npu]\nselect = 'NPU1'\n", "[tool.cuda2npu] select must be a list of strings"),
        ("[tool.cuda2npu]\nexclude = [1]\n", "[tool.cuda2npu] exclude must be a list of strings"),
        ("[tool.cuda2npu]\ntarget-torch = 2.6\n", "[tool.cuda2npu] target-torch must be a string"),
        ("[tool.cuda2npu]\ntarget-torch = 'x'\n", "[tool.cuda2npu] --torch x: not a version"),
        ("[tool.cuda2npu]\nsoc = 'h100'\n", "[tool.cuda2npu] --soc h100: unknown chip"),
        ("[tool.cuda2npu]\nlang = 'de'\n", "[tool.cuda2npu] lang de: one of en, zh"),
        ("[tool.cuda2npu]\nignore = ['E501']\n", "[tool.cuda2npu] ignore E501: neither a rule nor a family"),
        ("[tool]\ncuda2npu = 1\n", "[tool.cuda2npu] must be a table"),
        ("[tool.cuda2npu\n", "not valid TOML"),
    ],
)
def test_a_fault_names_file_and_key(tmp_path, cli, text, message):
    path = tmp_path / "pyproject.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as raised:
        config.settings([str(tmp_path)], {})
    assert str(raised.value).startswith(f"{path}: {message}")
    ran = cli("check", tmp_path)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)


def test_no_toml_parser_without_a_table(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    monkeypatch.setitem(sys.modules, "tomllib", None)
    monkeypatch.setitem(sys.modules, "tomli", None)
    assert settings(tmp_path).lang == "en"


def test_the_table_is_used(tmp_path, write, cli):
    source = "import torch\nx = torch.ones(1).cuda()\n"
    table = '[tool.cuda2npu]\ntarget-torch = "2.6.0"\nexclude = ["old/"]\n'
    src = write(tmp_path / "src", {"pyproject.toml": table, "a.py": source, "old/b.py": source})
    report = json.loads(cli("check", src, "--format", "json").out)
    assert report["target"]["torch"] == "2.6.0"
    assert report["summary"]["skipped"] == 1
    assert (
        json.loads(cli("check", src, "--format", "json", "--torch", "2.5.1").out)["target"]["torch"]
        == "2.5.1"
    )
