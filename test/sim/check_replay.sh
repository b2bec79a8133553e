#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The same seed tells the same story, byte for byte.
# usage: check_replay.sh SIMULATOR
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for seed in 3 17; do
    for run in 1 2; do
        "$1" --seed $seed --steps 8000 --trace | grep -v ' steps, 1 seeds, ' >"$work/$run"
    done
    cmp "$work/1" "$work/2"
done
