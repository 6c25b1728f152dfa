"""Where the real package defines its SyncBatchNorm."""
# ruff: noqa: F401 - the names are what this module offers

from cuda2npu.simulator.names import only_names_of_target
from cuda2npu.simulator.sync_batch_norm import SyncBatchNorm

only_names_of_target(__name__)
