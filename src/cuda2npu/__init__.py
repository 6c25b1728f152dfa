"""Rewrites PyTorch code from CUDA to Huawei Ascend NPUs."""

__version__ = "0.1.0"
