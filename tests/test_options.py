"""Options of a command line whose value is used in another file go on taking the old word."""

from __future__ import annotations

import argparse

import pytest

from cuda2npu.rewrite.engine import convert
from cuda2npu.rewrite.index import build_index
from cuda2npu.settings import Settings, Target

SETUP = """
import torch
import torch.distributed as dist

def setup(path, backend):
    if backend == "nccl":
        torch.cuda.set_device(0)
    dist.init_process_group(backend)
"""
MAIN = """
import argparse
import launch
parser = argparse.ArgumentParser()
parser.add_argument({})
launch.setup("a.json", parser.parse_args().backend)
"""


def converted(main: str, other: str = SETUP, fixed: bool = False) -> str:
    """Return what becomes of main.py beside launch.py."""
    alone = frozenset({"launch.py"} if fixed else ())
    index = build_index([("main.py", main.encode), ("launch.py", other.encode)], alone)
    result = convert(main.encode(), "main.py", Settings(), index)
    assert result.error is None
    after = result.data.decode() or main
    assert not convert(after.encode(), "main.py", Settings(), index).changes
    return after


def parsed(source: str, *words: str) -> argparse.Namespace:
    """Return what the options of a program are with these words."""
    names: dict[str, argparse.ArgumentParser] = {}
    exec("import argparse\n" + source[source.index("parser =") : source.index("launch.setup")], names)
    return names["parser"].parse_args(words)


@pytest.mark.parametrize(
    "option",
    [
        '"--backend", help="nccl or gloo"',
        '"--backend", default="", help="nccl or gloo"',
        '"--backend", default="", type=str',
        '"--backend", default=None',
        '"--backend", default="gloo"',
        '"--backend", required=True',
        '"--backend", choices=("nccl", "gloo")',
        '"--dist-backend", dest="backend"',
    ],
)
def test_a_backend_that_another_file_compares(option):
    after = converted(MAIN.format(option))
    flag = option.split('"')[1]
    assert parsed(after, flag, "nccl").backend == "hccl"
    assert parsed(after, flag, "gloo").backend == "gloo"
    assert "hccl" in converted(SETUP, MAIN)


def test_a_backend_without_the_other_file_in_sight_is_told_by_its_help():
    after = converted(MAIN.format('"--backend", help="NCCL (default) or gloo"'), "import torch\n")
    assert parsed(after, "--backend", "nccl").backend == "hccl"


def test_a_device_without_a_default_that_goes_elsewhere():
    main = MAIN.replace(".backend", ".device").format('"--device", help="cuda, cuda:1 or cpu"')
    after = converted(main, "import torch\ndef setup(path, device):\n    torch.ones(1, device=device)\n")
    assert parsed(after, "--device", "cuda:1").device == "npu:1"


def test_a_device_is_no_backend():
    main = MAIN.replace(".backend", ".device").format('"--device", help="Device to use (cpu, cuda:0)"')
    main = main.replace("import launch", "import launch, torch")
    other = f'{SETUP}\ndevice = "cuda"\ntorch.ones(1).to(config.device)\n'
    assert "nccl" not in converted(main + "torch.ones(1).to(parser.parse_args().device)\n", other)


def test_a_backend_that_is_called_something_else_here():
    after = converted(MAIN.replace(".backend", ".dist").format('"--dist", default="", help="nccl or gloo"'))
    assert parsed(after, "--dist", "nccl").dist == "hccl"


@pytest.mark.parametrize(
    ("option", "other"),
    [
        ('"--backend", help="onnx or tensorrt"', "import torch\n"),
        ('"--backend", choices=["triton", "eager"]', SETUP),
        ('"--backend", default="inductor"', "import torch\ntorch.compile(f, backend=b)\n"),
        ('"--backend"', 'import torch\ntorch.distributed.init_process_group(backend="nccl")\n'),
        ('"--backend", type=int', SETUP),
        ('"--backend", help="nccl, gloo or hccl"', SETUP),
        ('"--backend"', SETUP.replace("nccl", "hccl")),
        ('"--backend", action="append"', SETUP),
    ],
)
def test_a_backend_of_another_kind_stays(option, other):
    assert converted(MAIN.format(option), other) == MAIN.format(option)


def test_a_file_that_is_left_alone_goes_on_getting_the_old_word():
    main = MAIN.format('"--backend", default=""')
    assert converted(main, fixed=True) == main


@pytest.mark.parametrize(
    "option",
    [
        "required=True",
        'default="cpu"',
        "default=None",
        'default="cuda", type=str.lower',
        'default="cuda", type=lambda s: s.strip()',
        'default="cuda", type=strip',
        'default="cpu", type=str.strip, help="where it runs"',
    ],
)
@pytest.mark.parametrize(
    "use",
    [
        'print(device == "cuda")',
        "torch.ones(1).to(device)",
        "launch.pick(device)",
        "launch.pick(name=device)",
    ],
)
def test_every_option_for_a_device_takes_the_old_word(option, use):
    other = """
import torch
def pick(name):
    if name not in ("cpu", "cuda"):
        raise SystemExit("unknown device " + name)
    return torch.device(name)
"""
    main = (
        f"import argparse\nimport torch\nimport launch\ndef strip(s): return s.strip()\n"
        f'parser = argparse.ArgumentParser()\nparser.add_argument("--device", {option})\n'
        f"device = parser.parse_args().device\n{use}\n"
    )
    after = converted(main, other)
    head = after[after.index("def strip") : after.index("device = parser")]
    names: dict[str, argparse.ArgumentParser] = {}
    exec("import argparse\n" + head, names)
    assert names["parser"].parse_args(["--device", "cuda:1"]).device == "npu:1"
    assert names["parser"].parse_args(["--device", "cpu"]).device == "cpu"


@pytest.mark.parametrize(
    "option",
    ["type=int", 'action="append"', 'choices=["tpu", "cpu"]', 'default="npu"', "nargs=2"],
)
def test_an_option_for_another_kind_of_device_stays(option):
    main = MAIN.replace(".backend", ".device").format(f'"--device", {option}')
    assert converted(main, "import torch\n") == main


def test_a_torch_that_loads_no_backends_is_made_to_where_the_option_is():
    main = 'import argparse\nimport torch\np = argparse.ArgumentParser()\np.add_argument("--device")\n'
    index = build_index([("a.py", main.encode)])
    settings = Settings(Target("2.1", "ascend910b"))
    assert b"import torch_npu" in convert(main.encode(), "a.py", settings, index).data
    assert b"import torch_npu" not in convert(main.encode(), "a.py", Settings(), index).data
