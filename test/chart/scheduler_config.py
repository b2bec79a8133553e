#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The KubeSchedulerConfigurations that are shipped, made ready for a real kube-scheduler to load.

usage: scheduler_config.py RENDERED FILE KUBECONFIG OUT_CHART OUT_FILE
RENDERED are the chart's manifests, FILE is deploy/scheduler-config.yaml. Both must describe the
same extender.
"""
import sys

import yaml


def of_chart(path):
    with open(path, encoding="utf-8") as file:
        for item in yaml.safe_load_all(file):
            if item["kind"] == "ConfigMap" and item["metadata"]["name"].endswith("-scheduler"):
                return yaml.safe_load(item["data"]["config.yaml"])
    sys.exit(f"{path}: no ConfigMap of a scheduler")


def main():
    rendered, shipped, kubeconfig, *outputs = sys.argv[1:]
    with open(shipped, encoding="utf-8") as file:
        configs = [of_chart(rendered), yaml.safe_load(file)]
    for key in ("extenders", "percentageOfNodesToScore"):
        if configs[0][key] != configs[1][key]:
            sys.exit(f"{shipped}: {key} is not what the chart has")
    for config, output in zip(configs, outputs):
        config["clientConnection"] = {"kubeconfig": kubeconfig}
        with open(output, "w", encoding="utf-8") as file:
            yaml.safe_dump(config, file)


main()
