"""The profiler under the NPU's names and with its parameters, over torch.profiler.

It has no ``key_averages`` and ``events``: the real one writes folders ``*_ascend_pt`` for MindStudio
Insight. Here such a folder holds the trace of the host.
"""

from __future__ import annotations

import json
import os
import socket
import time
import warnings
from collections.abc import (
    Callable,
    Iterable,
)
from pathlib import Path
from typing import Any

import torch

from cuda2npu.simulator.names import only_names_of_target
from torch_npu._C._profiler import ProfilerActivity
from torch_npu.profiler.experimental_config import _ExperimentalConfig
from torch_npu.profiler.profiler_interface import supported_activities
from torch_npu.profiler.scheduler import ProfilerAction

__all__ = ["analyse", "profile", "supported_activities", "tensorboard_trace_handler"]


class _KinetoProfile:
    """A profiler without a schedule."""

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: _ExperimentalConfig | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
    ) -> None:
        _check(activities, experimental_config)
        self.metadata: dict[str, Any] = {}
        self._trace_id = custom_trace_id_callback
        self._host = torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU],
            schedule=self._host_schedule(),
            on_trace_ready=self._on_host_trace,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
        )

    def _host_schedule(self) -> Callable[[int], Any] | None:
        return None

    def _on_host_trace(self, host: Any) -> None:
        """Nobody waits for the trace."""

    def start(self) -> None:
        """Begin."""
        self._host.start()

    def stop(self) -> None:
        """End."""
        self._host.stop()

    def add_metadata(self, key: str, value: str) -> None:
        """Write a pair of texts beside the trace."""
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Write a text and a JSON document beside the trace."""
        self.metadata[key] = json.loads(value)

    def export_chrome_trace(self, output_path: str) -> None:
        """Write the trace of the host for chrome://tracing."""
        self._host.export_chrome_trace(output_path)

    def export_stacks(self, output_path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the stacks of the host; needs ``with_stack``."""
        self._host.export_stacks(output_path, metric)

    def export_memory_timeline(self, output_path: str, device: str | None = None) -> None:
        """Warn: memory over time isn't simulated."""
        warnings.warn("the simulated profiler writes no memory timeline", stacklevel=2)


class profile(_KinetoProfile):  # noqa: N801
    """Records what runs, in the steps that ``schedule`` says."""

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: _ExperimentalConfig | None = None,
        execution_trace_observer: Any = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        use_cuda: bool | None = None,
    ) -> None:
        self.schedule = schedule
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        if use_cuda is not None:
            warnings.warn("This is npu environment, use_cuda is invalid", stacklevel=2)
        super().__init__(
            activities=activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=experimental_config,
            custom_trace_id_callback=custom_trace_id_callback,
        )

    def _host_schedule(self) -> Callable[[int], Any] | None:
        chosen = self.schedule
        if chosen is None:
            return None
        return lambda step: torch.profiler.ProfilerAction[chosen(step).name]

    def _on_host_trace(self, host: Any) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin."""
        super().start()

    def stop(self) -> None:
        """End."""
        super().stop()

    def step(self) -> None:
        """Go to the next step."""
        self.step_num += 1
        self._host.step()

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Let ``callback`` give the trace its name."""
        self._trace_id = callback

    def get_trace_id(self) -> str:
        """Return the name of the trace."""
        return self._trace_id() if self._trace_id else ""

    @classmethod
    def enable_profiler_in_child_thread(
        cls,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
    ) -> None:
        """Do nothing: threads aren't recorded apart."""

    @classmethod
    def disable_profiler_in_child_thread(cls) -> None:
        """Do nothing: threads aren't recorded apart."""


def tensorboard_trace_handler(
    dir_name: str | None = None,
    worker_name: str | None = None,
    analyse_flag: bool = True,
    async_mode: bool = False,
) -> Callable[[Any], None]:
    """Return a handler that writes each trace into a folder ``*_ascend_pt`` in ``dir_name``.

    torch's own takes (dir_name, worker_name, use_gzip).
    """

    def write(profiler: Any) -> None:
        stamp = time.strftime("%Y%m%d%H%M%S") + f"{time.time_ns() // 1_000_000 % 1000:03}"
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        folder = Path(dir_name or os.getcwd(), f"{worker}_{stamp}_ascend_pt")
        results = folder / "ASCEND_PROFILER_OUTPUT" if analyse_flag else folder
        results.mkdir(parents=True, exist_ok=True)
        profiler.export_chrome_trace(str(results / "trace_view.json"))
        about = {"simulated": True, **profiler.metadata}
        (folder / "profiler_metadata.json").write_text(json.dumps(about), encoding="utf-8")

    return write


def analyse(profiler_path: str, max_process_number: int = 0, export_type: Any = None) -> None:
    """Do nothing: the simulated profiler leaves nothing to analyse."""


def _check(activities: Any, experimental_config: Any) -> None:
    """Warn, as the real profiler does, about arguments that were made for CUDA; it then ignores them."""
    if activities is not None and not set(activities) <= supported_activities():
        text = "Invalid activities, only CPU and NPU are supported, reset it to default."
        warnings.warn(text, stacklevel=4)
    if experimental_config is not None and not isinstance(experimental_config, _ExperimentalConfig):
        text = "Invalid parameter experimental_config, reset it to default."
        warnings.warn(text, stacklevel=4)


only_names_of_target(__name__)
