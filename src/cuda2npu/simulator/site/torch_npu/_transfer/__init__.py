"""The runtime shim ``torch_npu.contrib.transfer_to_npu``: CUDA calls that become NPU calls as they run.

What it patches, and what it leaves alone, is what the one in torch_npu 2.13 was observed to do; see the
names in each module. It lets a user try the shim and a conversion side by side.
"""
