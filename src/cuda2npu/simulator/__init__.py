"""An "npu" device on host memory, so that converted code runs on a machine without an NPU.

``backend/`` is the device: a PyTorch backend in C++ whose kernels are the CPU's. ``build`` compiles it
once for the PyTorch at hand, and loads it. What stands in front of it is the simulated ``torch_npu``
package.

A simulation shows that code runs, where its tensors lie, which types flow, and that results equal the
CPU's. It can't show a real NPU's kernels, precision, speed or memory.
"""
