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
deploy/examples/demo-cluster.yaml and places two pods. Besides the packages, nothing outside this
folder is changed.
  --keep      leave the daemon running at the end, on ports 9901 and 9902 when they are free,
              with its log in build/quickstart.log
  -h, --help  this text
Environment: BUILD_DIR (default build)
END
}

keep=no
for argument in "$@"; do
    case $argument in
    -h | --help) usage && exit 0 ;;
    --keep) keep=yes ;;
    *)
        echo "deploy/quickstart.sh: unknown argument '$argument'; it takes --keep or --help" >&2
        exit 2
        ;;
    esac
done

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

# A daemon that is kept holds on to nothing of this shell, so that `quickstart.sh --keep | tail` ends.
log=$work/log
[ $keep = no ] || log=$build/quickstart.log
start() { # extender port, admin port; 0 is whatever is free
    "$build/topofit" serve --cluster deploy/examples/demo-cluster.yaml \
        --listen "127.0.0.1:$1" --admin-listen "127.0.0.1:$2" </dev/null >"$log" 2>&1 &
    daemon=$!
    tries=0
    until grep -q 'msg="\{0,1\}serving' "$log"; do
        tries=$((tries + 1))
        if [ $tries -gt 100 ] || ! kill -0 "$daemon" 2>/dev/null; then
            return 1
        fi
        sleep 0.1
    done
}
# A new file: a daemon that was kept before goes on writing into its own.
rm -f "$log"
if ! { [ $keep = yes ] && start 9901 9902; } && ! start 0 0; then
    cat "$log" >&2
    exit 1
fi
extender=127.0.0.1:$(sed -n 's/.* port=\([0-9]*\).*/\1/p' "$log")
admin=127.0.0.1:$(sed -n 's/.* adminPort=\([0-9]*\).*/\1/p' "$log")

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

case $build in
/*) bin=$build ;;
*) bin=\$PWD/$build ;;
esac
echo
if [ $keep = yes ]; then
    echo "topofit keeps running as process $daemon:"
    echo "  extender  http://$extender   debug  http://$admin/debug/   log  $log"
    echo "  stop it with:  kill $daemon"
    daemon=
else
    echo "done. 'sh deploy/quickstart.sh --keep' leaves topofit running to try more."
fi
echo "The program is $build/topofit; to find it as topofit:  export PATH=\"$bin:\$PATH\""
