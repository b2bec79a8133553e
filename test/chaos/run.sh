#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Chaos: topofit between an API server that goes wrong and an impatient kube-scheduler.
#
#   run.sh [--steps N] [--seed S] [--verbose]      default: 150 steps, seed 1; half a minute
#
# BUILD_DIR   where hostile_api is (default: build)
# TOPOFIT     the program under test (default: topofit in there)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD_DIR:-$here/../../build}
topofit=${TOPOFIT:-$build/topofit}

if [ ! -x "$build/hostile_api" ]; then
    echo "chaos left out: $build/hostile_api is not built (it needs cmocka)"
    exit 0
fi
[ -x "$topofit" ] || { echo "run.sh: no program at $topofit; set TOPOFIT" >&2; exit 2; }

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$build/hostile_api" chaos --topofit "$topofit" --config "$here/topofit.yaml" \
    --directory "$directory" "$@"
