"""Where the real package defines :func:`is_hccl_available`."""
# ruff: noqa: F401 - the names are what this module offers

from cuda2npu.simulator.names import only_names_of_target
from torch_npu._hccl import is_hccl_available

only_names_of_target(__name__)
