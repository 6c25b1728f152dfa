"""Facts about torch_npu that the API tables must hold, how they are asked, and how they are built."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from types import ModuleType

import pytest

from cuda2npu.catalog.api import api_table, api_versions

ALL = [(int(major), int(minor)) for major, minor in (version.split(".") for version in api_versions())]


def versions_with(name: str) -> list[str]:
    return [".".join(map(str, version)) for version in ALL if api_table(version).has(name)]


def test_every_supported_minor_version_but_2_2_has_a_wheel():
    assert api_versions() == ["2.1", *(f"2.{minor}" for minor in range(3, 15))]


def test_every_wheel_has_its_name_hash_and_date():
    table = json.loads(resources.files("cuda2npu.catalog").joinpath("torch_npu_api.json").read_text("utf-8"))
    for wheel in table["wheels"]:
        assert re.fullmatch(r"torch_npu-2\.\d+\.\d+(\.post\d+)?", wheel["wheel"])
        assert wheel["wheel"].startswith(f"torch_npu-{wheel['torch']}.")
        assert re.fullmatch(r"[0-9a-f]{64}", wheel["sha256"])
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", wheel["date"])
    assert len({wheel["sha256"] for wheel in table["wheels"]}) == len(table["wheels"])
    assert {len(bits) for bits in table["names"].values()} == {len(table["wheels"])}
    assert set(table["parameters"]) <= set(table["names"])


def test_the_wheels_are_those_that_the_facts_were_taken_from():
    wheels = {version: api_table(version).wheel for version in ALL}
    assert wheels[2, 1] == "torch_npu-2.1.0.post17"
    assert wheels[2, 5] == "torch_npu-2.5.1.post1"
    assert wheels[2, 7] == "torch_npu-2.7.1.post11"
    assert wheels[2, 9] == "torch_npu-2.9.1"
    assert wheels[2, 14] == "torch_npu-2.14.0"


@pytest.mark.parametrize(
    "name",
    [
        "torch.npu.Event",
        "torch.npu.FloatTensor",  # put there by the C++ library
        "torch.npu.FloatStorage",
        "torch.npu.amp.GradScaler",
        "torch.npu.aclnn.allow_hf32",
        "torch.npu.conv.allow_hf32",
        "torch.npu.matmul.allow_hf32",
        "torch.npu.backends.fft_plan_cache.max_size",
        "torch.npu.config.allow_internal_format",
        "torch.npu.manual_seed_all",  # a star import
        "torch.npu.mem_get_info",
        "torch.npu.memory._record_memory_history",
        "torch.npu.mstx.mark",
        "torch.npu.random.get_rng_state",
        "torch_npu._C._NPUStreamBase",
        "torch_npu._C._distributed_c10d.ProcessGroupHCCL.Options",
        "torch_npu._C._npu_getDeviceCount",
        "torch_npu._C._npu_shutdown",
        "torch_npu.__version__",
        "torch_npu.contrib.transfer_to_npu",
        "torch_npu.npu_fusion_attention",
        "torch_npu.npu_max.dim",
        "torch_npu.optim.NpuFusedAdamW",
        "torch_npu.profiler.ProfilerActivity.NPU",
        "torch_npu.utils.cpp_extension.NpuExtension",
    ],
)
def test_present_in_every_version(name: str):
    assert versions_with(name) == api_versions()


@pytest.mark.parametrize(
    "name",
    [
        "torch.cuda.Event",
        "torch.npu.OutOfMemoryError",
        "torch.npu._NPULegacyStorage",  # deleted at the end of the module
        "torch.npu.comm",
        "torch.npu.fft_plan_cache",  # torch_npu.npu.backends exports nothing
        "torch.npu.memory.mem_get_info",
        "torch.npu.mstx.mstx",  # torch.npu.mstx is the class, no longer the module
        "torch.npu.npu_fusion_attention",
        "torch.npu.nvtx",
        "torch.npu.nvtx.range_push",
        "torch_npu._C._npu_ciou",  # an operator, which is in torch_npu
        "torch_npu.contrib.fuse_add_softmax_dropout",  # in __all__, but bound nowhere
        "torch_npu.npu.nvtx",
        "",
    ],
)
def test_absent_from_every_version(name: str):
    assert versions_with(name) == []


@pytest.mark.parametrize(
    ("name", "versions"),
    [
        # Post releases are not monotonic: the 2.7 wheel is newer than the 2.8 and 2.9 ones.
        ("torch.npu.mstx.range_push", ["2.7", "2.10", "2.11", "2.12", "2.13", "2.14"]),
        ("torch.npu.npurt", ["2.7", "2.10", "2.11", "2.12", "2.13", "2.14"]),
        ("torch.npu.ExternalStream", ["2.7", "2.10", "2.11", "2.12", "2.13", "2.14"]),
        ("torch_npu._C._npu_sleep", ["2.7", "2.10", "2.11", "2.12", "2.13", "2.14"]),
        ("torch.npu.ipc_collect", ["2.1", *(f"2.{minor}" for minor in range(6, 15))]),
    ],
)
def test_present_in_some_versions(name: str, versions: list[str]):
    assert versions_with(name) == versions


def test_both_spellings_of_the_module_are_the_same():
    table = api_table((2, 7))
    assert table.has("torch_npu.npu")
    assert table.has("torch_npu.npu.Event")
    assert table.parameters("torch_npu.npu.get_device_name") == ("device_name",)


SCALER = ("init_scale", "growth_factor", "backoff_factor", "growth_interval", "dynamic", "enabled")


@pytest.mark.parametrize("version", ALL)
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("torch.npu.get_device_properties", ("device_name",)),
        ("torch.npu.get_device_name", ("device_name",)),
        ("torch.npu.mem_get_info", ("device",)),
        ("torch.npu.amp.GradScaler", SCALER),
        ("torch.npu.amp.autocast", ("enabled", "dtype", "cache_enabled")),
        ("torch.npu.Stream", ("device", "priority", "**kwargs")),  # __new__
        ("torch.npu.Event.record", ("stream",)),  # without self
        ("torch.npu.synchronize", ("device",)),  # imported from a submodule
        ("torch.npu.is_available", ()),
        ("torch.npu.FloatTensor", None),  # exists, but written in C++
        ("torch.npu.nvtx", None),
    ],
)
def test_parameters(version: tuple[int, int], name: str, parameters: tuple[str, ...] | None):
    assert api_table(version).parameters(name) == parameters


def test_parameters_follow_the_version():
    capture = ("npu_graph", "pool", "stream", "auto_dispatch_capture", "capture_error_mode")
    assert api_table((2, 7)).parameters("torch.npu.graph") == capture
    without = tuple(name for name in capture if name != "auto_dispatch_capture")
    assert api_table((2, 4)).parameters("torch.npu.graph") == without
    assert api_table((2, 7)).parameters("torch.npu.mstx.range_push") == ("message", "stream", "domain")
    assert api_table((2, 9)).parameters("torch.npu.mstx.range_push") is None


def test_required_parameters_are_those_without_default():
    table = api_table((2, 7))
    assert table.required("torch.npu.graph") == ("npu_graph",)
    assert table.required("torch.npu.get_device_name") == ()
    assert table.required("torch_npu.profiler.profile") == ()  # keyword-only, with defaults
    assert table.required("torch.npu.nvtx") is None


def test_a_version_without_wheel_has_what_both_neighbours_have():
    between, below, above = (api_table((2, minor)) for minor in (2, 1, 3))
    assert between.wheel == f"{below.wheel}, {above.wheel}"
    assert between.has("torch.npu.Event")
    assert below.has("torch.npu.ipc_collect")
    assert not above.has("torch.npu.ipc_collect")
    assert not between.has("torch.npu.ipc_collect")
    assert below.has("torch.npu.graph")
    assert below.parameters("torch.npu.graph") != above.parameters("torch.npu.graph")
    assert between.parameters("torch.npu.graph") is None


def test_a_newer_version_counts_as_the_newest():
    assert api_table((2, 99)).wheel == api_table((3, 0)).wheel == api_table(ALL[-1]).wheel


def test_an_older_version_is_refused():
    with pytest.raises(ValueError, match=r"torch_npu 2\.0; the oldest is 2\.1"):
        api_table((2, 0))


def test_a_table_is_made_once():
    assert api_table((2, 7)) is api_table((2, 7))


def test_nothing_is_read_before_it_is_asked_for():
    code = "import cuda2npu.catalog.api as api; assert api._data.cache_info().currsize == 0"
    subprocess.run([sys.executable, "-c", code], check=True)


# --- tools/build_api_tables.py ------------------------------------------------------------------


@pytest.fixture(scope="module")
def builder() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[1] / "tools"))
        yield importlib.import_module("build_api_tables")


SOURCES = {
    "torch_npu/__init__.py": "import os\nfrom . import npu\n",
    "torch_npu/npu/__init__.py": """
__all__ = ["Event", "FloatTensor"]
from typing import TYPE_CHECKING
from .streams import *
from .ranges import ranges
from .quiet import *
from . import amp, memory
if TYPE_CHECKING:
    from .streams import OnlyForTypes
try:
    from .streams import _Private
except ImportError:
    pass
class Helper: pass
del Helper
matmul = _Switch()
class _Switch:
    def __getattr__(self, name):
        if name == "allow_hf32":
            return other == "no name"
""",
    "torch_npu/npu/streams.py": """
class _Base:
    def __init__(self, first, /, second=1, *rest, third, **others): ...
class Event(_Base):
    kind = 1
    def record(self, stream=None): ...
    @staticmethod
    def now(): ...
    @property
    def done(self): ...
class _Private: pass
""",
    "torch_npu/npu/ranges.py": "class ranges: pass\ndef inner(): ...\nranges.annotate = inner\n",
    "torch_npu/npu/quiet.py": "__all__ = []\ndef unheard(): ...\n",
    "torch_npu/npu/amp/__init__.py": "from ..streams import Event as Timer\n",
    "torch_npu/npu/memory.py": "import torch_npu._C as C\ntorch_npu._C._npu_used, torch_npu._C._npu_gone\n",
    "torch_npu/npu/patch.py": "def f():\n    torch.npu.patched = f\n    torch.cuda.other = f\n",
    **{
        f"torch_npu/{name}/__init__.py": ""
        for name in ("profiler", "optim", "contrib", "utils", "distributed")
    },
    "torch_npu/csrc/aten/ops.yaml": "custom:\n- func: npu_max.dim(Tensor self)\n- func: _npu_op(int i)\n",
    "torch_npu/lib/libtorch_npu.so": "\0_npu_init\0_npu_op\0longer_npu_used\0torch_npu_x\0_NPUStreamBase\0",
}


def test_the_names_of_a_wheel_are_read_from_its_sources(builder: ModuleType, tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        for name, text in SOURCES.items():
            archive.writestr(name, text)
    wheel = builder.Wheel(tmp_path / "a.whl")
    names = wheel.names()
    assert {name for name in names if name.startswith("torch.npu")} == {
        "torch.npu",
        "torch.npu.Event",
        "torch.npu.Event.done",
        "torch.npu.Event.kind",
        "torch.npu.Event.now",
        "torch.npu.Event.record",
        "torch.npu.FloatTensor",
        "torch.npu.TYPE_CHECKING",
        "torch.npu._Private",
        "torch.npu._Switch",
        "torch.npu.amp",
        "torch.npu.amp.Timer",
        "torch.npu.amp.Timer.done",
        "torch.npu.amp.Timer.kind",
        "torch.npu.amp.Timer.now",
        "torch.npu.amp.Timer.record",
        "torch.npu.matmul",
        "torch.npu.matmul.allow_hf32",
        "torch.npu.memory",
        "torch.npu.memory.C",
        "torch.npu.patch",
        "torch.npu.patch.f",
        "torch.npu.patched",
        "torch.npu.quiet",
        "torch.npu.quiet.unheard",
        "torch.npu.ranges",
        "torch.npu.ranges.annotate",
        "torch.npu.streams",
        "torch.npu.streams.Event",
        "torch.npu.streams.Event.done",
        "torch.npu.streams.Event.kind",
        "torch.npu.streams.Event.now",
        "torch.npu.streams.Event.record",
        "torch.npu.streams._Base",
        "torch.npu.streams._Private",
    }
    assert {name for name in names if name.startswith(("torch_npu._C", "torch_npu.npu"))} == {
        "torch_npu._C._NPUStreamBase",
        "torch_npu._C._npu_init",
        "torch_npu._C._npu_used",
        "torch_npu.npu",
        "torch_npu.npu_max",
        "torch_npu.npu_max.dim",
    }
    written = builder.signatures(wheel, names)
    assert written["torch.npu.Event"] == ["first", "/", "second=", "*rest", "third", "**others"]
    assert written["torch.npu.amp.Timer"] == written["torch.npu.Event"]
    assert written["torch.npu.Event.record"] == ["stream="]
    assert written["torch.npu.Event.now"] == []
    assert "torch.npu.Event.done" not in written
    assert "torch.npu.ranges" not in written


def test_the_table_is_written_with_one_name_per_line(builder: ModuleType):
    table = {"schema": 1, "wheels": [{"torch": "2.1"}], "names": {"b": "1", "a": "0"}}
    text = builder.one_name_per_line(table)
    assert json.loads(text) == table
    assert '"b":"1",\n"a":"0"\n' in text
