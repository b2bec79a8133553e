#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs the README's two commands on a Debian 12 that has nothing but apt: as root, and as a user
# with sudo. Needs root, mmdebstrap and git.
# usage: bare-machine.sh DIRECTORY [--only-base]
# DIRECTORY/base.tar, the bare machine, is kept for the next time; --only-base makes nothing else.
set -eu
mkdir -p "$1"
directory=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
source=$PWD
root=$directory/root
quickstart='sh deploy/quickstart.sh'
tests='sh test/run.sh'

die() {
    echo "bare-machine: $*" >&2
    exit 1
}

make_base() {
    [ -e "$directory/base.tar" ] && return
    sources=
    for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
        [ -z "$sources" ] && [ -s "$file" ] && sources=$file
    done
    # shellcheck disable=SC2086 # none, or one name
    mmdebstrap --quiet --variant=apt --include=ca-certificates --components=main bookworm \
        "$directory/base-new.tar" $sources
    mv "$directory/base-new.tar" "$directory/base.tar"
}

# What this machine needs to reach its package mirror, and names.
copy_settings() { # root
    cp /etc/resolv.conf /etc/hosts "$1/etc/"
    for file in /etc/apt/apt.conf.d/99*; do
        [ ! -e "$file" ] || cp "$file" "$1/etc/apt/apt.conf.d/"
    done
}

# A new machine with a clean clone in /srv/topofit.
make_machine() {
    rm -rf "$root"
    mkdir -p "$root"
    tar -xf "$directory/base.tar" -C "$root"
    copy_settings "$root"
    mkdir "$root/srv/topofit"
    git -c safe.directory="$source" archive HEAD | tar -xf - -C "$root/srv/topofit"
}

# Runs a command line inside, in namespaces that take mounts and processes with them.
inside() { # directory, home, command line
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare --mount --pid --fork --kill-child sh -euc '
        mount -t proc proc "$1/proc"
        mount --rbind /dev "$1/dev"
        exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$2" \
            sh -euc "cd /srv/topofit; $3"' inside "$root" "$1" "$2"
}

say() { printf '\n### %s\n' "$*"; }

if [ "${2:-}" = --only-base ]; then
    make_base
    exit 0
fi
for command in "$quickstart" "$tests"; do
    grep -qE "^ *(\\$ )?$command\$" README.md || die "README.md does not show '$command'"
done
say "a bare machine"
make_base

make_machine
say "refused, with one line, to a user who is neither root nor has sudo"
if answer=$(inside / 'setpriv --reuid=65534 --regid=65534 --clear-groups \
    sh deploy/install-deps.sh build 2>&1'); then
    die "installed something without any right to"
fi
[ "$(echo "$answer" | wc -l)" = 1 ] || die "more than one line: $answer"
echo "$answer"

for command in "$quickstart" "$quickstart" "$tests" "$tests"; do
    say "root: $command"
    inside /root "$command"
done

make_machine
say "a user with sudo: $quickstart"
inside /root 'apt-get -qq update
    apt-get -qq install --yes --no-install-recommends sudo >/dev/null
    useradd --create-home person
    echo "person ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/person
    chown -R person /srv/topofit
    su person -c "'"$quickstart"'"'
rm -rf "$root"
