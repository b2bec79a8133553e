# SPDX-License-Identifier: Apache-2.0
"""
Pods: how the tests write them, and what must be true of them once they are bound.

What a pod books is worked out here from its limits and from the lists of devices it was given, not
from the amounts in its record; those are compared with it.
"""

import collections
import itertools
import json
import math

import wirings
from kubeapi import PODS as PATH

ALLOCATION = "topofit.io/allocation"
DEVICES = "devices.topofit.io/"
COUNT = "nvidia.com/gpu"
MEMORY = "nvidia.com/gpumem"
PERCENT = "nvidia.com/gpumem-percentage"
CORES = "nvidia.com/gpucores"

Use = collections.namedtuple("Use", "memory_mib cores tenants")


def limits(gpus, memory=None, percent=None, cores=None):
    amounts = {COUNT: gpus, MEMORY: memory, PERCENT: percent, CORES: cores}
    return {name: str(amount) for name, amount in amounts.items() if amount is not None}


def container(name, amounts):
    return {"name": name, "image": "none", "resources": {"limits": amounts}}


def pod(name, amounts, node=None, annotations=None, **spec):
    """A pod of one container, `main`. `node` is a wish by selector, not a binding."""
    spec.setdefault("containers", [container("main", amounts)])
    spec.setdefault("terminationGracePeriodSeconds", 0)
    if node:
        spec["nodeSelector"] = {"kubernetes.io/hostname": node}
    return {"metadata": {"name": name, "annotations": annotations or {}}, "spec": spec}


def is_bound(state):
    return bool(state["spec"].get("nodeName"))


def is_holding(state):
    return is_bound(state) and state["status"].get("phase") not in ("Succeeded", "Failed")


def asking(state, kind):
    """[(container name, limits)] of the containers that ask for GPUs."""
    return [(one["name"], one["resources"]["limits"]) for one in state["spec"].get(kind, [])
            if COUNT in one.get("resources", {}).get("limits", {})]


def devices(state, container_name="main"):
    """The devices a container was given, as its environment variable will have them."""
    text = state["metadata"].get("annotations", {}).get(DEVICES + container_name, "")
    return text.split(",") if text else []


def positions(state, container_name="main"):
    return tuple(sorted(map(wirings.position_of, devices(state, container_name))))


def record(state):
    return json.loads(state["metadata"]["annotations"][ALLOCATION])


def recorded(state):
    """{container: {device: (memory MiB, cores)}} as the record says."""
    return {one["name"]: {device["id"]: (device["memoryMiB"], device["cores"])
                          for device in one["devices"]}
            for one in record(state)["containers"] if one["devices"]}


def allocation_problem(state):
    """What is wrong with the allocation of a pod that has a node, or None."""
    try:
        return find_allocation_problem(state)
    except (ValueError, KeyError, TypeError) as error:
        return "allocation cannot be read: %r" % error


def find_allocation_problem(state):
    asks = asking(state, "initContainers") + asking(state, "containers")
    if not is_bound(state) or not asks:
        return None
    if ALLOCATION not in state["metadata"].get("annotations", {}):
        return "has a node and no " + ALLOCATION
    if record(state)["node"] != state["spec"]["nodeName"]:
        return "bound to %s, allocated on %s" % (state["spec"]["nodeName"], record(state)["node"])
    for name, amounts in asks:
        given = devices(state, name)
        if len(set(given)) != int(amounts[COUNT]) or len(given) != len(set(given)):
            return "container %s wants %s devices and has %s" % (name, amounts[COUNT], given)
        if set(given) != set(recorded(state)[name]):
            return "container %s: record and device list differ" % name
    return None


def memory_mib(amount):
    """MiB of a memory limit. The API server stores 6000 as "6k", which still is 6000 MiB."""
    for suffix, factor in (("Gi", 1024), ("k", 1000)):
        if amount.endswith(suffix):
            return int(amount[:-len(suffix)]) * factor
    return int(amount)


def booked_each(amounts, device_mib):
    """(memory MiB, cores) that these limits book on each of their devices."""
    cores = int(amounts.get(CORES, 0))
    if MEMORY in amounts:
        return memory_mib(amounts[MEMORY]), cores
    if PERCENT in amounts:
        return math.ceil(device_mib * int(amounts[PERCENT]) / 100), cores
    return device_mib, cores or wirings.CORES


def booked(state, device_mib):
    """{device: Use} of one pod: its apps together, or one init container if that is more."""
    phases = [asking(state, "containers")]
    phases += [[one] for one in asking(state, "initContainers")]
    most = {}
    for phase in phases:
        sums = collections.defaultdict(lambda: (0, 0))
        for name, amounts in phase:
            for device in devices(state, name):
                each = booked_each(amounts, device_mib[device])
                sums[device] = tuple(map(sum, zip(sums[device], each)))
        for device, amounts in sums.items():
            most[device] = tuple(map(max, zip(most.get(device, (0, 0)), amounts)))
    return {device: Use(*amounts, 1) for device, amounts in most.items()}


class Capacity:
    """The devices of some nodes, read from their inventories, and what pods hold of them."""

    def __init__(self, nodes):
        self.nodes = {}  # device: node
        self.mib = {}
        self.slots = {}
        for node in nodes:
            notes = node["metadata"].get("annotations", {})
            devices = json.loads(notes.get("topofit.io/inventory", '{"devices": []}'))["devices"]
            for device in devices:
                self.add(node, device["id"], device["memoryMiB"], device["slots"])
            for device in json.loads(notes.get("hami.io/node-nvidia-register", "[]")):
                self.add(node, device["id"], device["devmem"], device["count"])

    def add(self, node, device, mib, slots):
        self.nodes[device] = node["metadata"]["name"]
        self.mib[device] = mib
        self.slots[device] = slots

    def uses(self, states):
        """{device: Use} over all pods that hold devices."""
        total = {}
        for state in states:
            if not is_holding(state):
                continue
            for device, use in booked(state, self.mib).items():
                total[device] = Use(*map(sum, zip(total.get(device, Use(0, 0, 0)), use)))
        return total

    def problems(self, states):
        """Every booking that is wrong, as text; empty when all is right."""
        states = list(states)
        found = [problem for state in states for problem in self.pod_problems(state)]
        found += self.overbooked(states)
        return found

    def overbooked(self, states):
        """The devices of which more is booked than there is, as text."""
        found = []
        for device, use in self.uses(states).items():
            room = Use(self.mib[device], wirings.CORES, self.slots[device])
            if any(used > most for used, most in zip(use, room)):
                found.append("%s is overbooked: %s of %s" % (device, use, room))
        return found

    def pod_problems(self, state):
        name = state["metadata"]["name"]
        problem = allocation_problem(state)
        if problem:
            yield "%s: %s" % (name, problem)
        if not is_holding(state):
            return
        for container_name, amounts in itertools.chain(asking(state, "initContainers"),
                                                       asking(state, "containers")):
            for device, figures in recorded(state)[container_name].items():
                if self.nodes[device] != state["spec"]["nodeName"]:
                    yield "%s: %s is on another node" % (name, device)
                if figures != booked_each(amounts, self.mib[device]):
                    yield "%s: asked %s, recorded %s" % (name, amounts, figures)
