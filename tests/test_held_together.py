"""What one file of a project holds back, the others don't move as safe."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

BRANCH = """
if {}:
    torch.cuda.synchronize()
    print("sync")
x = torch.ones(1, device={})
"""


def branch(value: str, test: str = '{} == "cuda"', imports: str = "os, sys, torch, yaml") -> str:
    """Return a program that compares a device that it is given, and uses it."""
    return f"import {imports}\ncfg = yaml.safe_load(open('c.yaml'))\n" + BRANCH.format(
        test.format(value), value
    )


@pytest.fixture
def convert(tmp_path, cli, write):
    """Convert a project; return what its files are afterwards."""

    def convert(files: Mapping[str, str]) -> dict[str, str]:
        source = write(tmp_path / "src", files)
        assert cli("convert", source, "-o", tmp_path / "out", "--quiet").code == 0
        return {name: (tmp_path / "out" / name).read_text() for name in files}

    return convert


HELD = {
    "looked up by": {"c.yaml": "device: cuda\nlr:\n  cuda: 0.1\n  cpu: 0.2\n"},
    "an alias": {"c.yaml": "defs: [&dev cuda]\ndevice: *dev\n"},
    "in a list on top": {"c.json": '[{"device": "cuda", "lr": 1}]'},
    "a template": {"c.yaml.j2": "device: cuda\nlr: {{ lr }}\n"},
    "not readable": {"c.yaml": "device: cuda\nlr: {% lr %}\n"},
}


@pytest.mark.parametrize("files", HELD.values(), ids=HELD)
@pytest.mark.parametrize(
    "test", ['{} == "cuda"', '{} in ("cuda", "mps")', '"cuda" in {}', '{}.startswith("cuda")']
)
def test_a_comparison_waits_for_the_configuration(convert, files, test):
    after = convert({**files, "t.py": branch('cfg["device"]', test), "run.sh": "python t.py --device cuda\n"})
    assert test.format('cfg["device"]') in after["t.py"]
    assert "torch.npu.synchronize()" in after["t.py"]
    assert after["run.sh"] == "python t.py --device cuda\n"
    assert {name: after[name] for name in files} == files


def test_a_comparison_below_the_key_waits(convert):
    program = branch('cfg["device"]["type"]')
    after = convert({"c.yaml": "device:\n  type: cuda\n  index: 0\n", "t.py": program})
    assert 'cfg["device"]["type"] == "cuda"' in after["t.py"]


def test_what_another_configuration_says_waits_too(convert):
    files = {"a.yaml": "device: cuda\nlr: {cuda: 1, cpu: 2}\n", "b.yaml": "device: cuda\n"}
    assert convert({**files, "t.py": branch('cfg["device"]')})["b.yaml"] == files["b.yaml"]


def test_devices_of_tensors_and_other_keys_move(convert):
    held = HELD["looked up by"]
    program = branch('cfg["where_device"]') + 'y = x.to("cuda")\nprint(y.device.type == "cuda")\n'
    after = convert({**held, "d.yaml": "where_device: cuda\n", "t.py": program})
    assert 'cfg["where_device"] == "npu"' in after["t.py"]
    assert 'x.to("npu")' in after["t.py"]
    assert 'y.device.type == "npu"' in after["t.py"]
    assert after["d.yaml"] == "where_device: npu\n"


@pytest.mark.parametrize("beside", [{}, {"other.py": "import torch\nx = torch.ones(1).cuda()\n"}])
def test_choices_comparison_and_script_move_together_or_not(convert, beside):
    files = {
        "t.py": 'import argparse\np = argparse.ArgumentParser()\np.add_argument("--device", '
        'choices=["cuda", "cpu"])\na = p.parse_args()\nprint(a.device == "cuda")\n',
        "run.sh": "python t.py --device cuda\n",
    }
    after = convert({**files, **beside})
    assert {name: after[name] for name in files} == files  # nothing says that this is torch's device


VARIABLE = branch('os.environ["DEVICE"]')
READ_OTHERWISE = {
    "compared": {"run.sh": 'export DEVICE=cuda\nif [ "$DEVICE" = cuda ]; then echo; fi\npython t.py\n'},
    "make": {
        "run.sh": "DEVICE=cuda make -s\nDEVICE=cuda python t.py\n",
        "Makefile": "ifeq ($(DEVICE),cuda)\nall:\n\t@echo gpu\nendif\n",
    },
    "compose": {".env": "DEVICE=cuda\n", "docker-compose.yml": "services:\n  a:\n    image: app:${DEVICE}\n"},
    "image": {"Dockerfile": "ARG DEVICE=cuda\nFROM base-${DEVICE}\nENV DEVICE=cuda\n"},
    "sourced": {"run.sh": "DEVICE=cuda . ./other.sh\nDEVICE=cuda python t.py\n"},
    "cmake": {"run.sh": "export DEVICE=cuda\ncmake -DDEVICE=$DEVICE .\npython t.py\n"},
    "a program": {"run.sh": "DEVICE=cuda\nexport DEVICE\n./native\npython t.py --device $DEVICE\n"},
    "C++": {"run.sh": "DEVICE=cuda python t.py\n", "a.cpp": 'auto d = getenv("DEVICE");\n'},
}


@pytest.mark.parametrize("files", READ_OTHERWISE.values(), ids=READ_OTHERWISE)
def test_a_variable_that_others_read_stays_and_python_with_it(convert, files):
    after = convert({**files, "t.py": VARIABLE})
    assert 'os.environ["DEVICE"] == "cuda"' in after["t.py"]
    assert {name: after[name] for name in files} == files


def test_a_variable_that_only_python_reads_moves(convert):
    after = convert({"run.sh": 'export DEVICE=cuda\necho "on $DEVICE"\npython t.py\n', "t.py": VARIABLE})
    assert 'os.environ["DEVICE"] == "npu"' in after["t.py"]
    assert after["run.sh"].startswith("export DEVICE=npu\n")


@pytest.mark.parametrize(
    "script", ["DEVICE=cuda; python t.py $DEVICE\n", "DEVICE=cuda\npython t.py $DEVICE\n"]
)
@pytest.mark.parametrize("test", ['{} == "cuda"', '{} in ("cuda", "cpu")'])
def test_a_word_without_an_option_stays_on_both_sides(convert, script, test):
    after = convert({"run.sh": script, "t.py": branch("sys.argv[1]", test)})
    assert after["run.sh"] == script
    assert test.format("sys.argv[1]") in after["t.py"]


def test_the_kind_that_is_cut_out_of_a_device_moves_with_it(convert):
    program = (
        "import torch, yaml\ncfg = yaml.safe_load(open('c.yaml'))\nVALID = {'cpu', 'cuda'}\n"
        "kind, _, number = cfg['device'].partition(':')\nif kind not in VALID: raise ValueError(kind)\n"
        "if kind == 'cuda': torch.cuda.set_device(int(number))\n"
    )
    after = convert({"c.yaml": "device: cuda:0\n", "t.py": program})
    assert after["c.yaml"] == "device: npu:0\n"
    assert "VALID = {'cpu', 'npu'}" in after["t.py"]
    assert "kind == 'npu'" in after["t.py"]


@pytest.mark.parametrize(
    "code",
    [
        'xp = importlib.import_module("cupy" if torch.cuda.is_available() else "numpy")',
        'xp = importlib.import_module("numpy" if not torch.cuda.is_available() else "cupy")',
        'name = "cupy" if torch.cuda.is_available() else "numpy"\nxp = __import__(name)',
        'xp = __import__({True: "cupy", False: "numpy"}[torch.cuda.is_available()])',
        'if torch.cuda.is_available():\n    name = "cupy"\nelse:\n    name = "json"\nxp = __import__(name)',
        "if torch.cuda.is_available():\n    from apex import amp\nelse:\n    amp = None",
        "if torch.cuda.is_available():\n    import pynvml\n    pynvml.nvmlInit()",
    ],
)
def test_a_condition_that_starts_an_import_of_cudas_is_only_offered(cli, tmp_path, write, code):
    source = write(tmp_path, {"a.py": f"import importlib\nimport torch\n{code}\n"}) / "a.py"
    assert "to rewrite: 0, unsafe: 1, for you: 1" in cli("check", source, "--format", "text").err


@pytest.mark.parametrize(
    "code",
    [
        "if torch.cuda.is_available():\n    try:\n        import cupy\n    except ImportError: pass",
        'xp = importlib.import_module("json" if torch.cuda.is_available() else "numpy")',
        'if torch.cuda.is_available():\n    import cupy\n    x = torch.ones(1, device="cuda")',
    ],
)
def test_a_condition_that_starts_no_import_of_cudas_moves(cli, tmp_path, write, code):
    source = write(tmp_path, {"a.py": f"import importlib\nimport torch\n{code}\n"}) / "a.py"
    assert "unsafe: 0" in cli("check", source, "--format", "text").err


@pytest.mark.parametrize(
    ("program", "number"),
    [
        ('d = "cuda:1"\nprint(int(d[5]))\nx = torch.ones(1, device=d)\n', "int(d[4])"),
        (
            'class C:\n    device: str = "cuda:0"\nprint(int(C().device[5]))\n',
            "int(C().device[4])",
        ),
        (
            'class C:\n    devices = ["cuda:0"]\nprint(int(C().devices[0][len("cuda:"):]))\n',
            'int(C().devices[0][len("npu:"):])',
        ),
        ('print(f"{torch.ones(1).cuda().device}"[:4] == "cuda")\n', '[:3] == "npu"'),
    ],
)
def test_what_is_cut_out_of_a_device_follows_it(convert, program, number):
    assert number in convert({"a.py": "import torch\n" + program})["a.py"]


def test_what_is_cut_out_of_a_device_that_stays_stays(convert):
    held = HELD["looked up by"]
    program = 'import torch, yaml\ncfg = yaml.safe_load(open("c.yaml"))\nprint(int(cfg["device"][5:] or 0))\n'
    program += 'x = torch.ones(1).cuda()\nprint(cfg["device"][:4] == "cuda")\n'
    after = convert({**held, "a.py": program})["a.py"]
    assert 'int(cfg["device"][5:] or 0)' in after
    assert 'cfg["device"][:4] == "cuda"' in after


def test_the_fifth_of_some_devices_is_no_number(convert):
    program = 'import torch\ndevices = torch.ones(9, device="cuda")\nprint(int(devices[5]))\n'
    assert "int(devices[5])" in convert({"a.py": program})["a.py"]


@pytest.mark.parametrize("test", ['x.device.type == "cuda"', 'd == "cuda"', 'd in ("cuda", "mps")'])
def test_a_comparison_with_a_device_that_a_comment_keeps_waits(convert, test):
    program = f'import torch\nd = "cuda"  # cuda2npu: ignore\nx = torch.zeros(1, device=d)\nprint({test})\n'
    moves = program.replace("  # cuda2npu: ignore", "")
    after = convert({"a.py": program, "b.py": moves})
    assert after["a.py"] == program
    assert "cuda" not in after["b.py"]


def test_a_comparison_with_a_value_that_a_comment_keeps_waits(convert):
    files = {"c.yaml": "device: cuda  # cuda2npu: ignore\n", "t.py": branch('cfg["device"]')}
    after = convert(files)
    assert 'cfg["device"] == "cuda"' in after["t.py"]
    assert after["c.yaml"] == files["c.yaml"]
