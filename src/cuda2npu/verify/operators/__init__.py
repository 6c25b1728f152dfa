"""Which operators a run used, and what the target torch_npu and chip make of each."""
