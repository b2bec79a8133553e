#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The network tests: topofit, a real kube-apiserver, and a link between them that fails.
#
#   run.sh [unittest arguments]      all tests, or those named: test_reset, test_slow.SlowLink ...
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
    echo "network tests left out: $*" >&2
    [ -z "${E2E_REQUIRED:-}" ] || exit 1
    exit 0
}

[ -x "$TOPOFIT" ] || { echo "run.sh: no program at $TOPOFIT; set TOPOFIT" >&2; exit 1; }
PATH=$PATH:/usr/sbin:/sbin
export PATH
for tool in python3 openssl unshare nsenter ip tc ss iptables; do
    command -v "$tool" >/dev/null 2>&1 || leave_out "$tool is missing"
done
[ "$(id -u)" = 0 ] || leave_out "only root can make network namespaces"
# What the tests need of the kernel, tried where it does no harm.
unshare --net sh -ec '
    ip link set lo up
    ip link add probe0 type veth peer name probe1
    ip link set probe0 up
    tc qdisc add dev probe0 root tbf rate 1mbit burst 4kb limit 16kb
    iptables -A INPUT -p tcp --dport 1 -m statistic --mode random --probability 0.5 -j DROP
    iptables -A INPUT -p tcp --dport 1 -j REJECT --reject-with tcp-reset
' >/dev/null 2>&1 || leave_out "the kernel lacks network namespaces, veth, tbf or iptables"
if said=$(sh "$here/../e2e/build-kube.sh"); then
    KUBE_BIN_DIR=$said
    export KUBE_BIN_DIR
else
    [ $? -eq 3 ] || exit 1
    leave_out "$said"
fi

TOPOFIT=$(realpath "$TOPOFIT")
cd "$here"
export PYTHONPATH="$here/../e2e"
[ $# -gt 0 ] || set -- discover
# shellcheck disable=SC2016 # the inner shell expands it
exec unshare --net sh -c 'ip link set lo up && exec python3 -B -m unittest "$@" -v' sh "$@"
