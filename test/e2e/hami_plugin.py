# SPDX-License-Identifier: Apache-2.0
"""
A stand-in for HAMi's device plugins and for the kubelets that call them.

A kubelet admits the pods of its node one after the other, and asks the plugin for devices, container
by container. It does not say for whom. The plugin reads the lock on its node, then the pod that the
lock names; takes the first container of the pod's lists "to allocate" that has devices, and erases
it there; and when nothing is left it says so in the pod's bind phase and takes the lock away.
source: HAMi pkg/util, pkg/device-plugin/nvidiadevice/nvinternal/plugin/server.go (Allocate)

Plugins that have no such list look for a pod of their node with a flag that is "false", take that
which was placed first, and make the flag "true". source: the keys that HAMi pkg/device/* writes
"""

import collections
import queue
import threading

import pods
from kubeapi import NODES, PODS, ApiError, PodWatch

LOCK = "hami.io/mutex.lock"
DSMLU_LOCK = "cambricon.com/dsmlu.lock"
PHASE = "hami.io/bind-phase"
TIME = "hami.io/bind-time"
VGPU_NODE = "hami.io/vgpu-node"
TO_ALLOCATE = "devices-to-allocate"

# What a plugin takes devices from: a list of the pod, or all that follows from a flag.
Kind = collections.namedtuple("Kind", "to_allocate flag since lock", defaults=(None,) * 4)


def listed(stem, lock=LOCK, **more):
    return Kind("hami.io/%s-%s" % (stem, TO_ALLOCATE), lock=lock, **more)


NEURON = Kind(flag="NEURON_ALLOCATED", since="NEURON_ALLOC_TIME")
ENFLAME = Kind(flag="enflame.com/gcu-assigned", since="enflame.com/gcu-assigned-time")

# The resources for which a kubelet asks a plugin.
KINDS = {
    pods.COUNT: listed("vgpu"),
    "metax-tech.com/gpu": listed("metax-gpu", lock=None),
    "metax-tech.com/sgpu": listed("metax-sgpu"),
    "kunlunxin.com/vxpu": listed("xpu"),
    "aws.amazon.com/neuron": NEURON,
    "aws.amazon.com/neuroncore": NEURON,
    "enflame.com/gcu": listed("enflame-gcu", lock=None),
    "enflame.com/vgcu": ENFLAME,
    "enflame.com/drs-gcu": ENFLAME,
    "enflame.com/gcu-memory": ENFLAME,
    "huawei.com/Ascend910B4": listed("Ascend910B4"),
    "hygon.com/dcunum": listed("dcu"),
    "iluvatar.ai/MR-V100-vgpu": listed("MR-V100"),
    "cambricon.com/vmlu": listed("cambricon-mlu", lock=DSMLU_LOCK),
    "amd.com/gpu": listed("amd"),
    "vastaitech.com/va": listed("Vastai"),
    "birentech.com/gpu": listed("Biren"),
}


class Trouble:
    """What may go wrong with a pod, each once. Overwrite what is to happen."""

    def __init__(self, dies_at=None, fails=False, loses_answers=False, delay_s=None):
        self.dies_at = dies_at              # "start", "phase": at this step, with the lock
        self.fails = fails                  # it cannot hand out
        self.loses_answers = loses_answers  # every write is made twice
        self.delay_s = delay_s              # instead of the plugin's own


class PluginError(Exception):
    """Allocate fails: UnexpectedAdmissionError of the pod."""


class Died(Exception):
    """The plugin is gone in the middle, and comes back later."""


def annotations(thing):
    return thing["metadata"].get("annotations") or {}


def parse_lock(text):
    """(namespace, name); None for the old form without an owner."""
    parts = text.split(",")
    if len(parts) == 1:
        return None
    if len(parts) != 3:
        raise PluginError("malformed lock annotation %r" % text)
    return parts[1], parts[2]


class HamiPlugin:
    """
    The plugins of some nodes. `delay_s` is what an Allocate takes; `trouble` is asked for each pod.
    `inspect` is shown each pod when all is handed out, and says what is wrong with it; then the
    pod runs.

    After stop(): `handed` is {pod: ids of devices, container by container}, `served` is [(node, pod the kubelet meant, pod the plugin found)], `failed` the
    texts of Allocates that failed, `calls` how many requests were made, by method and kind.
    """

    def __init__(self, api, nodes, delay_s=0.02, trouble=lambda pod: Trouble(),
                 inspect=None):
        self.api = api
        self.inspect = inspect
        self.delay_s = delay_s
        self.trouble = trouble
        self.served, self.failed = [], []
        self.handed = {}  # pod: the devices of each of its containers
        self.calls = collections.Counter()  # by method and kind
        self.known = set()  # uids
        self.guard = threading.Lock()
        self.pause = threading.Event()
        self.queues = {node: queue.Queue() for node in nodes}
        self.kubelets = [threading.Thread(target=self.run_kubelet, args=(node,), daemon=True)
                         for node in nodes]
        for thread in self.kubelets:
            thread.start()
        self.watch = PodWatch(api, self.see)

    def stop(self):
        self.watch.stop()
        for waiting in self.queues.values():
            waiting.put(None)
        for thread in self.kubelets:
            thread.join(30)

    # --- requests ---

    def request(self, method, path, patch=None, twice=False):
        with self.guard:
            self.calls[method, "nodes" if path.startswith(NODES) else "pods"] += 1 + twice
        for _ in range(1 + twice):
            answer = self.api.merge(path, patch) if patch is not None else self.api.get(path)
        return answer

    def annotate(self, path, values, twice=False):
        return self.request("PATCH", path, {"metadata": {"annotations": values}}, twice)

    # --- the kubelet ---

    def see(self, pod, _pods):
        node = pod["spec"].get("nodeName")
        uid = pod["metadata"]["uid"]
        if node in self.queues and uid not in self.known and PHASE in annotations(pod) and \
                pod["status"].get("phase") == "Pending":
            self.known.add(uid)
            self.queues[node].put(pod)

    def run_kubelet(self, node):
        while True:
            pod = self.queues[node].get()
            if pod is None:
                return
            try:
                self.admit(node, pod)
            except Died:
                self.set_phase(pod, "Failed")
            except (PluginError, ApiError) as error:
                with self.guard:
                    self.failed.append("%s: %s" % (pod["metadata"]["name"], error))
                self.set_phase(pod, "Failed")

    def admit(self, node, pod):
        trouble = self.trouble(pod)
        spec = pod["spec"]
        for one in spec.get("initContainers", []) + spec["containers"]:
            for resource, amount in (one.get("resources", {}).get("limits") or {}).items():
                kind = KINDS.get(resource)
                if kind and kind.to_allocate:
                    self.allocate(node, pod, kind, int(amount), trouble)
                elif kind:
                    self.allocate_flagged(node, kind)
        if self.inspect:
            self.look_and_run(pod)

    def look_and_run(self, pod):
        served = self.request("GET", self.path(pod))
        problem = self.inspect(served)
        left = [key for key, value in annotations(served).items()
                if key.endswith(TO_ALLOCATE) and "," in value]
        if problem or left:
            raise PluginError("%s: %s, left in %s" % (pod["metadata"]["name"], problem, left))
        self.set_phase(pod, "Running")

    def set_phase(self, pod, phase):
        try:
            self.request("PATCH", "%s/%s/status" % (PODS, pod["metadata"]["name"]),
                         {"status": {"phase": phase}})
        except ApiError as error:
            if error.status != 404:
                raise

    # --- the plugin ---

    def allocate(self, node, asked, kind, count, trouble):
        if trouble.dies_at == "start":
            raise Died
        found = self.find_pod(node)
        with self.guard:
            self.served.append((node, asked["metadata"]["name"], found["metadata"]["name"]))
        self.pause.wait(self.delay_s if trouble.delay_s is None else trouble.delay_s)
        if trouble.fails:
            self.finish(node, found, kind, "failed", trouble)
            raise PluginError("cannot hand out")
        devices, rest = self.take_next(found, kind, count)
        if devices:
            with self.guard:
                self.handed.setdefault(found["metadata"]["name"], []).append(devices)
            self.annotate(self.path(found), rest, trouble.loses_answers)
            if "," in rest[kind.to_allocate]:
                return  # another container's turn comes
        self.finish(node, found, kind, "success", trouble)

    def allocate_flagged(self, node, kind):
        """Once for a pod, whatever its containers are; of several that wait, perhaps another."""
        waiting = [(annotations(pod)[kind.since], pod) for pod in self.pods_of(node)
                   if annotations(pod).get(kind.flag) == "false"]
        if not waiting:
            return
        found = min(waiting, key=lambda one: one[0])[1]
        self.pause.wait(self.delay_s)
        self.annotate(self.path(found), {kind.flag: "true", PHASE: "success"})

    @staticmethod
    def path(pod):
        return "/api/v1/namespaces/%s/pods/%s" % (pod["metadata"]["namespace"],
                                                  pod["metadata"]["name"])

    def find_pod(self, node):
        """Whom the lock names; without a lock the first that may be meant."""
        lock = annotations(self.request("GET", "%s/%s" % (NODES, node))).get(LOCK)
        owner = parse_lock(lock) if lock else None
        if owner:
            return self.request("GET", "/api/v1/namespaces/%s/pods/%s" % owner)
        for pod in self.pods_of(node):
            notes = annotations(pod)
            if pod["status"]["phase"] == "Pending" and TIME in notes and \
                    notes.get(PHASE) in ("allocating", "success") and notes.get(VGPU_NODE) == node:
                return pod
        raise PluginError("no binding pod found on node %s" % node)

    def pods_of(self, node):
        return self.request("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3D" + node)["items"]

    @staticmethod
    def take_next(pod, kind, count):
        """The next container's devices, and what to write so that they are not there any more."""
        slots = annotations(pod).get(kind.to_allocate, "").split(";")
        for i, slot in enumerate(slots):
            devices = [device for device in slot.split(":") if "," in device]
            if not devices:
                continue
            if len(devices) != count:
                raise PluginError("device number not matched")
            return [device.split(",")[0] for device in devices], \
                {kind.to_allocate: ";".join(slots[:i] + [""] + slots[i + 1:])}
        return [], {}

    def finish(self, node, pod, kind, phase, trouble):
        self.annotate(self.path(pod), {PHASE: phase}, trouble.loses_answers)
        if trouble.dies_at == "phase":
            return
        if kind.lock:
            self.unlock(node, kind.lock, pod)

    def unlock(self, node, lock, pod):
        """Take the lock away, if it is the pod's; Cambricon's tells nobody's name."""
        end = "" if lock == DSMLU_LOCK else \
            ",%s,%s" % (pod["metadata"]["namespace"], pod["metadata"]["name"])
        for _ in range(5):  # as it does, on a version of the node
            state = self.request("GET", "%s/%s" % (NODES, node))
            if lock not in annotations(state) or not annotations(state)[lock].endswith(end):
                return
            try:
                self.request("PATCH", "%s/%s" % (NODES, node), {"metadata": {
                    "annotations": {lock: None},
                    "resourceVersion": state["metadata"]["resourceVersion"]}})
                return
            except ApiError as error:
                if error.status != 409:
                    raise
