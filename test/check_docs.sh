#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Holds the documentation against the program and against itself:
# - each configuration key, metric, reason, endpoint, annotation and rule of the webhook that the
#   program knows is named in docs/reference, and each metric named there exists;
# - each relative link of README.md, docs and deploy, and each docs/...#anchor named in the sources,
#   leads somewhere;
# - each example pod is answered on the demo cluster.
# usage: check_docs.sh SOURCE_DIR TOPOFIT
set -eu
case $2 in
/*) topofit=$2 ;;
*) topofit=$PWD/$2 ;;
esac
cd "$1"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Loops over pipes are shells of their own: what they find is counted by a file.
: >"$scratch/problems"
complain() { echo "$*" >>"$scratch/problems"; }

# --- names ---------------------------------------------------------------------------------------

# Whole words, so that topofit_binds is not found in topofit_binds_total.
cat docs/reference/*.md >"$scratch/reference"
tr -c 'A-Za-z0-9_./<>-' '\n' <"$scratch/reference" | sed 's/[.]*$//' | sort -u >"$scratch/words"

is_named() {
    case $1 in
    *[!A-Za-z0-9_./\<\>-]*) grep -qF -- "$1" "$scratch/reference" ;;
    *) grep -qxF -- "$1" "$scratch/words" ;;
    esac
}

for kind in keys class-keys metrics reasons endpoints annotations rules; do
    "$topofit" reference $kind >"$scratch/$kind" || complain "topofit reference $kind: failed"
    [ -s "$scratch/$kind" ] || complain "topofit reference $kind: names nothing"
    while read -r name; do
        is_named "$name" || complain "docs/reference: nothing about $name ($kind)"
    done <"$scratch/$kind"
done

grep '^topofit_' "$scratch/words" | while read -r name; do
    family=$(echo "$name" | sed -E 's/_(bucket|sum|count)$//')
    grep -qxF -e "$name" -e "$family" "$scratch/metrics" ||
        complain "docs/reference: there is no metric $name"
done

# What the program writes of its classes stands in the page word for word, to its end.
"$topofit" classes -o markdown >"$scratch/classes"
sed '1,/<!-- topofit classes -o markdown -->/d' docs/reference/classes.md >"$scratch/generated"
cmp -s "$scratch/classes" "$scratch/generated" ||
    complain "docs/reference/classes.md: not what topofit classes -o markdown says (test/docs/write_classes.sh)"

# --- links ---------------------------------------------------------------------------------------

# The anchors of a page: "## One `word`: more" -> one-word-more, and <a id="...">.
anchors() {
    awk '/^```/ { code = !code } !code && /^#+ / {
        text = tolower($0)
        sub(/^#+ +/, "", text)
        gsub(/[^a-z0-9 _-]/, "", text)
        gsub(/ /, "-", text)
        print text
    }' "$1"
    sed -n 's/.*<a \(id\|name\)="\([^"]*\)".*/\2/p' "$1"
}

check_target() { # named in, path of the page, anchor or nothing
    if [ ! -e "$2" ]; then
        complain "$1: no such file: $2"
    elif [ -n "$3" ] && ! anchors "$2" | grep -qxF -- "$3"; then
        complain "$1: $2 has no heading #$3"
    fi
}

find README.md docs deploy -name '*.md' | sort >"$scratch/pages"
while read -r page; do
    # Links and images outside code: [text](target) -> target
    # shellcheck disable=SC2016 # backticks of Markdown
    awk '/^ *```/ { code = !code } !code' "$page" | sed 's/`[^`]*`//g' |
        grep -oE '\]\([^) ]+' | sed 's/^](//' | while read -r target; do
        case $target in
        *://* | mailto:*) ;;
        '#'*) check_target "$page" "$page" "${target#?}" ;;
        *'#'*) check_target "$page" "$(dirname "$page")/${target%%#*}" "${target#*#}" ;;
        *) check_target "$page" "$(dirname "$page")/$target" "" ;;
        esac
    done
done <"$scratch/pages"

grep -rnoE 'docs/[A-Za-z0-9_/-]+\.md(#[A-Za-z0-9_-]+)?' include src deploy test --include='*.[ch]' \
    --include='*.yaml' --include='*.sh' --include='*.py' >"$scratch/mentions" || true
while IFS=: read -r file line target; do
    case $target in
    *'#'*) check_target "$file:$line" "${target%%#*}" "${target#*#}" ;;
    *) check_target "$file:$line" "$target" "" ;;
    esac
done <"$scratch/mentions"

# --- examples ------------------------------------------------------------------------------------

for pod in deploy/examples/pods/*.yaml deploy/examples/applications/*.yaml; do
    "$topofit" explain -f "$pod" --cluster deploy/examples/demo-cluster.yaml \
        >"$scratch/answer" 2>&1 || complain "$pod: $(tail -n 1 "$scratch/answer")"
done

# Every resource of every class is in the configurations for all vendors.
"$topofit" classes -o yaml | sed -n '/^resources:/,/^[^ ]/s/^  [a-zA-Z]*: //p' | sort -u >"$scratch/resources"
while read -r resource; do
    case $resource in
    *-) continue ;; # a prefix, of partition profiles
    esac
    for file in deploy/examples/values-all-vendors.yaml deploy/examples/scheduler-config-hami.yaml; do
        grep -qxE " *- name: $resource" "$file" || complain "$file: $resource is missing"
    done
done <"$scratch/resources"

# The chart refuses the configuration that the program would refuse.
if command -v python3 >"$scratch/python"; then
    python3 test/chart/config_schema.py "$topofit" deploy/chart >"$scratch/schema" 2>&1 ||
        complain "$(cat "$scratch/schema")"
fi

sort -u "$scratch/problems" >&2
[ ! -s "$scratch/problems" ]
