#!/usr/bin/env bash
# A Dask scheduler and CPU workers on this machine, for clients that come and go:
#   cluster_configs/local.sh [WORKERS] [SCHEDULER_FILE]     (default: 1 worker, scheduler.json)
# One worker has all cores in its kernels; take more than one to try what a cluster does.
# Connect with Client(scheduler_file="scheduler.json"), or daskbfs run ... --scheduler ADDRESS.
set -euo pipefail
workers=${1:-1}
file=${2:-scheduler.json}
trap 'kill $(jobs -p) 2>/dev/null' EXIT
dask scheduler --scheduler-file "$file" --port 0 --dashboard-address "${DASHBOARD:-:8787}" \
  --preload daskbfs.dashboard &
for _ in $(seq "$workers"); do
  # one task at a time: kernels bring their own threads; no limit, since partitions cannot be spilled
  dask worker --scheduler-file "$file" --nthreads 1 --memory-limit 0 &
done
wait
