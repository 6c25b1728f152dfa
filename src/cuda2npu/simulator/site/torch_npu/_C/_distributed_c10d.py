"""The process group class that programs name by this private path."""
# ruff: noqa: F401 - the names are what this module offers

from cuda2npu.simulator.names import only_names_of_target
from torch_npu._hccl import ProcessGroupHCCL

only_names_of_target(__name__)
