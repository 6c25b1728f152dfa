"""The version of the torch_npu that is simulated."""

from cuda2npu.simulator.names import only_names_of_target, target

__version__ = f"{target().release}+sim"

only_names_of_target(__name__)
