"""The NPU's profiler."""
# ruff: noqa: F401, N813 - the names are what this module offers

from cuda2npu.simulator.names import only_names_of_target
from torch_npu._C._profiler import ProfilerActivity
from torch_npu.profiler.experimental_config import *  # noqa: F403
from torch_npu.profiler.experimental_config import _ExperimentalConfig
from torch_npu.profiler.profiler import (
    _KinetoProfile,
    profile,
    tensorboard_trace_handler,
)
from torch_npu.profiler.profiler_interface import supported_activities
from torch_npu.profiler.scheduler import (
    ProfilerAction,
)
from torch_npu.profiler.scheduler import (
    Schedule as schedule,
)

only_names_of_target(__name__)
