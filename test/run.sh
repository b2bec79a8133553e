#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, builds, and runs all tests that can run on this machine.
set -eu
cd "$(dirname "$0")/.."

usage() {
    cat <<'EOF'
usage: sh test/run.sh [OPTION...]

  --only PART[,PART]   run only these parts: unit, chaos, e2e, net, chart
  --sanitize LIST      build with sanitizers: address,undefined or thread
  --require-all        a part that cannot run here is a failure
  --no-install         do not install packages
  -h, --help           this text

Parts: unit (unit, property, golden, layer and documentation tests), chaos (against an API server
that goes wrong), e2e (against a real kube-apiserver and kube-scheduler; needs Go or KUBE_BIN_DIR,
python3 and openssl), net (the same over a link that fails; also needs root, iproute2 and iptables),
chart (the Helm chart and the manifests; needs npm, python3 with pip, and x86-64). What cannot run is
left out, and named in the last line.
Environment: BUILD_DIR (default build, or build-SANITIZERS), CC, JOBS (default: all processors).
EOF
}

die() {
    echo "test/run.sh: $*" >&2
    exit 2
}

value_of() { # an option, the arguments behind it
    [ -n "${2:-}" ] || die "$1 needs a value; see --help"
    echo "$2"
}

only=unit,chaos,e2e,net,chart
sanitize=
require_all=no
install=yes
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage && exit 0 ;;
    --only)
        only=$(value_of "$@")
        shift
        ;;
    --only=*) only=${1#*=} ;;
    --sanitize)
        sanitize=$(value_of "$@")
        shift
        ;;
    --sanitize=*) sanitize=${1#*=} ;;
    --require-all) require_all=yes ;;
    --no-install) install=no ;;
    *) die "unknown argument '$1'; see --help" ;;
    esac
    shift
done
[ -n "$only" ] || die "--only needs a value; see --help"
for part in $(echo "$only" | tr , ' '); do
    case $part in
    unit | chaos | e2e | net | chart) ;;
    *) die "no part is called '$part' (unit, chaos, e2e, net, chart)" ;;
    esac
done

jobs=${JOBS:-$(getconf _NPROCESSORS_ONLN)}
build=${BUILD_DIR:-build${sanitize:+-$(echo "$sanitize" | tr , -)}}
case $build in
/*) ;;
*) build=$PWD/$build ;;
esac
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

began=$(date +%s)
say() { printf '\n== %s (%d s)\n' "$*" $(($(date +%s) - began)); }

wanted() {
    case ,$only, in
    *,"$1",*) return 0 ;;
    *) return 1 ;;
    esac
}

ran=
failed=
left_out=

# A part that cannot run here says "... left out: why" in one line and succeeds.
run_part() { # name, command...
    name=$1
    shift
    wanted "$name" || return 0
    say "$name"
    {
        status=0
        "$@" 2>&1 || status=$?
        echo $status >"$scratch/status"
    } | tee "$scratch/output"
    if [ "$(cat "$scratch/status")" != 0 ]; then
        failed="$failed $name"
        mv "$scratch/output" "$scratch/failed-$name"
    elif grep -q ' left out: ' "$scratch/output"; then
        left_out="$left_out $name"
    else
        ran="$ran $name"
    fi
}

configure_and_build() {
    cmake -S . -B "$build" -G Ninja -DSANITIZE="$sanitize" >"$scratch/cmake.log" 2>&1 || {
        cat "$scratch/cmake.log"
        return 1
    }
    cmake --build "$build" --parallel "$jobs"
}

run_unit() {
    ctest --test-dir "$build" --output-on-failure --parallel "$jobs"
}

if [ $install = yes ]; then
    say "packages"
    sh deploy/install-deps.sh build test
fi
say "build in $build"
configure_and_build

BUILD_DIR=$build
TOPOFIT=$build/topofit
export BUILD_DIR TOPOFIT
run_part unit run_unit
run_part chaos sh test/chaos/run.sh
run_part e2e sh test/e2e/run.sh
run_part net sh test/net/run.sh
run_part chart sh test/chart/run.sh

if [ $require_all = yes ]; then
    failed="$failed$left_out"
fi
# Once more, as the parts after it have pushed it out of sight.
for name in $failed; do
    [ -e "$scratch/failed-$name" ] || continue
    say "what $name said last"
    tail -n 60 "$scratch/failed-$name"
done
say "passed:${ran:- nothing}; left out:${left_out:- nothing}; failed:${failed:- nothing}"
[ -z "$failed" ]
