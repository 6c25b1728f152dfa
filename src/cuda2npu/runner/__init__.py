"""Runs a script on an NPU, on a simulated one, or with its CUDA calls mapped to the CPU."""
