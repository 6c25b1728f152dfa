"""``cuda2npu run``: words, exit codes and signals pass through; every process finds the device."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PLAIN = "cpu-as-cuda"  # needs no compiled backend, and no torch as long as the script doesn't import it


def run(*arguments: object, cwd: Path, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cuda2npu", "run", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, **options)  # type: ignore[call-overload,no-any-return]


@pytest.fixture
def script(tmp_path: Path):
    def write(text: str, name: str = "script.py") -> Path:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path

    return write


def test_words_and_exit_code_are_the_scripts(script):
    folder = script("import sys\nprint(sys.argv, __name__, sys.path[0])\nsys.exit(7)\n")
    ran = run("--device", PLAIN, "script.py", "--device", "cuda", "-m", "x", "--", "--quiet", cwd=folder)
    words = ["script.py", "--device", "cuda", "-m", "x", "--", "--quiet"]
    assert ran.stdout == f"{words} __main__ {folder}\n"
    assert ran.returncode == 7


def test_a_module_keeps_its_options(script):
    folder = script("import sys\nprint(sys.argv[1:])\n", "tool.py")
    ran = run("--device", PLAIN, "-m", "tool", "--stats", "--device", "npu", "a", cwd=folder)
    assert ran.stdout == "['--stats', '--device', 'npu', 'a']\n"


def test_a_folder_with_a_main_module(script):
    folder = script("print(__name__)\n", "__main__.py")
    assert run("-q", "--device", PLAIN, ".", cwd=folder).stdout == "__main__\n"


def test_options_of_pythons_own(script):
    folder = script("import sys\nprint(sys.flags.optimize, __name__)\n", "tool.py")
    assert run("--device", PLAIN, "--", "-O", "tool.py", cwd=folder).stdout == "1 __main__\n"
    assert run("--device", PLAIN, "--", "-m", "tool", cwd=folder).stdout == "0 __main__\n"


@pytest.mark.parametrize(
    ("options", "words", "devices"),
    [((), (), "2"), (("--devices", "5"), (), "5"), ((), ("--nproc_per_node=4",), "4")],
)
def test_the_number_of_devices(script, options, words, devices):
    folder = script("import os\nprint(os.environ['CUDA2NPU_SIM_DEVICES'])\n")
    environment = {name: value for name, value in os.environ.items() if name != "CUDA2NPU_SIM_DEVICES"}
    ran = run("--device", PLAIN, *options, "script.py", *words, cwd=folder, env=environment)
    assert ran.stdout == f"{devices}\n"


def test_input_and_output_pass_through(script):
    folder = script("import sys\nsys.stderr.write('e')\nprint(sys.stdin.read()[::-1])\n")
    ran = run("-q", "--device", PLAIN, "script.py", cwd=folder, input="abc")
    assert (ran.stdout, ran.stderr) == ("cba\n", "e")


def test_it_says_that_the_device_is_not_real(script):
    ran = run("--device", PLAIN, "script.py", cwd=script(""))
    assert "mapped to the CPU" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "which script?"),
        (("gone.py",), "gone.py: there is no such file"),
        ((".",), "a folder without __main__.py"),
        (("--device", "tpu"), "tpu"),
    ],
)
def test_wrong_usage(tmp_path, arguments, message):
    ran = run(*arguments, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert message in ran.stderr


@pytest.mark.parametrize(
    ("device", "place", "message"),
    [
        (PLAIN, "s.json", "add --device sim"),
        ("sim", ".", "give a file"),
        ("sim", "gone/s.json", "give a file"),
    ],
)
def test_statistics_that_cannot_be_written(torch_script, device, place, message):
    ran = run("--device", device, "--stats", place, "script.py", cwd=torch_script("print('ran')\n"))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert message in ran.stderr


def test_a_missing_npu_is_an_error(script):
    ran = run("--device", "npu", "script.py", cwd=script("print('ran')\n"))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "no NPU" in ran.stderr


COUNTS_INTERRUPTS = """
import signal, time
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
open('started', 'w').close()
end = time.monotonic() + 60
while not seen and time.monotonic() < end:
    time.sleep(0.05)
time.sleep(0.5)
print('interrupts:', len(seen))
"""


def started(folder: Path, **options: object) -> subprocess.Popen[str]:
    """Start the script in a session of its own, and wait until it says that it runs."""
    command = [sys.executable, "-m", "cuda2npu", "run", "-q", "--device", PLAIN, "script.py"]
    running = subprocess.Popen(  # type: ignore[call-overload]
        command,
        cwd=folder,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        **options,
    )
    while not (folder / "started").exists():
        assert running.poll() is None
        time.sleep(0.05)
    return running  # type: ignore[no-any-return]


@pytest.mark.parametrize("to_all", [False, True])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"])
def test_signals_reach_the_script(script, name, to_all):
    number = getattr(signal, name)
    folder = script("import time\nopen('started', 'w').close()\ntime.sleep(60)\n")
    running = started(folder, stderr=subprocess.PIPE)
    os.killpg(running.pid, number) if to_all else running.send_signal(number)
    running.communicate(timeout=30)
    assert running.returncode == 128 + number


def test_a_signal_to_the_runner_alone_reaches_the_script_once(script):
    running = started(script(COUNTS_INTERRUPTS), stdout=subprocess.PIPE)
    running.send_signal(signal.SIGINT)
    assert running.communicate(timeout=90)[0] == "interrupts: 1\n"


def test_control_c_reaches_the_script_once(script):
    folder = script(COUNTS_INTERRUPTS)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        command = [sys.executable, "-m", "cuda2npu", "run", "-q", "--device", PLAIN, "script.py"]
        os.execv(sys.executable, command)
    while not (folder / "started").exists():
        assert os.waitpid(pid, os.WNOHANG) == (0, 0)
        time.sleep(0.05)
    os.write(terminal, b"\x03")
    said = b""
    with contextlib.suppress(OSError):  # the terminal is gone when all its processes are
        while part := os.read(terminal, 1024):
            said += part
    os.waitpid(pid, 0)
    assert b"interrupts: 1" in said


def test_a_sitecustomize_that_is_hidden_runs(script, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "sitecustomize.py").write_text("import os\nos.environ['MINE'] = 'ran'\n")
    folder = script("import os\nprint(os.environ['MINE'])\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "mine"), *_path()])}
    assert run("--device", PLAIN, "script.py", cwd=folder, env=environment).stdout == "ran\n"


def _path() -> list[str]:
    return list(filter(None, [os.environ.get("PYTHONPATH")]))


# With torch


@pytest.fixture
def torch_script(script):
    pytest.importorskip("torch")
    return script


def test_a_script_that_never_uses_the_device_is_told_so(torch_script):
    folder = torch_script("import torch\nprint(torch.ones(2).sum().item())\n")
    ran = run("--device", "sim", "--stats", "stats.json", "script.py", cwd=folder)
    assert ran.stdout == "2.0\n"
    assert "SIMULATED" in ran.stderr
    assert "never used the NPU" in ran.stderr
    assert json.loads((folder / "stats.json").read_text())["total"] == 0


def test_a_script_that_a_signal_ended_is_not_said_to_have_left_the_device_alone(torch_script):
    folder = torch_script(
        "import os, signal, torch\ntorch.ones(2, device='npu')\nos.kill(os.getpid(), signal.SIGTERM)\n"
    )
    ran = run("--device", "sim", "script.py", cwd=folder)
    assert ran.returncode == 128 + signal.SIGTERM
    assert "a signal ended the script" in ran.stderr
    assert "never used" not in ran.stderr


def test_operators_of_all_processes_are_counted(torch_script):
    folder = torch_script(
        "import torch\nimport torch_npu\nimport torch.multiprocessing as mp\n\n\n"
        "def work(rank):\n    torch.ones(2, device=f'npu:{rank}').add_(1).sum().item()\n\n\n"
        "if __name__ == '__main__':\n    mp.spawn(work, nprocs=2)\n"
    )
    ran = run("--device", "sim", "--stats", "stats.json", "script.py", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    stats = json.loads((folder / "stats.json").read_text())
    assert stats["schema"] == "cuda2npu-run/1"
    assert stats["operators"]["aten::add_"] == 2
    assert stats["processes"] == 2
    assert sorted(stats["peak_bytes"]) == ["0", "1"]
    assert "2 device(s), 2 process(es)" in ran.stderr


FORKS = """
import os, sys
import torch
import torch_npu
import torch.multiprocessing as mp


def work(rank):
    torch.ones(2, device=f'npu:{rank}').add_(1)


mp.start_processes(work, nprocs=2, start_method='fork')
torch.ones(2, device='npu').mul_(2)
if os.fork():
    os.wait()
os._exit(5)
"""


def test_forked_processes_and_those_that_leave_at_once_are_counted(torch_script):
    folder = torch_script(FORKS)
    ran = run("--device", "sim", "--stats", "stats.json", "script.py", cwd=folder)
    assert ran.returncode == 5, ran.stderr
    stats = json.loads((folder / "stats.json").read_text())
    assert (stats["operators"]["aten::add_"], stats["operators"]["aten::mul_"]) == (2, 1)
    assert stats["processes"] == 3


def test_a_script_that_fails_is_not_said_to_have_left_the_device_alone(torch_script):
    ran = run("--device", "sim", "script.py", cwd=torch_script("import torch\nraise SystemExit(3)\n"))
    assert ran.returncode == 3
    assert "failed (exit status 3) before any operator ran" in ran.stderr
    assert "never used" not in ran.stderr


OLD_TORCH = {"__init__.py": "from .version import __version__\n", "version.py": "__version__ = '2.4.1'\n"}


@pytest.mark.parametrize("device", ["sim", PLAIN])
def test_a_torch_that_is_too_old(script, tmp_path, device):
    (tmp_path / "torch" / "lib").mkdir(parents=True)
    (tmp_path / "torch" / "lib" / "libc10.so").touch()
    for name, text in OLD_TORCH.items():
        (tmp_path / "torch" / name).write_text(text)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *_path()])}
    ran = run("--device", device, "script.py", cwd=script("import torch\n"), env=environment)
    assert ran.returncode == 1
    assert "cuda2npu: a simulation needs PyTorch 2.5 or later, and this is 2.4.1\n" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("name", ["CUDA2NPU_SIM_DEVICES", "CUDA2NPU_SIM_MEMORY", "CUDA2NPU_SIM_TORCH"])
def test_a_setting_that_can_not_be_read_is_one_line(torch_script, name):
    environment = {**os.environ, name: "many"}
    ran = run("--device", "sim", "script.py", cwd=torch_script("import torch\n"), env=environment)
    assert ran.returncode == 1
    assert f"\ncuda2npu: {name}" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_torch_alone_brings_the_device(torch_script):
    folder = torch_script("import torch\nprint(torch.ones(1).to('npu').device, torch.npu.is_available())\n")
    assert run("-q", "--device", "sim", "script.py", cwd=folder).stdout == "npu:0 True\n"


def test_the_target_decides_which_names_there_are(torch_script):
    folder = torch_script("import torch_npu\nprint(hasattr(torch_npu.npu, 'ipc_collect'))\n")
    for target, has in (("2.5", "False"), ("2.7", "True")):
        ran = run("-q", "--device", "sim", "--torch", target, "script.py", cwd=folder)
        assert ran.stdout == f"{has}\n", ran.stderr
