#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Holds the direction of includes, the purity of decide and model, and what the top level is.
# usage: check_layers.sh SOURCE_DIR libdecide.a libmodel.a
set -eu
cd "$1"
bad=0
complain() { echo "$*" >&2; bad=1; }

# The header of a module belongs to the layer that has its .c file, or that it is named after.
layer_of() {
    for layer in base model decide cluster wire dialect extender control edge cli; do
        if [ -e "src/$layer/$1.c" ] || [ "$layer" = "$1" ]; then echo $layer; return; fi
    done
    echo unknown
}

# What each layer may include, its own included.
allowed() {
    case $1 in
    base) echo base ;;
    model) echo base model ;;
    decide) echo model decide ;;
    cluster) echo base model decide cluster ;;
    wire) echo base model wire ;;
    dialect) echo base model wire dialect ;;
    extender) echo base model decide cluster wire dialect extender ;;
    control) echo base model decide cluster wire dialect control ;;
    edge) echo base model decide cluster wire dialect extender control edge ;;
    cli) echo base model decide cluster wire dialect extender control edge cli ;;
    esac
}

check_file() { # file, layer
    headers=$(sed -n 's/^#include "topofit\/\(.*\)\.h".*/\1/p' "$1")
    for header in $headers; do
        of=$(layer_of "$header")
        case " $(allowed "$2") " in
        *" $of "*) ;;
        *) complain "$1: layer $2 may not include $header.h of layer $of" ;;
        esac
    done
}

# What a run leaves lying about (profiles, builds) was added to the tree before. Only what git
# tracks counts: anything else may lie beside it, and a tree without git has nothing else.
if [ -e .git ] && command -v git >/dev/null; then
    for entry in $(git ls-files | sed 's,/.*,,' | sort -u); do
        case $entry in
        CMakeLists.txt | LICENSE | README.md | deploy | docs | include | src | test | .*) ;;
        *) complain "$entry: nothing else stands at the top of the tree" ;;
        esac
    done
fi

for source in src/*/*.c src/*/*.h; do
    [ -e "$source" ] || continue
    layer=${source#src/}
    check_file "$source" "${layer%%/*}"
done
for header in include/topofit/*.h; do
    module=$(basename "$header" .h)
    layer=$(layer_of "$module")
    [ "$layer" != unknown ] || complain "$header: no src/*/$module.c"
    check_file "$header" "$layer"
done

# Only edge and cli may read clocks, files, sockets or the environment; nobody but main exits.
forbidden='[^_a-z](atoi|strtok|sprintf|strcpy|strcat|gets|system)[ ]*\('
if grep -nE "$forbidden" src/*/*.c src/main.c; then complain "banned functions above"; fi
impure='[^_a-z](clock_gettime|gettimeofday|time|fopen|open|socket|getenv|getrandom)[ ]*\('
for layer in base model decide cluster wire dialect extender control; do
    if grep -nE "$impure" src/$layer/*.c; then complain "only edge and cli may do the above"; fi
done
clocks=$(grep -ln clock_gettime src/*/*.c | grep -v edge/clock.c || true)
if [ -n "$clocks" ]; then complain "only edge/clock.c reads the time, not: $clocks"; fi
if grep -nE '[^_a-z]exit[ ]*\(' src/*/*.c; then complain "only main exits"; fi

# decide keeps nothing between calls: what is remembered of them is the caller's.
if grep -nE 'stdatomic|__atomic|pthread|_Thread_local|volatile|[^_a-z](malloc|calloc|realloc|free)[ ]*\(' \
    src/decide/*.[ch]; then complain "decide neither allocates nor shares: the above belongs elsewhere"; fi

# decide is pure: its undefined symbols are its own, model's, and a handful of libc; of model's,
# none that allocates or counts references; and it has no variables that last.
[ $# -ge 3 ] || exit $bad
known=$(mktemp)
trap 'rm -f "$known"' EXIT
{
    nm --defined-only "$2" "$3" | awk 'NF == 3 {print $3}'
    printf '%s\n' memcpy memset memcmp bcmp memmove qsort strcmp strlen __assert_fail __stack_chk_fail \
        __memcpy_chk __memset_chk _GLOBAL_OFFSET_TABLE_
} | sort -u >"$known"
nm -u "$2" | awk '$1 == "U" {print $2}' | sort -u |
    grep -vE '^(__asan|__ubsan|__tsan|__sanitizer|__gcov|llvm_)' | comm -23 - "$known" | {
    if grep .; then echo "decide uses the symbols above: it must be pure" >&2; exit 1; fi
} || bad=1
lasting='(^|_)(new|free|ref|unref|add_ask|add_container|add_device|set_problem)$'
nm -u "$2" | awk '$1 == "U" {print $2}' | grep -E "$lasting" && complain "decide must not allocate"
nm "$2" | awk '$2 ~ /^[bBC]$/ {print $3}' | grep -vE 'asan|ubsan|tsan|gcov|llvm' |
    grep . && complain "decide has the variables above: it must keep nothing"
exit $bad
