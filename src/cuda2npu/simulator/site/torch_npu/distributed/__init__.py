"""What ``torch_npu.distributed`` adds to torch.distributed."""
# ruff: noqa: F401 - the names are what this module offers

from cuda2npu.simulator.names import only_names_of_target
from torch_npu.distributed import distributed_c10d
from torch_npu.distributed.distributed_c10d import is_hccl_available


def is_available() -> bool:
    """Whether several processes can work together."""
    return True


only_names_of_target(__name__)
