"""Where a string goes: whether it ends up as a device, as a backend, or somewhere else.

A literal is followed through its file on demand: to the variable, parameter, attribute, option or key
that it is given to, on to every place where that is read, and so on until a call or a comparison says
what it is. Nothing is computed for names that no CUDA word can reach.
"""

from cuda2npu.rewrite.flow.flow import Flow
from cuda2npu.rewrite.flow.uses import Use

__all__ = ["Flow", "Use"]
