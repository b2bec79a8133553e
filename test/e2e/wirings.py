# SPDX-License-Identifier: Apache-2.0
"""
Real machines' wirings, nodes built from them, and a judge of device sets by brute force.

The judge knows nothing of the program under test: it reads the matrices by itself and has an order
of its own, the one the documentation promises: worst tier, then the slowest link, then the sum.
"""

import functools
import itertools
import json
import os

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
CORES = 100
SLOTS = 10

# GB/s, both directions, of what is not NVLink; only the order between them matters here.
PCIE_GBPS = {"PIX": 32, "PXB": 28, "PHB": 24, "NODE": 20, "SYS": 8}
NVLINK_GBPS = 50


def read_matrix(file_name):
    """(the tool's text, link names row by row, NUMA node of each device)."""
    with open(os.path.join(DATA, "topologies", file_name)) as file:
        lines = [line for line in file.read().splitlines() if not line.startswith("#")]
    rows = [line.split() for line in lines[1:] if line.strip()]
    links = [row[1:1 + len(rows)] for row in rows]
    return "\n".join(lines) + "\n", links, [int(row[-1]) for row in rows]


class Wiring:
    """A kind of machine: its devices and how they are linked."""

    def __init__(self, name, file_name, product, memory_mib):
        self.name = name
        self.product = product
        self.memory_mib = memory_mib
        self.text, self.links, self.numa = read_matrix(file_name)
        self.size = len(self.links)

    def tier(self, a, b):
        link = self.links[a][b]
        if link.startswith("NV"):
            return 0
        return 1 if self.numa[a] == self.numa[b] or link != "SYS" else 2

    def gbps(self, a, b):
        link = self.links[a][b]
        return NVLINK_GBPS * int(link[2:]) if link.startswith("NV") else PCIE_GBPS[link]

    def nvlinks(self, devices):
        """NVLinks inside a set, all pairs together."""
        names = [self.links[a][b] for a, b in itertools.combinations(devices, 2)]
        return sum(int(name[2:]) for name in names if name.startswith("NV"))

    def worst_tier(self, devices):
        return max((self.tier(a, b) for a, b in itertools.combinations(devices, 2)), default=0)

    def quality(self, devices):
        """Smaller is better."""
        speeds = [self.gbps(a, b) for a, b in itertools.combinations(devices, 2)]
        return self.worst_tier(devices), -min(speeds, default=0), -sum(speeds)

    def best_quality(self, free, count):
        return min(map(self.quality, itertools.combinations(sorted(free), count)))

    def groups_left(self, free):
        """How many groups of 4 and of 2, each within the best tier that size can have here."""
        return tuple(self.disjoint_groups(frozenset(free), count, self.ideal_tier(count))
                     for count in (4, 2))

    def least_damage(self, free):
        """The most that the rest can still form when one device is taken from free."""
        return max(self.groups_left(free - {device}) for device in free)

    @functools.lru_cache(maxsize=None)
    def ideal_tier(self, count):
        return self.best_quality(range(self.size), count)[0]

    @functools.lru_cache(maxsize=None)
    def disjoint_groups(self, free, count, tier):
        if len(free) < count:
            return 0
        first = min(free)
        most = self.disjoint_groups(free - {first}, count, tier)
        for others in itertools.combinations(sorted(free - {first}), count - 1):
            group = (first,) + others
            if self.worst_tier(group) <= tier:
                left = self.disjoint_groups(free - set(group), count, tier)
                most = max(most, 1 + left)
        return most


DGX_1V = Wiring("dgx-1v", "01-dgx1-v100-hybrid-cube-mesh.txt", "Tesla V100-SXM2-32GB", 32768)
HGX_H100 = Wiring("hgx-h100", "04-hgx-h100-8-2numa.txt", "NVIDIA H100 80GB HBM3", 81559)
A40_PAIRS = Wiring("a40-pairs", "16-8xa40-nvlink-bridge-pairs.txt", "NVIDIA A40", 46068)
PCIE = Wiring("pcie", "07-pcie-8-pix-pxb-dual-socket.txt", "NVIDIA A10", 23028)
ALL = (DGX_1V, HGX_H100, A40_PAIRS, PCIE)


def device_id(node, position):
    return "GPU-%s-%d" % (node, position)


def position_of(device):
    return int(device.rsplit("-", 1)[1])


def inventory(node, wiring, slots, with_numa=True):
    devices = []
    for position in range(wiring.size):
        device = {"id": device_id(node, position), "index": position, "class": "nvidia",
                  "product": wiring.product, "memoryMiB": wiring.memory_mib, "cores": CORES,
                  "healthy": True, "slots": slots}
        if with_numa:
            device["numa"] = wiring.numa[position]
        devices.append(device)
    return json.dumps({"devices": devices})


def bare_node(name, gpus):
    """A node of which nothing is known but that it has GPUs."""
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
    return {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"capacity": amounts, "allocatable": amounts}}


def hami_node(name, wiring, slots=SLOTS):
    """A node as HAMi's device plugin for NVIDIA describes it."""
    node = bare_node(name, wiring.size * slots)
    node["metadata"]["annotations"] = {"hami.io/node-nvidia-register": json.dumps([
        {"id": device_id(name, position), "index": position, "count": slots,
         "devmem": wiring.memory_mib, "devcore": CORES, "type": "NVIDIA-" + wiring.product,
         "numa": wiring.numa[position], "mode": "hami-core", "health": True}
        for position in range(wiring.size)])}
    return node


def unwired_node(name, wiring, slots=SLOTS):
    """A node with an inventory, but without a word on how its devices are linked."""
    node = bare_node(name, wiring.size * slots)
    node["metadata"]["annotations"] = {
        "topofit.io/inventory": inventory(name, wiring, slots, with_numa=False)}
    return node


def wired_node(name, wiring, slots=SLOTS):
    node = bare_node(name, wiring.size * slots)
    node["metadata"]["annotations"] = {
        "topofit.io/inventory": inventory(name, wiring, slots),
        "topofit.io/topology": wiring.text}
    return node
