#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A long run of the simulator: ranges of seeds in as many processes as wanted, each seed with 20,000
# steps. Prints what was found, and the sum.
#
# usage: test/sim/long.sh SIMULATOR [STEPS [JOBS [FIRST_SEED]]]
#   SIMULATOR   build/topofit-sim
#   STEPS       of all together, about (default 100000000)
#   JOBS        processes (default: all processors)
#   FIRST_SEED  (default 1)
# exit: 0 all is well, 1 something was found
set -eu
simulator=$1
steps=${2:-100000000}
jobs=${3:-$(getconf _NPROCESSORS_ONLN)}
first=${4:-1}
each=$((steps / 20000 / jobs + 1))
work=$(mktemp -d)
pids=
trap 'for pid in $pids; do kill "$pid" 2>/dev/null || true; done; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

begun=$(date +%s)
job=0
while [ "$job" -lt "$jobs" ]; do
    from=$((first + job * each))
    "$simulator" --seeds "$from..$((from + each - 1))" --steps 20000 --all --quiet \
        >"$work/$job" 2>&1 &
    pids="$pids $!"
    job=$((job + 1))
done
bad=0
for pid in $pids; do
    wait "$pid" || bad=1
done
pids=
grep -h '^seed ' "$work"/* || true
awk -v seconds=$(($(date +%s) - begun)) '
    / steps, / { steps += $1; seeds += $3; bindings += $7 }
    END { printf "%d steps, %d seeds, %d Bindings in %d s\n", steps, seeds, bindings, seconds }' \
    "$work"/*
exit $bad
