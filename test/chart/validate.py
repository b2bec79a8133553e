#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds manifests against the strict schemas of several Kubernetes versions.

usage: validate.py "1.31 1.32 ..." FILE...     "{}" in a file's name becomes the version
"""
import sys

import kubernetes_validate
import yaml


def problems_of(name, version):
    with open(name, encoding="utf-8") as file:
        for item in yaml.safe_load_all(file):
            if item["apiVersion"].startswith("cert-manager.io/"):
                continue  # not Kubernetes' own
            try:
                kubernetes_validate.validate(item, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                place = "/".join(map(str, error.path))
                yield f"{version} {name}: {item['kind']} {place}: {error.message}"


def main():
    versions, *names = sys.argv[1:]
    problems = [
        problem
        for version in versions.split()
        for name in names
        for problem in problems_of(name.replace("{}", version), version)
    ]
    print("\n".join(problems), end="\n" if problems else "")
    return bool(problems)


sys.exit(main())
