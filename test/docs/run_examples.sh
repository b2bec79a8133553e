#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs the examples of the documentation: every block fenced as ```sh, in a shell of its own. When
# the next block is fenced as ```text output, the standard output must equal it. A block fails when a
# command of it fails, when it takes longer than a minute, or when it leaves a topofit running.
#
# The blocks of a page share a working directory: links to everything in the repository, but the
# program under test as build/topofit. nvidia-smi is a stand-in for a machine with two GPUs, kubectl
# for a cluster with HAMi's device plugins, of which it can take a dump. TMPDIR is
# not set, as in most shells: mktemp makes what a block needs beside.
#
# Blocks fenced otherwise (```console: they need a cluster) are not run, nor are those that install
# or build. Ports 9901 and 9902 are replaced, so that a daemon on this machine is not disturbed.
#
# Also: each complete Pod fenced as ```yaml gets an answer on the demo cluster, and the recipe for
# the inventory writes nothing when nvidia-smi fails.
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

pages='docs/howto/migrate-from-hami.md docs/howto/try-without-a-cluster.md docs/howto/debug-a-pending-pod.md
    docs/howto/describe-your-nodes.md docs/howto/secure-the-ports.md
    docs/howto/simulate-a-workload.md docs/concepts/scoring.md docs/concepts/quota.md'
[ ! -e README.md ] || pages="$pages README.md"
recipe_page=docs/howto/describe-your-nodes.md

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

mkdir "$scratch/bin" "$scratch/blocks" "$scratch/program"
# What the examples find as topofit; exec keeps the process id that a block sees as $!.
cat >"$scratch/program/topofit" <<END
#!/bin/sh
echo \$\$ >>"$scratch/pids"
[ "\$1" != serve ] || set -- "\$@" --listen $extender --admin-listen $admin
exec "$topofit" "\$@"
END
# In the form of driver 535's documentation; GPUS replaces the answer about the GPUs.
cat >"$scratch/bin/nvidia-smi" <<'END'
#!/bin/sh
case $* in
'topo -m')
    printf '\t\033[4mGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\033[0m\n'
    printf 'GPU0\t X \tNV4\t0-15\t0\n'
    printf 'GPU1\tNV4\t X \t0-15\t0\n\nLegend:\n\n'
    printf '  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n'
    ;;
--query-gpu=index,uuid,name,memory.total,pci.bus_id*)
    if [ -n "${GPUS+set}" ]; then
        printf '%s' "$GPUS"
        exit "${GPUS_STATUS:-0}"
    fi
    echo '0, GPU-5a6f, NVIDIA A40, 46068, 00000000:01:00.0'
    echo '1, GPU-91c0, NVIDIA A40, 46068, 00000000:25:00.0'
    ;;
*) exit 2 ;;
esac
END
cat >"$scratch/bin/kubectl" <<'END'
#!/bin/sh
[ "$*" = 'get nodes,pods,quota -A -o yaml' ] || exit 2
cat test/golden/hami/input-03-nvidia-json/cluster.yaml
END
chmod +x "$scratch/program/topofit" "$scratch/bin/nvidia-smi" "$scratch/bin/kubectl"
: >"$scratch/pids"

# A working directory for the blocks of a page.
make_place() {
    rm -rf "$scratch/place"
    mkdir "$scratch/place"
    for entry in *; do
        [ "$entry" = build ] || ln -s "$PWD/$entry" "$scratch/place/$entry"
    done
    ln -s "$scratch/program" "$scratch/place/build"
}

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

run_script() { # file, options of the shell; in the directory of the page
    (
        cd "$scratch/place"
        unset TMPDIR
        PATH="$scratch/program:$scratch/bin:$PATH" \
            NO_PROXY=127.0.0.1 no_proxy=127.0.0.1 \
            timeout 60 sh "$2" "$1" >"$scratch/got" 2>"$scratch/err" </dev/null
    )
}

# return 0 when the block does what its page says; else tells why not.
run_block() { # path without suffix
    sed "s/127\.0\.0\.1:9901/$extender/g; s/127\.0\.0\.1:9902/$admin/g" "$1.sh" >"$scratch/script"
    : >"$scratch/pids"
    code=0
    run_script "$scratch/script" -eu || code=$?
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

# The recipe, pasted into a shell that goes on after errors, must end with an error and with nothing
# to annotate, whatever nvidia-smi comes up with.
check_recipe() { # what is wrong, its output, its exit code
    GPUS=$2 GPUS_STATUS=$3
    export GPUS GPUS_STATUS
    make_place
    echo old >"$scratch/place/inventory.json"
    if run_script "$recipe" -u || [ -s "$scratch/place/inventory.json" ]; then
        failed=$((failed + 1))
        echo "$recipe_page: the recipe accepts $1" >&2
    fi
    unset GPUS GPUS_STATUS
}

# Complete Pods fenced as ```yaml, each a file.
extract_pods() { # page
    awk -v prefix="$scratch/pods/$(echo "$1" | tr / _)" '
        /^```yaml$/ { file = sprintf("%s.%03d", prefix, ++count); first = 1; next }
        /^```/ { file = ""; next }
        file == "" { next }
        first && !/^apiVersion: v1$/ { file = ""; next }
        { first = 0; print > file }
    ' "$1"
}

for page in $pages; do
    extract "$page"
done

run=0 compared=0 skipped=0 failed=0 page=
for block in "$scratch"/blocks/*.sh; do
    [ -e "$block" ] || continue
    name=${block%.sh}
    if is_installing "$block"; then
        skipped=$((skipped + 1))
        continue
    fi
    run=$((run + 1))
    if [ "$(sed 's/:[0-9]*$//' "$name.place")" != "$page" ]; then
        page=$(sed 's/:[0-9]*$//' "$name.place")
        make_place
    fi
    [ ! -e "$name.want" ] || compared=$((compared + 1))
    if ! run_block "$name" >"$scratch/trouble"; then
        failed=$((failed + 1))
        echo "$(cat "$name.place"): $(cat "$scratch/trouble")" >&2
    fi
done

recipe=$(grep -l 'query-gpu' "$scratch"/blocks/*.sh || true)
if [ ! -e "$recipe" ]; then
    failed=$((failed + 1))
    echo "$recipe_page: there must be one recipe with nvidia-smi --query-gpu" >&2
else
    gpu='0, GPU-5a6f, NVIDIA A40, 46068, 00000000:01:00.0'
    check_recipe "a failed nvidia-smi" "$gpu" 9
    check_recipe "no GPUs" "" 0
    check_recipe "a message" "No devices were found" 0
    check_recipe "unknown memory" "$gpu
1, GPU-91c0, NVIDIA A40, [N/A], 00000000:25:00.0" 0
    check_recipe "no memory" "0, GPU-5a6f, NVIDIA A40, 0, 00000000:01:00.0" 0
fi

mkdir "$scratch/pods"
for page in README.md $(find docs -name '*.md'); do
    [ ! -e "$page" ] || extract_pods "$page"
done
for pod in "$scratch"/pods/*; do
    grep -qx 'kind: Pod' "$pod" 2>/dev/null || continue
    run=$((run + 1))
    if ! "$topofit" explain -f "$pod" --cluster deploy/examples/demo-cluster.yaml >"$scratch/got" 2>&1; then
        failed=$((failed + 1))
        echo "$(basename "$pod" | tr _ /), a Pod: $(cat "$scratch/got")" >&2
    fi
done

echo "examples: $run run, $compared with their output compared, $skipped left out, $failed failed"
[ $run -gt 0 ] && [ $failed -eq 0 ]
