#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Writes the generated part of docs/reference/classes.md anew.
# usage: write_classes.sh SOURCE_DIR TOPOFIT
set -eu
page=$1/docs/reference/classes.md
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
sed '/<!-- topofit classes -o markdown -->/q' "$page" >"$fresh"
"$2" classes -o markdown >>"$fresh"
cat "$fresh" >"$page"
