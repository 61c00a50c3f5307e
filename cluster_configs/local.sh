#!/usr/bin/env bash
# A Dask scheduler and CPU workers on this machine, for clients that come and go:
#   cluster_configs/local.sh [WORKERS] [SCHEDULER_FILE]     (default: 1 worker, scheduler.json)
# One worker has all cores in its kernels; take more than one to try what a cluster does.
# Connect with Client(scheduler_file="scheduler.json"), or daskbfs run ... --scheduler ADDRESS.
# It listens on 127.0.0.1 only; its page is http://127.0.0.1:8787/bfs.
set -euo pipefail
workers=${1:-1}
file=${2:-scheduler.json}
if [[ $# -gt 2 || ! $workers =~ ^[1-9][0-9]*$ ]]; then
  echo "local.sh: usage: local.sh [WORKERS] [SCHEDULER_FILE], WORKERS a number from 1 on" >&2
  exit 2
fi
trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
trap 'exit 0' INT TERM HUP
set -m # Ctrl-C is for this script only, which then ends the others
rm -f "$file" # of a scheduler that is gone: workers would look for it
dask scheduler --scheduler-file "$file" --host 127.0.0.1 --port 0 \
  --dashboard-address "${DASHBOARD:-127.0.0.1:8787}" --preload daskbfs.dashboard &
scheduler=$!
# one task at a time: kernels bring their own threads; no limit, since partitions cannot be spilled
dask worker --scheduler-file "$file" --nworkers "$workers" --nthreads 1 --memory-limit 0 \
  --host 127.0.0.1 --dashboard-address 127.0.0.1:0 &
wait "$scheduler"
