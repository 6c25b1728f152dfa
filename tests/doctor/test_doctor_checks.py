"""Each fault that the doctor knows, with its fix, in both languages."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from doctor_machine import HEALTHY, HOME, LAPTOP, by_name, said

from cuda2npu.catalog.load import load_catalog
from cuda2npu.doctor.check import Check, State
from cuda2npu.doctor.diagnosis import examine
from cuda2npu.doctor.environment import MANAGERS, Answer, Cann, Device, Environment, Probe
from cuda2npu.doctor.messages import MESSAGES
from cuda2npu.doctor.settings import COUNTERPARTS

CJK = re.compile(r"[\u4e00-\u9fff]")


def packages(**versions: str | None) -> Environment:
    return replace(
        HEALTHY, packages={name: v for name, v in {**HEALTHY.packages, **versions}.items() if v is not None}
    )


def variables(**values: str | None) -> Environment:
    return replace(
        HEALTHY, variables={name: v for name, v in {**HEALTHY.variables, **values}.items() if v is not None}
    )


def probes(*each: Probe) -> Environment:
    return replace(HEALTHY, probes=list(each))


def failed(at: str, *reasons: str, autoload: bool = False, code: int | None = 0) -> Probe:
    before = ("torch", "torch_npu")[: ("torch", "torch_npu", "devices").index(at)]
    return Probe(autoload, dict.fromkeys(before, "2.7.1"), None, at, reasons, code)


def commands(check: Check, lang: str) -> list[str]:
    assert check.advice
    return [line for line in check.advice.in_language(lang).splitlines() if line.startswith("$ ")]


HCCL = "ImportError: libhccl.so: cannot open shared object file: No such file or directory"
BACKEND = "RuntimeError: Failed to load the backend extension: torch_npu. You can disable ..."

# id: (environment, check, state, what is said, what is advised)
FAULTS = {
    "python too new": (replace(HEALTHY, python="3.14.1"), "python", "fault", "3.9 - 3.13", "python=3.11"),
    "python too old for all": (
        replace(LAPTOP, python="3.7.9"),
        "python",
        "fault",
        "3.8 - 3.14",
        "python=3.11",
    ),
    "python and an unknown torch": (
        packages(torch="2.19.0"),
        "python",
        "warning",
        "doesn't know",
        "COMPATIB",
    ),
    "no torch": (packages(torch=None), "torch", "fault", "/opt/python", "torch==2.7.1"),
    "torch for cuda": (
        replace(packages(torch="2.7.1"), torch_cuda="12.6"),
        "torch",
        "warning",
        "CUDA 12.6",
        "--force-reinstall torch==2.7.1",
    ),
    "no torch_npu": (packages(torch_npu=None), "torch_npu", "fault", "not installed", "torch_npu==2.7.1"),
    "no torch_npu for this torch": (
        packages(torch="2.3.0", torch_npu=None),
        "torch_npu",
        "fault",
        "not installed",
        "torch_npu==2.3.1.post6",
    ),
    "no torch_npu at all": (
        packages(torch="2.20.0", torch_npu=None),
        "torch_npu",
        "fault",
        "not installed",
        "pip install torch==2.7.1",
    ),
    "torch_npu without torch": (packages(torch=None), "pair", "fault", "without torch", "torch==2.7.1"),
    "minors differ": (
        packages(torch="2.6.0"),
        "pair",
        "fault",
        "built for torch 2.7.1, but torch 2.6.0",
        "torch_npu==2.6.0.post5",
    ),
    "patches differ": (packages(torch="2.7.0"), "pair", "warning", "torch 2.7.0", "torch==2.7.1"),
    "numpy 2 with old cann": (
        replace(packages(numpy="2.0.2"), cann=Cann(HOME, "8.2.RC1")),
        "numpy",
        "fault",
        "500001",
        "'numpy<2'",
    ),
    "numpy 2 with old torch_npu": (
        packages(numpy="2.1.0", torch="2.1.0", torch_npu="2.1.0.post17"),
        "numpy",
        "fault",
        "built for numpy 1",
        "'numpy<2'",
    ),
    "numpy 2 where it isn't known": (packages(numpy="2.1.0"), "numpy", "warning", "8.3.RC1", "'numpy<2'"),
    "no numpy": (packages(numpy=None), "numpy", "warning", "not installed", "pip install"),
    "no cann": (replace(HEALTHY, cann=None), "cann", "fault", "/usr/local/Ascend", "CANN 8.3.RC1"),
    "cann too old": (
        replace(HEALTHY, cann=Cann(HOME, "8.1.RC1")),
        "cann",
        "fault",
        "older than 8.3.RC1",
        "Install CANN 8.3.RC1",
    ),
    "cann newer": (
        replace(HEALTHY, cann=Cann(HOME, "8.5.0")),
        "cann",
        "warning",
        "released with 8.3.RC1",
        "torch_npu==2.7.1.post2",
    ),
    "cann unreadable": (replace(HEALTHY, cann=Cann(HOME)), "cann", "warning", "version files", HOME),
    "torch_npu newer than the table": (
        packages(torch_npu="2.7.1.post11"),
        "cann",
        "fault",
        "2.7.1.post8 needs CANN 9.1.0",
        "Install CANN 9.1.0",
    ),
    "torch_npu unknown": (
        packages(torch="2.13.0", torch_npu="2.13.0"),
        "cann",
        "warning",
        "not in the table of 20",
        "COMPATIBILITY.md",
    ),
    "no kernels": (
        replace(HEALTHY, cann=Cann(HOME, "8.3.RC1", kernels=False)),
        "kernels",
        "warning",
        "Cannot find bin of op",
        "kernels (ops)",
    ),
    "set_env.sh not sourced": (
        variables(ASCEND_HOME_PATH=None),
        "variables",
        "fault",
        "ASCEND_HOME_PATH is not set",
        "$ source /usr/local/Ascend/ascend-toolkit/set_env.sh",
    ),
    "home without cann": (
        variables(ASCEND_HOME_PATH="/gone"),
        "variables",
        "fault",
        "/gone",
        "$ source /usr/local/Ascend/ascend-toolkit/set_env.sh",
    ),
    "no opp": (variables(ASCEND_OPP_PATH=None), "variables", "fault", "ASCEND_OPP_PATH is not", "$ source"),
    "opp gone": (replace(HEALTHY, opp_exists=False), "variables", "fault", f"{HOME}/opp", "$ source"),
    "no LD_LIBRARY_PATH": (
        replace(probes(failed("torch_npu", HCCL)), libraries=frozenset()),
        "variables",
        "fault",
        "LD_LIBRARY_PATH leads to no libhccl.so, libascendcl.so",
        "$ source",
    ),
    "no driver": (
        replace(HEALTHY, driver=None, npu_smi=None),
        "driver",
        "fault",
        "neither npu-smi nor",
        "mount /usr/local/Ascend/driver",
    ),
    "no npu-smi": (
        replace(HEALTHY, npu_smi=None),
        "driver",
        "warning",
        "no npu-smi",
        "/usr/local/bin/npu-smi",
    ),
    "npu-smi fails": (
        replace(HEALTHY, npu_smi=Answer(255, "DrvMng failed\ndcmi module initialize failed. ret is -8005\n")),
        "driver",
        "fault",
        "ret is -8005",
        "one container only",
    ),
    "npu-smi fails with code 0": (
        replace(
            HEALTHY,
            npu_smi=Answer(0, "dcmi model initialized failed, because the device is used. ret is -8020"),
        ),
        "driver",
        "fault",
        "-8020",
        "one container only",
    ),
    "npu-smi hangs": (replace(HEALTHY, npu_smi=Answer(None, "")), "driver", "fault", "no answer", "as root"),
    "no device files": (
        replace(HEALTHY, devices=[]),
        "devices",
        "fault",
        "/dev/davinci0",
        "--device /dev/davinci0",
    ),
    "no manager": (replace(HEALTHY, managers=[]), "devices", "fault", "/dev/davinci_manager", "--device"),
    "no permission": (
        replace(HEALTHY, devices=[Device("/dev/davinci0", False, "HwHiAiUser")]),
        "devices",
        "fault",
        "may not open /dev/davinci0",
        "$ sudo usermod -a -G HwHiAiUser $USER",
    ),
    "no permission in a container": (
        replace(HEALTHY, managers=[*HEALTHY.managers[:2], Device(MANAGERS[2], False, "1001")]),
        "devices",
        "fault",
        "may not open /dev/hisi_hdc",
        "$ docker run --group-add 1001",
    ),
    "no permission but for root": (
        replace(HEALTHY, devices=[Device("/dev/davinci0", False, "root")]),
        "devices",
        "fault",
        "the group root",
        "--install-for-all",
    ),
    "unordered": (
        variables(ASCEND_RT_VISIBLE_DEVICES="1,0"),
        "visible_devices",
        "fault",
        "ascending",
        "ASCEND_RT_VISIBLE_DEVICES=0,1",
    ),
    "repeated": (
        variables(ASCEND_RT_VISIBLE_DEVICES="0,1,1"),
        "visible_devices",
        "fault",
        "twice",
        "ASCEND_RT_VISIBLE_DEVICES=0,1",
    ),
    "with a space": (
        variables(ASCEND_RT_VISIBLE_DEVICES="0, 1"),
        "visible_devices",
        "fault",
        "ignored",
        "ASCEND_RT_VISIBLE_DEVICES=0,1",
    ),
    "a name": (
        variables(ASCEND_RT_VISIBLE_DEVICES="GPU-1a"),
        "visible_devices",
        "fault",
        "GPU-1a",
        "$ unset",
    ),
    "minus one": (variables(ASCEND_RT_VISIBLE_DEVICES="-1"), "visible_devices", "fault", "-1", "$ unset"),
    "beyond": (
        variables(ASCEND_RT_VISIBLE_DEVICES="1,7"),
        "visible_devices",
        "warning",
        "2 NPUs",
        "ASCEND_RT_VISIBLE_DEVICES=1",
    ),
    "empty": (variables(ASCEND_RT_VISIBLE_DEVICES=""), "visible_devices", "warning", "empty", "$ unset"),
    "cuda variable": (
        variables(CUDA_VISIBLE_DEVICES="3", ASCEND_RT_VISIBLE_DEVICES=None),
        "cuda_variables",
        "warning",
        "ignored by the NPU: CUDA_VISIBLE_DEVICES=3",
        '$ export ASCEND_RT_VISIBLE_DEVICES="$CUDA_VISIBLE_DEVICES"',
    ),
    "autoload off": (
        variables(TORCH_DEVICE_BACKEND_AUTOLOAD="0"),
        "autoload",
        "warning",
        "doesn't load torch_npu",
        "$ unset TORCH_DEVICE_BACKEND_AUTOLOAD",
    ),
    "hccl timeouts": (
        variables(HCCL_EVENT_TIMEOUT="1800", HCCL_EXEC_TIMEOUT="1836"),
        "hccl_timeouts",
        "warning",
        "not above",
        "HCCL_EVENT_TIMEOUT=1936",
    ),
    "libhccl.so, autoload": (
        probes(failed("torch_npu", HCCL), failed("torch", BACKEND, HCCL, autoload=True)),
        "import",
        "fault",
        'fails with "Failed to load the backend extension: torch_npu", since torch loads torch_npu by '
        "itself. Cause: ImportError: libhccl.so",
        "$ source /usr/local/Ascend/ascend-toolkit/set_env.sh Until then, this lets torch be imported "
        "without the NPU: $ export TORCH_DEVICE_BACKEND_AUTOLOAD=0",
    ),
    "libascendcl.so, no autoload": (
        probes(failed("torch_npu", "ImportError: libascendcl.so: cannot open shared object file")),
        "import",
        "fault",
        "import torch_npu fails: ImportError: libascendcl.so",
        "$ source /usr/local/Ascend/ascend-toolkit/set_env.sh",
    ),
    "libascend_hal.so": (
        probes(failed("torch_npu", "ImportError: libascend_hal.so: cannot open shared object file")),
        "import",
        "fault",
        "libascend_hal.so",
        "Install the driver",
    ),
    "undefined symbol": (
        probes(
            failed("torch_npu", "ImportError: /x/torch_npu/lib/libtorch_npu.so: undefined symbol: _ZN3c10")
        ),
        "import",
        "fault",
        "undefined symbol",
        "built for",
    ),
    "two accelerators": (
        probes(
            failed(
                "torch_npu",
                "RuntimeError: Two accelerators cannot be used at the same time in PyTorch: npu and cuda",
            )
        ),
        "import",
        "fault",
        "npu and cuda",
        "--force-reinstall torch==2.7.1",
    ),
    "opp at import": (
        probes(
            failed("torch_npu", "Exception: ASCEND_OPP_PATH environment variable is not set. Please check")
        ),
        "import",
        "fault",
        "ASCEND_OPP_PATH",
        "$ source",
    ),
    "module missing": (
        probes(failed("torch_npu", "ModuleNotFoundError: No module named 'yaml'")),
        "import",
        "fault",
        "No module named 'yaml'",
        "$ pip install pyyaml",
    ),
    "glibc": (
        probes(failed("torch_npu", "ImportError: /lib64/libstdc++.so.6: version `GLIBCXX_3.4.29' not found")),
        "import",
        "fault",
        "GLIBCXX_3.4.29",
        "newer system",
    ),
    "not explained": (
        probes(failed("torch_npu", "KeyError: 'x'")),
        "import",
        "fault",
        "KeyError: 'x'",
        "Read the exception",
    ),
    "import hangs": (
        probes(failed("torch_npu", code=None)),
        "import",
        "fault",
        "importing torch_npu took longer",
        "-X faulthandler",
    ),
    "import crashes": (
        probes(failed("torch_npu", "terminate called", code=-6)),
        "import",
        "fault",
        "exit code -6",
        "Read the exception",
    ),
    "torch broken": (
        probes(failed("torch", "ImportError: no _C")),
        "import",
        "fault",
        "even without torch_npu: ImportError: no _C",
        "--force-reinstall torch==2.7.1",
    ),
    "devices can't be counted": (
        probes(failed("devices", "RuntimeError: drv")),
        "import",
        "fault",
        "can't be counted: RuntimeError: drv",
        "Read the exception",
    ),
    "zero devices": (
        probes(Probe(False, {"torch": "2.7.1", "torch_npu": "2.7.1"}, 0)),
        "import",
        "fault",
        "counts 0 devices",
        "ASCEND_RT_VISIBLE_DEVICES",
    ),
    "no compiler": (
        replace(HEALTHY, compiler=None),
        "compiler",
        "warning",
        "only the simulator",
        "apt-get install g++",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_its_fix(name):
    env, check, state, found, advice = FAULTS[name]
    result = by_name(examine(env).checks)[check]
    assert result.state.value == state
    text, _, fix = said(result).partition(" | ")
    assert found in text
    assert advice in fix


@pytest.mark.parametrize("name", FAULTS)
def test_it_is_said_in_chinese_too(name):
    env, check, *_ = FAULTS[name]
    result = by_name(examine(env).checks)[check]
    text, _, fix = said(result, "zh").partition(" | ")
    assert CJK.search(text)
    assert CJK.search(fix)
    assert commands(result, "zh") == commands(result, "en")


def test_a_healthy_server_is_healthy():
    result = examine(HEALTHY)
    assert [check.name for check in result.checks if check.state is not State.OK] == []
    assert result.state is State.OK


def test_a_machine_without_an_npu_is_warned_of_and_not_at_fault():
    env = replace(LAPTOP, packages={"torch": "2.7.1"}, torch_cuda="12.6", compiler="/usr/bin/g++")
    result = examine(env)
    assert result.state is State.WARNING
    assert by_name(result.checks)["torch"].state is State.OK  # a CUDA build harms nobody here
    assert "cuda_variables" not in by_name(result.checks)


def test_what_works_needs_no_ld_library_path():
    check = by_name(examine(replace(HEALTHY, libraries=frozenset())).checks)["variables"]
    assert check.state is State.OK


@pytest.mark.parametrize(("cann", "state"), [("9.0.0", "ok"), ("8.0.0", "fault"), (None, "warning")])
def test_numpy_2_depends_on_cann(cann, state):
    env = replace(packages(numpy="2.1.0"), cann=Cann(HOME, cann))
    assert by_name(examine(env).checks)["numpy"].state.value == state


INDEX = "--index-url https://download.pytorch.org/whl/cpu"


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(("processor", "ending"), [("x86_64", f" {INDEX}"), ("aarch64", "")])
def test_a_torch_to_install_is_the_build_for_the_cpu(processor, ending, lang):
    """On x86-64 PyPI has the build for CUDA, beside which torch_npu can't be imported."""
    seen = 0
    for env, name, *_ in FAULTS.values():
        check = by_name(examine(replace(env, processor=processor)).checks)[name]
        for command in commands(check, lang) if check.advice else ():
            if "torch==" in command:
                seen += 1
                assert re.fullmatch(rf"\$ pip install (--force-reinstall )?torch==[\d.]+{ending}", command)
    assert seen > 5


def test_where_pypi_has_a_build_for_cuda_on_arm_the_index_is_named():
    env = replace(packages(torch=None, torch_npu="2.12.0"), processor="aarch64")
    assert f"torch==2.12.0 {INDEX}" in said(by_name(examine(env).checks)["torch"])


@pytest.mark.parametrize(
    ("cann", "python", "torch"),
    [
        (None, "3.11.7", "2.7.1"),
        ("9.1.0", "3.11.7", "2.7.1"),  # newer ones fit, too
        ("8.0.RC3", "3.10.1", "2.4.0"),
        (None, "3.14.0", "2.12.0"),  # 2.7.1 has nothing for this Python
    ],
)
def test_the_torch_to_install_is_the_one_that_convert_converts_for(cann, python, torch):
    env = replace(LAPTOP, python=python, cann=Cann(HOME, cann) if cann else None)
    checks = by_name(examine(env).checks)
    assert f"torch=={torch} " in said(checks["torch"])
    assert f"torch_npu=={torch}" in said(checks["torch_npu"])


def test_messages_have_the_same_values_in_both_languages():
    for key, (english, chinese) in MESSAGES.items():
        names = re.compile(r"\{(\w+)\}")
        assert sorted(set(names.findall(english))) == sorted(set(names.findall(chinese))), key


def test_the_variables_are_those_of_the_rules():
    rows = {row.name: row.to for row in load_catalog().rules["NPU601"].rows}
    assert {name: rows[name] for name in COUNTERPARTS} == COUNTERPARTS
