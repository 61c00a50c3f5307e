#!/usr/bin/env bash
# CPU workers and a worker for each GPU in one Dask cluster on this machine, for clients that come
# and go; daskbfs.HybridCluster starts the same from Python:
#   cluster_configs/hybrid_node.sh [CPU_WORKERS] [EMULATED_GPUS] [SCHEDULER_FILE]
# With EMULATED_GPUS above 0 (default 0) so many workers run a GPU's kernels on the CPU, slowly, and
# no GPU is needed; else dask-cuda starts a worker for each GPU (pip install 'daskbfs[cuda13]').
# Connect with Client(scheduler_file="scheduler.json"), or daskbfs run ... --scheduler ADDRESS.
set -euo pipefail
workers=${1:-1}
emulated=${2:-0}
file=${3:-scheduler.json}
if [[ $# -gt 3 || ! $workers =~ ^[1-9][0-9]*$ || ! $emulated =~ ^(0|[1-9][0-9]*)$ ]]; then
  echo "hybrid_node.sh: usage: hybrid_node.sh [CPU_WORKERS] [EMULATED_GPUS] [SCHEDULER_FILE]," \
    "CPU_WORKERS from 1 on, EMULATED_GPUS from 0 on" >&2
  exit 2
fi
if [[ $emulated = 0 ]] && ! command -v dask-cuda-worker >/dev/null; then
  echo "hybrid_node.sh: GPU workers need dask-cuda: pip install 'daskbfs[cuda13]'" >&2
  exit 1
fi
trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
trap 'exit 0' INT TERM HUP
set -m # Ctrl-C is for this script only, which then ends the others
rm -f "$file" # of a scheduler that is gone: workers would look for it
dask scheduler --scheduler-file "$file" --host 127.0.0.1 --port 0 \
  --dashboard-address "${DASHBOARD:-127.0.0.1:8787}" --preload daskbfs.dashboard &
scheduler=$!
# one task at a time: kernels bring their own threads; no limit, since partitions cannot be spilled
each=(--scheduler-file "$file" --nthreads 1 --memory-limit 0 --host 127.0.0.1
  --dashboard-address 127.0.0.1:0)
dask worker "${each[@]}" --nworkers "$workers" &
if [[ $emulated = 0 ]]; then
  dask cuda worker "${each[@]}" --resources GPU=1 &
  wait -n "$scheduler" $! || true
  if kill -0 "$scheduler" 2>/dev/null; then
    echo "hybrid_node.sh: the GPU workers have ended: does nvidia-smi see GPUs?" >&2
    exit 1
  fi
else
  dask worker "${each[@]}" --nworkers "$emulated" --resources GPU-EMULATED=1 &
  wait "$scheduler"
fi
