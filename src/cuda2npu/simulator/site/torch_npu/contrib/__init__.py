"""Modules and functions that the real package contributes; of them only transfer_to_npu is simulated."""

from cuda2npu.simulator.names import only_names_of_target

only_names_of_target(__name__)
