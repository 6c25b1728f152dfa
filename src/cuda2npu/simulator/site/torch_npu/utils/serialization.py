"""Saving and loading."""

from __future__ import annotations

from typing import Any

import torch

from cuda2npu.simulator.names import only_names_of_target

load = torch.load
save = torch.save


def save_async(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
    model: Any = None,
) -> None:
    """Save ``obj``; it is written when the call returns."""
    torch.save(obj, f)


only_names_of_target(__name__)
