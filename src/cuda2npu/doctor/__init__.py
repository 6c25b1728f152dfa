"""``cuda2npu doctor``: what is installed here, whether it goes together, and what the codes in a log mean.

Data runs downwards: :mod:`environment` looks at the machine once, the checks are pure functions over
what it saw, :mod:`diagnosis` calls them all and :mod:`output` prints the result. torch and torch_npu are
only ever imported in a child process, since a broken CANN makes their import fail or hang.
"""
