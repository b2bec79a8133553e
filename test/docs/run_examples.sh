#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs the examples of the documentation: every block fenced as ```sh, in a shell of its own, with
# the repository as working directory and `topofit` on PATH. When the next block is fenced as
# ```text output, the standard output must equal it. A block fails when a command of it fails, when
# it takes longer than a minute, or when it leaves a topofit running.
#
# Blocks fenced otherwise (```console: they need a cluster) are not run, nor are those that install
# or build. Ports 9901 and 9902 are replaced, so that a daemon on this machine is not disturbed.
# usage: run_examples.sh SOURCE_DIR TOPOFIT
set -eu
[ $# -eq 2 ] || {
    echo "usage: $0 SOURCE_DIR TOPOFIT" >&2
    exit 2
}
case $2 in
/*) topofit=$2 ;;
*) topofit=$PWD/$2 ;;
esac
cd "$1"

pages='docs/howto/try-without-a-cluster.md docs/howto/debug-a-pending-pod.md'
[ ! -e README.md ] || pages="$pages README.md"

scratch=$(mktemp -d)
stop_all() {
    [ ! -s "$scratch/pids" ] || while read -r pid; do
        kill "$pid" 2>/dev/null || true
    done <"$scratch/pids"
}
trap 'stop_all; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

# Below the ports that the kernel gives out.
extender=127.0.0.1:$((20000 + $$ % 6000 * 2))
admin=127.0.0.1:$((20001 + $$ % 6000 * 2))

# What the examples find as topofit; exec keeps the process id that a block sees as $!.
mkdir "$scratch/bin" "$scratch/blocks" "$scratch/tmp"
cat >"$scratch/bin/topofit" <<END
#!/bin/sh
echo \$\$ >>"$scratch/pids"
[ "\$1" != serve ] || set -- "\$@" --listen $extender --admin-listen $admin
exec "$topofit" "\$@"
END
chmod +x "$scratch/bin/topofit"
: >"$scratch/pids"

# Blocks of a page: NNN.sh, NNN.place and, where output is shown, NNN.want.
extract() { # page
    awk -v page="$1" -v prefix="$scratch/blocks/$(echo "$1" | tr / _)" '
        /^```/ && !fenced {
            fenced = 1
            file = ""
            if ($0 == "```sh") {
                name = sprintf("%s.%03d", prefix, ++count)
                file = name ".sh"
                print page ":" NR > (name ".place")
                close(name ".place")
            } else if ($0 == "```text output" && name != "") {
                file = name ".want"
                name = ""
            } else {
                name = ""
            }
            if (file != "") printf "" > file
            next
        }
        /^```/ { fenced = 0; if (file != "") close(file); next }
        fenced && file != "" { print > file }
    ' "$1"
}

is_installing() { # file
    grep -qE 'quickstart\.sh|test/run\.sh|run_examples\.sh|apt-get|cmake|docker|helm' "$1"
}

left_running() {
    while read -r pid; do
        ! kill -0 "$pid" 2>/dev/null || return 0
    done <"$scratch/pids"
    return 1
}

# return 0 when the block does what its page says; else tells why not.
run_block() { # path without suffix
    sed "s/127\.0\.0\.1:9901/$extender/g; s/127\.0\.0\.1:9902/$admin/g" "$1.sh" >"$scratch/script"
    : >"$scratch/pids"
    code=0
    PATH="$scratch/bin:$PATH" TMPDIR="$scratch/tmp" NO_PROXY=127.0.0.1 no_proxy=127.0.0.1 \
        timeout 60 sh -eu "$scratch/script" >"$scratch/got" 2>"$scratch/err" </dev/null || code=$?
    if [ $code -ne 0 ]; then
        stop_all
        echo "ends with $code:"
        cat "$scratch/got" "$scratch/err"
    elif left_running; then
        stop_all
        echo "leaves a topofit running"
        code=1
    elif [ -e "$1.want" ] && ! diff -u "$1.want" "$scratch/got" >"$scratch/diff"; then
        echo "prints something else than the page shows:"
        cat "$scratch/diff"
        code=1
    fi
    return $code
}

for page in $pages; do
    extract "$page"
done

run=0 compared=0 skipped=0 failed=0
for block in "$scratch"/blocks/*.sh; do
    [ -e "$block" ] || continue
    name=${block%.sh}
    if is_installing "$block"; then
        skipped=$((skipped + 1))
        continue
    fi
    run=$((run + 1))
    [ ! -e "$name.want" ] || compared=$((compared + 1))
    if ! run_block "$name" >"$scratch/trouble"; then
        failed=$((failed + 1))
        echo "$(cat "$name.place"): $(cat "$scratch/trouble")" >&2
    fi
done

echo "examples: $run run, $compared with their output compared, $skipped left out, $failed failed"
[ $run -gt 0 ] && [ $failed -eq 0 ]
