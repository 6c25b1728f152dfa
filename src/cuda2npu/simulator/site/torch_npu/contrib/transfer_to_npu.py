"""Importing this module makes CUDA calls of this process NPU calls, as the real shim does.

Not simulated: its exceptions for transformers, accelerate, peft and trl, which see no CUDA there.
"""

import os
import warnings

from cuda2npu.simulator.names import only_names_of_target
from torch_npu._transfer import functions, modules, others

if os.getenv("RANK", "0") == "0":
    warnings.warn(
        "torch.cuda.* is replaced with torch.npu.*, torch.Tensor.cuda and torch.nn.Module.cuda with their "
        "npu methods, nccl with hccl, and torch.cuda.DoubleTensor with torch.npu.FloatTensor.",
        ImportWarning,
        stacklevel=2,
    )
modules.apply()
functions.apply()
others.apply()

only_names_of_target(__name__)
