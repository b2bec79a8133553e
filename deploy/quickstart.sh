#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds topofit, runs it on a demo cluster (no Kubernetes), and shows a pod's way through filter,
# prioritize and bind.
set -eu
cd "$(dirname "$0")/.."

usage() {
    cat <<'END'
usage: sh deploy/quickstart.sh [--keep]

Installs what is missing (Debian packages), builds into build/, starts topofit on
deploy/examples/demo-cluster.yaml and places two pods. Nothing outside this folder is changed.
  --keep      leave the daemon running at the end
  -h, --help  this text
Environment: BUILD_DIR (default build)
END
}

keep=no
case ${1:-} in
-h | --help) usage && exit 0 ;;
--keep) keep=yes ;;
'') ;;
*) usage >&2 && exit 2 ;;
esac

build=${BUILD_DIR:-build}
sh deploy/install-deps.sh build demo
echo "building into $build/ ..."
work=$(mktemp -d)
daemon=
finish() {
    if [ -n "$daemon" ]; then
        kill "$daemon" 2>/dev/null || true
        wait "$daemon" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

if ! { cmake -S . -B "$build" -G Ninja && cmake --build "$build" --target topofit; } \
    >"$work/build.log" 2>&1; then
    tail -n 30 "$work/build.log" >&2
    exit 1
fi

# Port 0: whatever is free. The log says which ports were taken.
"$build/topofit" serve --cluster deploy/examples/demo-cluster.yaml --listen 127.0.0.1:0 \
    --admin-listen 127.0.0.1:0 2>"$work/log" &
daemon=$!
tries=0
until grep -q 'msg="\{0,1\}serving' "$work/log"; do
    tries=$((tries + 1))
    if [ $tries -gt 100 ] || ! kill -0 "$daemon" 2>/dev/null; then
        cat "$work/log" >&2
        exit 1
    fi
    sleep 0.1
done
extender=127.0.0.1:$(sed -n 's/.* port=\([0-9]*\).*/\1/p' "$work/log")
admin=127.0.0.1:$(sed -n 's/.* adminPort=\([0-9]*\).*/\1/p' "$work/log")

title() { printf '\n=== %s\n\n' "$*"; }
show() { curl -sS --noproxy '*' "$admin$1?format=text"; }
# The answer as it comes, on a few lines.
post() {
    curl -sS --noproxy '*' --json "$2" "$extender$1" |
        sed -e 's/},{/},\n {/g' -e 's/,"\([A-Z][A-Za-z]*Nodes\|Error\)":/,\n "\1":/g'
    echo
}

nodes='"NodeNames":["dgx-1v","hgx-h100","a40-pairs","pcie"]'

pod() { # name, GPUs, annotations
    printf '{"metadata":{"namespace":"ml","name":"%s","uid":"uid-%s","annotations":{%s}},' "$1" "$1" "$3"
    printf '"spec":{"containers":[{"name":"main","resources":{"limits":{"nvidia.com/gpu":"%s"}}}]}}' "$2"
}

bind() { # pod, node
    post /bind "{\"PodName\":\"$1\",\"PodNamespace\":\"ml\",\"PodUID\":\"uid-$1\",\"Node\":\"$2\"}"
    echo
    show "/debug/pods/ml/$1"
}

best() { # name of the node with the highest score
    sed -n 's/.*"Host":"\([^"]*\)","Score":10.*/\1/p' "$work/scores"
}

title "the cluster: four machines with real wirings                GET /debug/nodes"
show /debug/nodes

train=$(pod train-0 4 '"topofit.io/topology":"hard","topofit.io/topology-max-tier":"0"')
title "train-0 wants 4 GPUs joined by NVLink: which nodes fit?     POST /filter"
post /filter "{\"Pod\":$train,$nodes}"

title "which is best?                                              POST /prioritize"
post /prioritize "{\"Pod\":$train,$nodes}" | tee "$work/scores"

title "bind it there                                               POST /bind"
bind train-0 "$(best)"

single=$(pod notebook-1 1 '')
title "notebook-1 wants one GPU: taken where it does least damage  POST /bind"
post /filter "{\"Pod\":$single,$nodes}" >/dev/null
post /prioritize "{\"Pod\":$single,$nodes}" >"$work/scores"
bind notebook-1 "$(best)"

title "who holds what now                                          GET /debug/nodes/dgx-1v"
show /debug/nodes/dgx-1v

echo
if [ $keep = yes ]; then
    echo "topofit keeps running as process $daemon:"
    echo "  extender  http://$extender   debug  http://$admin/debug/"
    daemon=
else
    echo "done. 'sh deploy/quickstart.sh --keep' leaves topofit running to try more."
fi
