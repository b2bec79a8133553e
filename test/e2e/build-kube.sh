#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Build etcd, kube-apiserver and kube-scheduler from their Go modules, for the end-to-end tests.
#
#   build-kube.sh              build what is missing, print the directory
#
# KUBE_BIN_DIR   where the binaries go (default: a cache outside the source tree)
# GOCACHE        Go's build cache; if unset, an own one is made (5 GB) and removed at the end
# KEEP_GOCACHE   set it to keep that one
# JOBS           packages compiled at once (default 2: 4 GB of memory are enough)
#
# Needs go and nothing else; no C compiler. About 6 minutes on two cores. Where it cannot be done,
# the exit status is 3 and the one line printed says what is missing.
set -eu

KUBE_VERSION=1.37.2
ETCD_VERSION=3.7.0
GO_NEEDED=1.26

say() { echo "build-kube: $*" >&2; }
fail() { say "$*"; exit 1; }
cannot() { echo "$*"; exit 3; }

cache_home=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}
bin_dir=${KUBE_BIN_DIR:-$cache_home/topofit/kube-$KUBE_VERSION}

missing=
for program in etcd kube-apiserver kube-scheduler; do
    [ -x "$bin_dir/$program" ] || missing="$missing $program"
done
if [ -z "$missing" ]; then
    echo "$bin_dir"
    exit 0
fi

command -v go >/dev/null 2>&1 ||
    cannot "no kube-apiserver: install Go $GO_NEEDED to build it, or set KUBE_BIN_DIR"

# Succeeds when version $1 ("1.26.8", "1.27rc1") is at least $2 ("1.26").
at_least() {
    echo "$1 $2" | awk '{
        split($1, have, "."); split($2, want, ".")
        exit !(have[1] + 0 > want[1] || (have[1] + 0 == want[1] && have[2] + 0 >= want[2]))
    }'
}
go_version=$(GOTOOLCHAIN=local go env GOVERSION | sed 's/^go//')
at_least "$go_version" "$GO_NEEDED" ||
    cannot "no kube-apiserver: Go $go_version is here, building it needs Go $GO_NEEDED"

mkdir -p "$bin_dir"
bin_dir=$(cd "$bin_dir" && pwd)
work=$(mktemp -d "$bin_dir/.build.XXXXXX")
compiler=
cleanup() {
    if [ -n "$compiler" ]; then
        kill "$compiler" 2>/dev/null || true
        wait "$compiler" || true
    fi
    [ -n "${KEEP_GOCACHE:-}" ] && [ -d "$work/gocache" ] && mv "$work/gocache" "$bin_dir/gocache" &&
        say "kept $bin_dir/gocache"
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS='' GOWORK=off
export GOTMPDIR="$work"
if [ -z "${GOCACHE:-}" ]; then
    if [ -d "$bin_dir/gocache" ]; then
        export GOCACHE="$bin_dir/gocache"
    else
        export GOCACHE="$work/gocache"
    fi
fi

# k8s.io/kubernetes names its own sub-modules by relative path, which counts only in a main module:
# ours has to say which published version each of them is.
write_module() {
    upstream=$(go mod download -json "k8s.io/kubernetes@v$KUBE_VERSION" |
        sed -n 's/^[[:space:]]*"GoMod": "\(.*\)",*$/\1/p')
    [ -r "$upstream" ] || return 1
    awk -v kube="$KUBE_VERSION" -v etcd="$ETCD_VERSION" '
        BEGIN {
            staging = kube
            sub(/^1\./, "0.", staging)
            print "module topofit.test/kube"
            print "require go.etcd.io/etcd/server/v3 v" etcd
            print "require k8s.io/kubernetes v" kube
        }
        $1 == "go" || $1 == "godebug" { print }
        $2 == "=>" && $3 ~ /^\.\/staging\// { print "replace " $1 " => " $1 " v" staging }
    ' "$upstream" >go.mod
    mkdir -p etcd
    cat >etcd/main.go <<'GO'
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
GO
    # Listing the packages completes go.mod and go.sum. `go mod tidy` would drag in test modules.
    go list -mod=mod -deps ./etcd k8s.io/kubernetes/cmd/kube-apiserver \
        k8s.io/kubernetes/cmd/kube-scheduler >/dev/null
}

package_of() {
    case $1 in
    etcd) echo ./etcd ;;
    *) echo "k8s.io/kubernetes/cmd/$1" ;;
    esac
}

# Without a version the binaries stop at start: "version string doesn't match".
minor=${KUBE_VERSION#1.}
minor=${minor%%.*}
stamp=
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    stamp="$stamp -X $package.gitVersion=v$KUBE_VERSION"
    stamp="$stamp -X $package.gitMajor=1 -X $package.gitMinor=$minor"
done

mkdir "$work/module"
cd "$work/module"
say "Go $go_version, target $bin_dir; downloading the modules (600 MB when none are cached)"
write_module || fail "the Go modules cannot be downloaded: is the module proxy reachable?"
for program in $missing; do
    say "building $program"
    # In the background, so that a signal is heard at once.
    go build -p "${JOBS:-2}" -trimpath -ldflags "-s -w $stamp" -o "$work/$program" \
        "$(package_of "$program")" &
    compiler=$!
    wait "$compiler" || fail "$program cannot be built"
    compiler=
    mv "$work/$program" "$bin_dir/$program"
done
say "done"
echo "$bin_dir"
