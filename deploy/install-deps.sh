#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The one place that knows which Debian 12 packages are needed, and for what.
# Installs what is missing, quietly; does nothing and says nothing when all is there.
set -eu

usage() {
    cat <<'EOF'
usage: sh deploy/install-deps.sh [--list] [GROUP...]

Installs the Debian packages of the groups (default: build).
  build     to build the program
  runtime   to run a program that was built elsewhere
  demo      to talk to the program by hand, as deploy/quickstart.sh does
  test      to build and run the tests (besides build)
  ci        what .ci/run needs besides build and test
  --list    only print the packages of the groups, one a line
EOF
}

packages_of() {
    case $1 in
    build)
        echo gcc libc6-dev cmake ninja-build pkg-config libmicrohttpd-dev \
            libgnutls28-dev libcurl4-openssl-dev libjansson-dev libyaml-dev libyajl-dev
        ;;
    runtime) echo libmicrohttpd12 libgnutls30 libcurl4 libjansson4 libyaml-0-2 libyajl2 ca-certificates ;;
    demo) echo curl ;;
    test) echo libcmocka-dev openssl ;;
    ci)
        echo clang-19 clang-format-19 llvm-19 libclang-rt-19-dev shellcheck mmdebstrap \
            buildah git openssl curl python3 python3-pip iproute2 iptables gdb
        ;;
    *) return 1 ;;
    esac
}

is_installed() {
    [ "$(dpkg-query --show --showformat '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

die() {
    echo "install-deps: $*" >&2
    exit 1
}

# Runs a command quietly; on failure shows the end of what it printed.
quietly() {
    "$@" >"$log" 2>&1 && return
    tail -n 15 "$log" >&2
    die "failed: $*"
}

list=no
groups=
for argument; do
    case $argument in
    -h | --help) usage && exit 0 ;;
    --list) list=yes ;;
    *)
        packages_of "$argument" >/dev/null || { usage >&2 && exit 2; }
        groups="$groups $argument"
        ;;
    esac
done

wanted=
for group in ${groups:-build}; do
    wanted="$wanted $(packages_of "$group")"
done
if [ $list = yes ]; then
    # shellcheck disable=SC2086 # a list of package names
    printf '%s\n' $wanted
    exit 0
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    die "this is not a Debian: install the counterparts of these yourself:$wanted"
fi

missing=
for package in $wanted; do
    is_installed "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null; then
    as_root=sudo
else
    die "neither root nor sudo; ask an administrator to install:$missing"
fi

echo "installing:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# --no-remove: a machine's own choice (say, another flavour of libcurl) is never thrown out.
apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300"
# shellcheck disable=SC2086 # words of a command, a list of packages
{
    quietly $apt update
    quietly $apt install --yes --no-install-recommends --no-remove $missing
}
