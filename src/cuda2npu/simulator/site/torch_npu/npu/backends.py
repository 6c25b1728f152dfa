"""What ``torch.npu.backends`` offers beside the switches of attention."""
# ruff: noqa: F401 - the names are what this module offers

from __future__ import annotations

from cuda2npu.simulator.names import only_names_of_target
from torch_npu.npu._backends import (
    enable_flash_sdp,
    enable_math_sdp,
    enable_mem_efficient_sdp,
    flash_sdp_enabled,
    math_sdp_enabled,
    mem_efficient_sdp_enabled,
    preferred_linalg_library,
    sdp_kernel,
)


class NPUFFTPlanCache:
    """The cache of FFT plans: settings that have no effect here."""

    max_size = 20
    size = 0

    def clear(self) -> None:
        """Do nothing: no plans are kept."""


fft_plan_cache = NPUFFTPlanCache()

only_names_of_target(__name__)
