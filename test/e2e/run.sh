#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The end-to-end tests: topofit with a real etcd, kube-apiserver and kube-scheduler.
#
#   run.sh [unittest arguments]      all tests, or those named: test_crash, test_burst.Burst ...
#
# TOPOFIT        the program under test (default: build/topofit)
# KUBE_BIN_DIR   ready binaries; otherwise they are built from Go modules and cached
# E2E_REQUIRED   set it to fail, instead of leaving the tests out, when something is missing
# E2E_KEEP       set it to keep the directory with the logs
set -eu

here=$(cd "$(dirname "$0")" && pwd)
TOPOFIT=${TOPOFIT:-$here/../../build/topofit}
export TOPOFIT

leave_out() {
    echo "end-to-end tests left out: $*" >&2
    [ -z "${E2E_REQUIRED:-}" ] || exit 1
    exit 0
}

[ -x "$TOPOFIT" ] || { echo "run.sh: no program at $TOPOFIT; set TOPOFIT" >&2; exit 1; }
for tool in python3 openssl; do
    command -v "$tool" >/dev/null 2>&1 || leave_out "$tool is missing"
done
if said=$(sh "$here/build-kube.sh"); then
    KUBE_BIN_DIR=$said
    export KUBE_BIN_DIR
else
    [ $? -eq 3 ] || exit 1
    leave_out "$said"
fi

TOPOFIT=$(realpath "$TOPOFIT")
cd "$here"
[ $# -gt 0 ] || set -- discover
exec python3 -B -m unittest "$@" -v
