"""What the doctor sees on a machine: fake roots, and real child processes that import fake packages."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest
from doctor_machine import AUTOLOADING, HOME, TORCH, TORCH_NPU, FakeMachine, by_name, said

from cuda2npu.doctor.check import State
from cuda2npu.doctor.children import ask
from cuda2npu.doctor.diagnosis import examine
from cuda2npu.doctor.environment import Machine, look, run_probe

# What the real ones raise when a part is missing: exception, its text, what the doctor repeats, its advice.
BROKEN = {
    "libhccl": (
        ImportError,
        "libhccl.so: cannot open shared object file: No such file or directory. Please check that the cann "
        "package is installed. Please run 'source set_env.sh' in the CANN installation path.\n"
        "[ERROR] 2026-11-30-10:00:00 (PID:1, Device:-1, RankID:-1) ERR00008 PTA resource not found",
        "Cause: ImportError: libhccl.so: cannot open",
        "$ source /usr/local/Ascend/ascend-toolkit/set_env.sh",
    ),
    "libascendcl": (
        ImportError,
        "libascendcl.so: cannot open shared object file: No such file or directory",
        "Cause: ImportError: libascendcl.so: cannot open",
        "$ source /usr/local/Ascend/ascend-toolkit/set_env.sh",
    ),
    "home": (
        Exception,
        "ASCEND_HOME_PATH : /old does not exist. Please run 'source set_env.sh'",
        "ASCEND_HOME_PATH : /old does not exist",
        "$ source /usr/local/Ascend/ascend-toolkit/set_env.sh",
    ),
    "cuda": (
        RuntimeError,
        "Two accelerators cannot be used at the same time in PyTorch: npu and cuda.",
        "npu and cuda",
        "--force-reinstall torch==2.7.1",
    ),
    "symbol": (
        ImportError,
        "/s/torch_npu/lib/libtorch_npu.so: undefined symbol: _ZNK3c1010TensorImpl",
        "undefined symbol",
        "`cuda2npu doctor` names them",
    ),
}


def broken(name):
    kind, text, *_ = BROKEN[name]
    return f"import torch\nraise {kind.__name__}({text!r})\n"


@pytest.fixture
def machine(tmp_path):
    return FakeMachine(tmp_path / "root")


def seen(machine, timeout=30.0):
    return look(machine.root, machine.variables, [str(machine.site)], timeout)


def test_an_empty_machine(machine):
    env = seen(machine)
    assert (env.packages, env.cann, env.driver, env.npu_smi, list(env.devices), env.compiler) == (
        {},
        None,
        None,
        None,
        [],
        None,
    )
    assert not env.on_ascend
    assert env.probes == []


def test_a_complete_server(machine):
    machine.cann()
    machine.cards()
    machine.package("torch", "2.7.1+cpu", AUTOLOADING, version="cuda: Optional[str] = None\n")
    machine.package("torch_npu", "2.7.1", TORCH_NPU)
    machine.package("numpy", "1.26.4")
    machine.file("/usr/bin/g++", "", 0o755)
    env = replace(seen(machine), python="3.11.7")
    result = examine(env)
    assert {check.name: said(check) for check in result.checks if check.state is not State.OK} == {}
    assert env.cann.version == "8.3.RC1"
    assert [probe.devices for probe in env.probes] == [2, 2]
    assert [device.path for device in env.devices] == ["/dev/davinci0", "/dev/davinci1"]
    assert (env.torch_cuda, env.driver) == (None, "25.2.0")


@pytest.mark.parametrize("name", BROKEN)
def test_a_torch_npu_that_breaks_import_torch_is_explained(machine, name):
    _, _, found, advice = BROKEN[name]
    machine.cann()
    machine.package("torch", "2.7.1", AUTOLOADING)
    machine.package("torch_npu", "2.7.1", broken(name))
    check = by_name(examine(seen(machine)).checks)["import"]
    text, _, fix = said(check).partition(" | ")
    assert check.state is State.FAULT
    assert "Failed to load the backend extension: torch_npu" in text
    assert found in text
    assert "[ERROR]" not in text
    assert advice in fix
    assert fix.endswith("$ export TORCH_DEVICE_BACKEND_AUTOLOAD=0")


def test_an_old_torch_without_autoload(machine):
    machine.package("torch", "2.1.0", TORCH)
    machine.package("torch_npu", "2.1.0.post12", broken("libhccl"))
    check = by_name(examine(seen(machine)).checks)["import"]
    assert said(check).startswith("import torch_npu fails: ImportError: libhccl.so")


def test_a_hanging_import_is_given_up(machine):
    machine.package("torch", "2.7.1", TORCH)
    machine.package("torch_npu", "2.7.1", "import torch, time\ntime.sleep(60)\n")
    start = time.monotonic()
    env = seen(machine, timeout=2.0)
    assert time.monotonic() - start < 20
    assert said(by_name(examine(env).checks)["import"]).startswith("importing torch_npu took longer")


def test_a_crashing_import_is_told(machine):
    machine.package("torch", "2.7.1", TORCH)
    machine.package(
        "torch_npu", "2.7.1", "import os, sys\nprint('boom', file=sys.stderr, flush=True)\nos.abort()\n"
    )
    check = by_name(examine(seen(machine)).checks)["import"]
    assert "importing torch_npu ends Python (exit code -6): boom" in said(check)


def test_torch_is_imported_in_other_processes_only(machine, tmp_path):
    log = tmp_path / "pids"
    machine.package(
        "torch", "2.7.1", TORCH + f"import os\nopen({str(log)!r}, 'a').write(str(os.getpid()) + ' ')\n"
    )
    machine.package("torch_npu", "2.7.1", TORCH_NPU)
    seen(machine)
    pids = log.read_text().split()
    assert len(set(pids)) == 2
    assert str(os.getpid()) not in pids


def test_a_folder_called_torch_here_is_not_mistaken_for_it(machine, tmp_path, monkeypatch):
    machine.package("torch", "2.7.1", TORCH)
    (tmp_path / "work" / "torch").mkdir(parents=True)
    (tmp_path / "work" / "torch" / "__init__.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path / "work")
    probe = run_probe(False, machine.variables)
    assert probe.versions["torch"] == "2.7.1"


def test_the_probe_reports_and_ignores_what_is_printed(machine):
    machine.package("torch", "2.7.1", TORCH + "print('cuda2npu-probe {broken', end='')\n")
    machine.package("torch_npu", "2.7.1", TORCH_NPU)
    probe = run_probe(True, machine.variables)
    assert (probe.failed_at, probe.devices) == (None, 2)


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({"opp/version.info": "Version=7.6.0.1.220\nversion_dir=8.2.RC1\n"}, "8.2.RC1"),
        ({"compiler/version.info": "Version=[8.3.0.1.200:8.3.RC1]\n"}, "8.3.RC1"),
        (
            {"x86_64-linux/ascend_toolkit_install.info": "package_name=a\nversion=8.5.0\ninnerversion=V1\n"},
            "8.5.0",
        ),
        ({"ascend_nnae_install.info": "version=9.1.0\n"}, "9.1.0"),
        ({"opp/version.info": "garbage\x00\xff"}, None),
        ({"lib64/libhccl.so": ""}, None),
    ],
)
def test_the_version_of_cann(machine, files, version):
    for path, text in files.items():
        machine.file(f"/usr/local/Ascend/cann/{path}", text)
    cann = Machine(machine.root, {}).cann()
    assert (cann.home, cann.version) == ("/usr/local/Ascend/cann", version)


def test_cann_is_found_in_the_home_of_the_user(machine):
    machine.cann(home="/home/me/Ascend/ascend-toolkit/latest")
    cann = Machine(machine.root, {"HOME": "/home/me"}).cann()
    assert cann.set_env == "/home/me/Ascend/ascend-toolkit/set_env.sh"


def test_the_sourced_cann_comes_first(machine):
    machine.cann("8.3.RC1")
    machine.cann("9.0.0", "/usr/local/Ascend/cann")
    assert Machine(machine.root, {"ASCEND_HOME_PATH": HOME}).cann().version == "8.3.RC1"
    assert Machine(machine.root, {}).cann().version == "9.0.0"


def test_the_driver_may_be_elsewhere(machine):
    machine.file("/etc/ascend_install.info", "UserName=HwHiAiUser\nDriver_Install_Path_Param=/opt/Ascend\n")
    machine.file("/opt/Ascend/driver/version.info", "Version=24.1.rc3\n")
    assert Machine(machine.root, {}).driver() == "24.1.rc3"


def test_npu_smi_that_fails(machine):
    machine.cards()
    machine.file(
        "/usr/local/bin/npu-smi",
        "#!/bin/sh\necho 'dcmi module initialize failed. ret is -8005'\nexit 1\n",
        0o755,
    )
    check = by_name(examine(seen(machine)).checks)["driver"]
    assert (check.state, "ret is -8005" in said(check)) == (State.FAULT, True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open everything")
def test_a_closed_device(machine):
    machine.cards()
    (machine.root / "dev/davinci1").chmod(0)
    assert not seen(machine).devices[1].accessible


def test_the_cuda_build_is_seen_in_its_version_file(machine):
    machine.package(
        "torch", "2.7.1", TORCH, version="from typing import Optional\ncuda: Optional[str] = '12.6'\n"
    )
    assert seen(machine).torch_cuda == "12.6"


def test_without_torch_it_takes_less_than_a_second(machine):
    machine.cann()
    machine.cards()
    start = time.monotonic()
    examine(seen(machine))
    assert time.monotonic() - start < 1


def test_a_child_that_outlives_its_time_is_killed_with_its_children(tmp_path):
    start = time.monotonic()
    answer = ask(["/bin/sh", "-c", "echo begun; sleep 60 & sleep 60"], dict(os.environ), 0.5)
    assert (answer.code, answer.out) == (None, "begun\n")
    assert time.monotonic() - start < 10


def test_a_program_that_is_not_there():
    assert ask(["/nowhere/npu-smi"], {}, 1).code is None
