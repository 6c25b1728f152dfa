"""The settings that only the NPU's profiler has. They are checked and have no effect here."""

from __future__ import annotations

import warnings
from typing import Any

from cuda2npu.simulator.names import only_names_of_target


class ProfilerLevel:
    """How much is recorded."""

    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"
    Level_none = "Level_none"


class AiCMetrics:
    """What is measured in the AI cores; needs Level1 or Level2."""

    PipeUtilization = "ACL_AICORE_PIPE_UTILIZATION"
    ArithmeticUtilization = "ACL_AICORE_ARITHMETIC_UTILIZATION"
    Memory = "ACL_AICORE_MEMORY_BANDWIDTH"
    MemoryL0 = "ACL_AICORE_L0B_AND_WIDTH"
    MemoryUB = "ACL_AICORE_MEMORY_UB"
    ResourceConflictRatio = "ACL_AICORE_RESOURCE_CONFLICT_RATIO"
    L2Cache = "ACL_AICORE_L2_CACHE"
    MemoryAccess = "ACL_AICORE_MEMORY_ACCESS"
    AiCoreNone = "ACL_AICORE_NONE"


class ExportType:
    """The form of the results."""

    Db = "db"
    Text = "text"


class HostSystem:
    """What is recorded of the host."""

    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"
    NUMA = "numa"


def supported_profiler_level() -> set[str]:
    """Return the levels."""
    return _values(ProfilerLevel)


def supported_ai_core_metrics() -> set[str]:
    """Return the metrics of the AI cores."""
    return _values(AiCMetrics)


def supported_export_type() -> set[str]:
    """Return the forms of the results."""
    return _values(ExportType)


def _values(cls: type) -> set[str]:
    return {value for name, value in vars(cls).items() if name[0] != "_"}


class _ExperimentalConfig:
    """Settings for :class:`torch_npu.profiler.profile`."""

    def __init__(
        self,
        profiler_level: str = ProfilerLevel.Level0,
        aic_metrics: str = AiCMetrics.AiCoreNone,
        l2_cache: bool = False,
        msprof_tx: bool = False,
        mstx: bool = False,
        data_simplification: bool = True,
        record_op_args: bool = False,
        op_attr: bool = False,
        gc_detect_threshold: float | None = None,
        export_type: str | list[str] | None = ExportType.Text,
        host_sys: list[str] | None = None,
        mstx_domain_include: list[str] | None = None,
        mstx_domain_exclude: list[str] | None = None,
        sys_io: bool = False,
        sys_interconnection: bool = False,
    ) -> None:
        if profiler_level not in supported_profiler_level():
            profiler_level = _reset("profiler_level", profiler_level, ProfilerLevel.Level0)
        if aic_metrics not in supported_ai_core_metrics():
            aic_metrics = _reset("aic_metrics", aic_metrics, AiCMetrics.AiCoreNone)
        measures = profiler_level in (ProfilerLevel.Level1, ProfilerLevel.Level2)
        if not measures and aic_metrics != AiCMetrics.AiCoreNone:
            aic_metrics = _reset(
                "aic_metrics (it needs level1 or level2)", aic_metrics, AiCMetrics.AiCoreNone
            )
        if msprof_tx:
            warnings.warn("The parameter msprof_tx will be deprecated; use mstx.", stacklevel=2)
        self._profiler_level = profiler_level
        self._aic_metrics = aic_metrics
        self._gc_detect_threshold = gc_detect_threshold
        self.record_op_args = record_op_args
        self.export_type = [export_type] if isinstance(export_type, str) else list(export_type or ["text"])
        self.with_gc = gc_detect_threshold is not None
        self.tx_enabled = msprof_tx or mstx


def _reset(name: str, value: Any, default: str) -> str:
    warnings.warn(f"Invalid parameter {name}: {value}, reset it to {default}.", stacklevel=4)
    return default


only_names_of_target(__name__)
