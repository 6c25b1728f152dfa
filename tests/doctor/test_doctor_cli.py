"""``cuda2npu doctor`` as a user meets it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from doctor_machine import HEALTHY, LAPTOP
from rich.cells import cell_len

from cuda2npu.doctor import environment
from cuda2npu.doctor.messages import MESSAGES

STATES = {"ok", "warning", "fault"}
LOG = "EI0002: x\nEI0002: y\nerror code is 599998\nwill fall back to run on the CPU\n"


@pytest.fixture(params=[HEALTHY, LAPTOP], ids=["server", "laptop"])
def either(request, monkeypatch):
    monkeypatch.setattr(environment, "look", lambda: request.param)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(environment, "look", lambda: HEALTHY)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(LOG, encoding="utf-8")
    return path


def test_the_json(cli, either, log):
    ran = cli("doctor", "--format", "json", "--log", log)
    result = json.loads(ran.out)
    assert set(result) == {"schema", "tool", "compatibility", "state", "npu", "checks", "log"}
    assert result["schema"] == "cuda2npu-doctor/1"
    assert result["tool"]["name"] == "cuda2npu"
    assert set(result["compatibility"]) == {"source", "date"}
    assert result["state"] == "fault"
    for check in result["checks"]:
        assert set(check) == {"name", "state", "found", "advice"}
        assert check["state"] in STATES
        assert check["found"]
        assert (check["advice"] is None) == (check["state"] == "ok")
    assert (result["log"]["path"], result["log"]["lines"]) == (str(log), 4)
    for code in result["log"]["codes"]:
        assert set(code) == {"code", "known", "state", "count", "line", "meaning", "advice", "source"}
        assert code["state"] in STATES
    assert [
        (code["code"], code["known"], code["count"], code["line"]) for code in result["log"]["codes"]
    ] == [
        ("EI0002", True, 2, 1),
        ("599998", False, 1, 3),
        ("will fall back to run on the CPU", True, 1, 4),
    ]


def test_the_json_without_a_log(cli, server):
    assert json.loads(cli("doctor", "--format", "json").out)["log"] is None


def test_exit_codes(cli, server, tmp_path, log):
    assert cli("doctor").code == 0
    assert cli("doctor", "--log", log).code == 1
    slow = tmp_path / "slow.log"
    slow.write_text("will fall back to run on the CPU")
    assert cli("doctor", "--log", slow).code == 0  # a warning isn't a fault
    assert cli("doctor", "--nonsense").code == 2


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_fits_a_terminal_and_has_no_colour(cli, either, log, lang):
    ran = cli("doctor", "--lang", lang, "--log", log)
    assert "\x1b" not in ran.out
    lines = ran.out.splitlines()
    assert all(cell_len(line) <= 80 for line in lines if not line.lstrip().startswith("$ "))
    assert MESSAGES["fault"][lang == "zh"] in ran.out


def test_a_healthy_server_on_one_page(cli, server):
    out = cli("doctor").out.splitlines()
    assert out[0].startswith("cuda2npu doctor ")
    assert all(line.startswith(("ok ", " ")) for line in out[1 : out.index("")])
    assert out[-1] == "Nothing wrong was found."


def test_stdin(cli, server):
    ran = cli("doctor", "--log", "-", stdin=LOG.encode())
    assert ran.code == 1
    assert "fault    EI0002" in ran.out
    assert "(2 times, first in line 1)" in " ".join(ran.out.split())


def test_a_log_without_codes(cli, server, tmp_path):
    (tmp_path / "a.log").write_bytes(b"\x00\xff all is well \n")
    ran = cli("doctor", "--log", tmp_path / "a.log")
    assert ran.code == 0
    assert "no code or message" in " ".join(ran.out.split())


def test_a_log_from_powershell(cli, server, tmp_path):
    (tmp_path / "a.log").write_bytes("ok\nEI0006: 超时\n".encode("utf-16"))
    ran = cli("doctor", "--format", "json", "--log", tmp_path / "a.log")
    assert [code["line"] for code in json.loads(ran.out)["log"]["codes"]] == [2]


@pytest.mark.parametrize("name", ["missing.log", "."])
def test_a_log_that_cannot_be_read(cli, server, tmp_path, name):
    ran = cli("doctor", "--log", tmp_path / name)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"cuda2npu: doctor: --log {tmp_path / name} can't be read: ")


def test_the_start_of_the_command_line_does_not_pay_for_it():
    code = "import sys, cuda2npu.cli.main; sys.exit('cuda2npu.doctor' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_it_runs_for_real():
    ran = subprocess.run(
        [sys.executable, "-m", "cuda2npu", "doctor", "--format", "json"], capture_output=True, check=False
    )
    assert ran.returncode in (0, 1)
    assert json.loads(ran.stdout)["checks"]
