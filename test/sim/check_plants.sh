#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A mistake that was put in is found, for what it is; and plants.sh says so where it could not try.
# usage: check_plants.sh SIMULATOR
set -u
here=$(cd "$(dirname "$0")" && pwd)
simulator=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

expect() { # exit status, words, command...
    want=$1 words=$2
    shift 2
    "$@" >"$work/output" 2>&1
    status=$?
    if [ "$status" -ne "$want" ] || ! grep -q -- "$words" "$work/output"; then
        echo "check_plants.sh: exit $status, wanted $want and \"$words\": $*" >&2
        tail -3 "$work/output" >&2
        failed=1
    fi
}

fake() { # name, what it does when it is not asked for help
    cat >"$work/$1" <<END
#!/bin/sh
case \$1 in --help) printf 'usage\\nmistakes:\\n  drop-delete  what\\n' ;; *) $2 ;; esac
END
    chmod +x "$work/$1"
}
fake crashes 'kill -SEGV $$'
fake is-silent 'exit 1'

# A pod that is gone and still known: whoever sees it first, the checker or a reconciler.
lost='is held for uid [-0-9a-f]*, which is gone$\|pod [-a-z0-9/]*: in memory only$'
expect 1 "$lost" "$simulator" --seed 1 --plant drop-delete --quiet
expect 2 'cannot be used' "$simulator" --seed 1 --plant drop-delte --quiet
expect 0 '^drop-delete  *[0-9][0-9]* ' sh "$here/plants.sh" "$simulator" 20000 drop-delete
expect 1 'not found in 10' sh "$here/plants.sh" "$simulator" 10 drop-delete
expect 2 'no mistake drop-delte' sh "$here/plants.sh" "$simulator" 10 drop-delete drop-delte
expect 2 'no mistake to be found' sh "$here/plants.sh" "$simulator" 10 drop-delte
expect 2 'no number of steps' sh "$here/plants.sh" "$simulator" drop-delete
expect 2 'did not tell' sh "$here/plants.sh" "$work/crashes" 10 drop-delete
expect 2 'did not tell' sh "$here/plants.sh" "$work/is-silent" 10 drop-delete
exit $failed
