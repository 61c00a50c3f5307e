#!/usr/bin/env bash
# CPU workers and a worker for each GPU in one Dask cluster on this machine, for clients that come
# and go; daskbfs.HybridCluster starts the same from Python:
#   cluster_configs/hybrid_node.sh [CPU_WORKERS] [EMULATED_GPUS] [SCHEDULER_FILE]
# With EMULATED_GPUS above 0 (default 0) so many workers run a GPU's kernels on the CPU, slowly, and
# no GPU is needed; else dask-cuda starts a worker for each GPU (pip install 'daskbfs[cuda13]').
set -euo pipefail
workers=${1:-1}
emulated=${2:-0}
file=${3:-scheduler.json}
trap 'kill $(jobs -p) 2>/dev/null' EXIT
dask scheduler --scheduler-file "$file" --port 0 --dashboard-address "${DASHBOARD:-:8787}" \
  --preload daskbfs.dashboard &
# one task at a time: kernels bring their own threads; no limit, since partitions cannot be spilled
for _ in $(seq "$workers"); do
  dask worker --scheduler-file "$file" --nthreads 1 --memory-limit 0 &
done
if [ "$emulated" -gt 0 ]; then
  for _ in $(seq "$emulated"); do
    dask worker --scheduler-file "$file" --nthreads 1 --memory-limit 0 --resources GPU-EMULATED=1 &
  done
else
  dask cuda worker --scheduler-file "$file" --nthreads 1 --memory-limit 0 --resources GPU=1 &
fi
wait
