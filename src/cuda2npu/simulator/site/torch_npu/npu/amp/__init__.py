"""Mixed precision under the names of ``torch.npu.amp``."""
# ruff: noqa: F401 - the names are what this module offers

from cuda2npu.simulator.names import only_names_of_target
from torch_npu.npu.amp import (
    common,
    sharded_grad_scaler,
)
from torch_npu.npu.amp.autocast_mode import (
    autocast,
    custom_bwd,
    custom_fwd,
)
from torch_npu.npu.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

only_names_of_target(__name__)
