"""Plants faults in small models and shows that each is found, and that correct runs aren't accused."""

from cuda2npu.verify.selftest.run import Outcome, run_self_test, table

__all__ = ["Outcome", "run_self_test", "table"]
