#!/usr/bin/env python3
"""Train the example twice for a few steps, unconverted on the CPU and converted on a simulated NPU.

    demo.py ORIGINAL CONVERTED

The losses of each step stand side by side; the exit status is 0 only if they are equal, digit for digit.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

STEPS = 5
TRAIN = ["train.py", "--synthetic", "--steps", str(STEPS), "--batch-size", "16", "--workers", "0"]
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def main() -> int:
    """Run both, in one process and in two."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("original", type=Path)
    parser.add_argument("converted", type=Path)
    args = parser.parse_args()
    equal = True
    for title, command in (("one process", TRAIN), ("two processes, DDP", [*TORCHRUN, *TRAIN])):
        print(f"\n{title}: loss of the original on the CPU, and of the conversion on a simulated NPU")
        original = losses(args.original, "cpu-as-cuda", command)
        converted = losses(args.converted, "sim", command)
        for step, (one, other) in enumerate(zip(original, converted), 1):
            print(f"  step {step}   {one:22} {other:22} {'equal' if one == other else 'DIFFERENT'}")
        equal &= original == converted and len(original) == STEPS
    print("\nThe losses are equal, digit for digit." if equal else "\nThe losses differ.")
    return 0 if equal else 1


def losses(folder: Path, device: str, command: list[str]) -> list[str]:
    """Return the loss of each step, as the program prints it."""
    run = [sys.executable, "-W", "ignore", "-m", "cuda2npu", "run", "--quiet", "--device", device, *command]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(run)} failed:\n{done.stderr[-2000:]}")
    return [line.split()[3] for line in done.stdout.splitlines() if line.startswith("step ")]


if __name__ == "__main__":
    sys.exit(main())
