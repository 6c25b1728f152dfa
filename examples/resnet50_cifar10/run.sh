#!/usr/bin/env bash
# Train on the GPUs of this machine, one process each; options are handed to train.py.
set -euo pipefail
cd "$(dirname "$0")"

export CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES:-0,1,2,3}"
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-4}"
gpus=$(echo "$CUDA_VISIBLE_DEVICES" | tr ',' '\n' | wc -l)

torchrun --standalone --nproc_per_node "$gpus" train.py --amp --save-dir checkpoints "$@"
