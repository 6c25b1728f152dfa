#!/usr/bin/env bash
# Train on several GPUs of this machine: ./launch.sh [options of train.py]
set -euo pipefail
cd "$(dirname "$0")"

set -a
source .env
set +a
export CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES:-0,1}"
export NCCL_DEBUG=${NCCL_DEBUG:-WARN}
gpus=$(echo "$CUDA_VISIBLE_DEVICES" | tr ',' '\n' | wc -l)

if command -v nvidia-smi > /dev/null; then
    nvidia-smi --query-gpu=index,name,memory.total --format=csv
fi

torchrun --standalone --nproc_per_node "$gpus" train.py \
    --config config.yaml \
    --launch launch.json \
    --backend nccl "$@" 2>&1 | tee train.log
