#!/usr/bin/env bash
# A worker for each GPU of this machine, and no CPU workers: for graphs that fit the GPUs' memory.
# dask-cuda starts the workers (pip install 'daskbfs[cuda13]'); for some of the GPUs only:
#   [CUDA_VISIBLE_DEVICES=0,1] cluster_configs/multi_gpu.sh [SCHEDULER_FILE]
# Connect with Client(scheduler_file="scheduler.json"), or daskbfs run ... --scheduler ADDRESS.
set -euo pipefail
file=${1:-scheduler.json}
if [[ $# -gt 1 || $file = -* ]]; then
  echo "multi_gpu.sh: usage: [CUDA_VISIBLE_DEVICES=0,1] multi_gpu.sh [SCHEDULER_FILE]" >&2
  exit 2
fi
if ! command -v dask-cuda-worker >/dev/null; then
  echo "multi_gpu.sh: GPU workers need dask-cuda: pip install 'daskbfs[cuda13]'" >&2
  exit 1
fi
trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
trap 'exit 0' INT TERM HUP
set -m # Ctrl-C is for this script only, which then ends the others
rm -f "$file" # of a scheduler that is gone: workers would look for it
dask scheduler --scheduler-file "$file" --host 127.0.0.1 --port 0 \
  --dashboard-address "${DASHBOARD:-127.0.0.1:8787}" --preload daskbfs.dashboard &
scheduler=$!
# one task at a time; no limit, since partitions cannot be spilled; GPU=1 says what the worker is
dask cuda worker --scheduler-file "$file" --nthreads 1 --memory-limit 0 --resources GPU=1 \
  --host 127.0.0.1 --dashboard-address 127.0.0.1:0 &
wait -n "$scheduler" $! || true
if kill -0 "$scheduler" 2>/dev/null; then
  echo "multi_gpu.sh: the GPU workers have ended: does nvidia-smi see GPUs?" >&2
  exit 1
fi
