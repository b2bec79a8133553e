# SPDX-License-Identifier: Apache-2.0
"""
A judge of what is written to pods for HAMi's device plugins, and of who is on which card.

It knows nothing of the program under test: it decodes the annotations by HAMi's grammar, works out
from the limits of each container what must stand there, and has the vendors' rules about sharing.

source: HAMi v2.9.0 and v2.10.0, pkg/device (grammar, amounts) and pkg/device/*/device.go (rules)
"""

import collections
import itertools
import json
import math
import re

import pods
import vendor_nodes as nodes

VGPU_NODE = "hami.io/vgpu-node"
PHASE = "hami.io/bind-phase"
MIG_ALLOCATIONS = "hami.io/vgpu-mig-allocations"
PLACE_2_9 = re.compile(r"(.*)\[(\d+)-(\d+)\]$")

Container = collections.namedtuple("Container", "name limits runs_alone")
Given = collections.namedtuple("Given", "card memory_mib cores detail")  # one device of a container


class Wrong(Exception):
    """What is wrong, as text."""


def demand(is_so, text, *values):
    if not is_so:
        raise Wrong(text % values)


# --- amounts ---

def number(limits, name):
    return pods.memory_mib(limits[name])  # 20k is 20000


def count_of(name):
    return lambda limits: number(limits, name) if name in limits else 0


def amounts(memory=None, unit_mib=1, percent=None, cores=None, default_cores=0, whole_cores=None):
    """
    The usual way: a number of units or percent of the card; the whole card without. Who has the
    whole card has its cores, too: HAMi writes none for some vendors.
    """
    def work_out(limits, card):
        if memory in limits:
            mib = number(limits, memory) * unit_mib
        elif percent in limits:
            mib = card.memory_mib * number(limits, percent) // 100
        else:
            mib = card.memory_mib
        is_part = memory in limits or percent in limits
        usual = default_cores if is_part or whole_cores is None else whole_cores
        return mib, number(limits, cores) if cores in limits else usual
    return work_out


def sgpu_amounts(limits, card):
    memory = limits.get("metax-tech.com/vmemory")
    unit = 1 if memory is None or memory.endswith("Gi") else 1024
    mib = card.memory_mib if memory is None else number(limits, "metax-tech.com/vmemory") * unit
    return mib, number(limits, "metax-tech.com/vcore") if "metax-tech.com/vcore" in limits else 100


def vxpu_amounts(limits, _card):
    asked = number(limits, "kunlunxin.com/vxpu-memory") \
        if "kunlunxin.com/vxpu-memory" in limits else 98304
    mib = min(size for size in (24576, 49152, 98304) if size >= asked)
    return mib, mib * 100 // 98304


ASCEND_TEMPLATES = (8192, 16384)  # MiB


def ascend_amounts(limits, card):
    memory = nodes.ASCEND_MEMORY
    asked = number(limits, memory) if memory in limits else card.memory_mib
    return min([(mib, 0) for mib in ASCEND_TEMPLATES if mib >= asked] +
               [(card.memory_mib, card.cores)])


def mthreads_amounts(limits, card):
    devices = number(limits, "mthreads.com/vgpu")
    mib = card.memory_mib if devices > 1 or "mthreads.com/sgpu-memory" not in limits else \
        number(limits, "mthreads.com/sgpu-memory") * 512
    cores = card.cores if devices > 1 or "mthreads.com/sgpu-core" not in limits else \
        number(limits, "mthreads.com/sgpu-core")
    return mib, cores


def amd_amounts(limits, card):
    percent = number(limits, "amd.com/gpucores") if "amd.com/gpucores" in limits else 100
    mib = number(limits, "amd.com/gpumem") if "amd.com/gpumem" in limits else card.memory_mib
    return mib, max(1, card.cores * percent // 100)


def neuron_count(limits):
    cores = count_of("aws.amazon.com/neuroncore")(limits)
    return count_of("aws.amazon.com/neuron")(limits) or (cores if cores < 2 else cores // 2)


def neuron_amounts(limits, _card):
    """Cores are told as a mask; here how many there must be of each device."""
    return 0, 1 if limits.get("aws.amazon.com/neuroncore") == "1" else 2


def drs_count(limits):
    return int(any(name in limits for name in ("enflame.com/drs-gcu", "enflame.com/gcu-memory",
                                               "enflame.com/gcu-core")))


def drs_profile(limits):
    """(name, slices, GiB): the very number of slices, or the smallest that is enough."""
    if "enflame.com/drs-gcu" in limits:
        is_enough = {number(limits, "enflame.com/drs-gcu")}.__contains__
        fits = [(slices, gib, name) for name, (_, slices, gib) in nodes.DRS_PROFILES.items()
                if is_enough(slices)]
    else:
        gib_asked = number(limits, "enflame.com/gcu-memory") \
            if "enflame.com/gcu-memory" in limits else 0
        cores_asked = number(limits, "enflame.com/gcu-core") \
            if "enflame.com/gcu-core" in limits else 0
        fits = [(slices, gib, name) for name, (_, slices, gib) in nodes.DRS_PROFILES.items()
                if gib >= gib_asked and math.ceil(slices * 100 / 6) >= cores_asked]
    slices, gib, name = min(fits)
    return name, slices, gib


def drs_amounts(limits, _card):
    _, slices, gib = drs_profile(limits)
    return gib * 1024, slices * 100 // 6  # six sixths are no more than the card


# --- vendors ---

class Vendor:
    """How a vendor's devices are asked for, and in which annotations they are told."""

    def __init__(self, count, work_out, allocated, to_allocate=None, word=None, extras=None):
        self.count = count if callable(count) else count_of(count)
        self.work_out = work_out
        self.allocated = "hami.io/" + allocated
        self.to_allocate = "hami.io/" + to_allocate if to_allocate else None
        self.word = word
        self.extras = extras  # what else must stand in the pod


def pair(stem):
    return {"allocated": stem + "-devices-allocated", "to_allocate": stem + "-devices-to-allocate"}


def indexes(given):
    return ",".join(str(one.card.index) for devices in given for one in devices)


def expect(notes, **wanted):
    for key, value in wanted.items():
        demand(notes.get(key) == value, "%s is %r, not %r", key, notes.get(key), value)


def expect_time(notes, key, digits):
    demand(re.fullmatch(r"\d{%d}" % digits, notes.get(key, "")), "%s is %r", key, notes.get(key))


def sgpu_extras(notes, _containers, given):
    told = json.loads(notes["metax-tech.com/gpu-devices-allocated"])
    wanted = [[{"uuid": one.card.id, "compute": one.cores, "vRam": one.memory_mib}
               for one in devices] for devices in given]
    demand(told == wanted, "MetaX's list is %s, not %s", told, wanted)
    expect_time(notes, "metax-tech.com/predicate-time", 19)


def kunlun_extras(notes, _containers, given):
    expect(notes, BAIDU_COM_DEVICE_IDX=indexes(given))


def neuron_extras(notes, containers, given):
    by_cores = any("aws.amazon.com/neuroncore" in one.limits for one in containers)
    cores = ",".join(str(2 * one.card.index + core) for devices in given for one in devices
                     for core in range(2) if one.detail >> core & 1)
    expect(notes, AWS_NEURON_IDS=cores if by_cores else indexes(given), **{
        "aws.amazon.com/predicate-node": notes[VGPU_NODE],
        "NEURON_RESOURCE_TYPE": "aws.amazon.com/neuroncore" if by_cores else None})
    expect_time(notes, "NEURON_ALLOC_TIME", 19)
    demand(notes.get("NEURON_ALLOCATED") in ("false", "true"), "NEURON_ALLOCATED is %r",
           notes.get("NEURON_ALLOCATED"))


def drs_extras(notes, containers, given):
    first = next(one for devices in given for one in devices)
    parts = {container.name: drs_profile(container.limits) for container, devices
             in zip(containers, given) if devices}
    told = json.loads(notes["assigned-containers"])
    demand(told == {name: {"allocated": told[name]["allocated"], "request": slices,
                           "profileID": nodes.DRS_PROFILES[profile][0], "profileName": profile}
                    for name, (profile, slices, _) in parts.items()},
           "assigned-containers is %s", told)
    expect(notes, **{"enflame.com/gcu-assigned-index": str(first.card.index),
                     "enflame.com/gcu-assigned-id": str(first.card.index),
                     "enflame.com/gcu-assigned-minor": str(first.card.index + 8),
                     "enflame.com/gcu-request-size": str(next(iter(parts.values()))[1])})
    expect_time(notes, "enflame.com/gcu-assigned-time", 19)


def vgcu_extras(notes, _containers, given):
    expect(notes, **{"enflame.com/gcu-assigned-id": indexes(given)})
    expect_time(notes, "enflame.com/gcu-assigned-time", 19)


def mlu_extras(notes, _containers, given):
    first = next(one for devices in given for one in devices)
    expect(notes, CAMBRICON_DSMLU_PROFILE="%d_%d_%d" % (first.card.index, first.cores,
                                                       first.memory_mib // 256))


def mthreads_extras(notes, _containers, given):
    expect(notes, **{"mthreads.com/gpu-index": indexes(given),
                     "mthreads.com/predicate-node": notes[VGPU_NODE]})


def ascend_extras(notes, _containers, given):
    names = {8192: "vir05_1c_8g", 16384: "vir10_3c_16g"}
    wanted = []
    for one in itertools.chain(*given):
        wanted.append({"UUID": one.card.id, "memory": one.memory_mib})
        if one.cores:
            wanted[-1]["core"] = one.cores
        if one.memory_mib in names:
            wanted[-1]["temp"] = names[one.memory_mib]
    told = json.loads(notes["huawei.com/Ascend910B4"])
    demand(told == wanted, "Ascend's list is %s, not %s", told, wanted)
    expect_time(notes, "predicate-time", 10)


VENDORS = {
    nodes.NVIDIA: Vendor("nvidia.com/gpu", amounts(
        "nvidia.com/gpumem", 1, "nvidia.com/gpumem-percentage", "nvidia.com/gpucores",
        whole_cores=100), **pair("vgpu")),
    nodes.METAX: Vendor("metax-tech.com/gpu", amounts(whole_cores=100), **pair("metax-gpu")),
    nodes.SGPU: Vendor("metax-tech.com/sgpu", sgpu_amounts, **pair("metax-sgpu"),
                       extras=sgpu_extras),
    nodes.KUNLUN: Vendor("kunlunxin.com/xpu", amounts(whole_cores=100), "kunlun-allocated",
                         extras=kunlun_extras),
    nodes.VXPU: Vendor("kunlunxin.com/vxpu", vxpu_amounts, **pair("xpu")),
    nodes.NEURON: Vendor(neuron_count, neuron_amounts, "aws-neuron-devices-allocated",
                         extras=neuron_extras),
    nodes.GCU: Vendor("enflame.com/gcu", amounts(whole_cores=100), **pair("enflame-gcu")),
    nodes.VGCU: Vendor("enflame.com/vgcu", amounts(percent="enflame.com/vgcu-percentage"),
                       "enflame-vgpu-devices-allocated", word="Enflame", extras=vgcu_extras),
    nodes.DRS: Vendor(drs_count, drs_amounts, "enflame-vgpu-devices-allocated", extras=drs_extras),
    nodes.ASCEND: Vendor("huawei.com/Ascend910B4", ascend_amounts, **pair("Ascend910B4"),
                         extras=ascend_extras),
    nodes.DCU: Vendor("hygon.com/dcunum", amounts("hygon.com/dcumem", cores="hygon.com/dcucores",
                                                  default_cores=100), **pair("dcu")),
    nodes.ILUVATAR: Vendor("iluvatar.ai/MR-V100-vgpu", amounts(
        "iluvatar.ai/MR-V100.vMem", 256, cores="iluvatar.ai/MR-V100.vCore",
        whole_cores=100), **pair("MR-V100")),
    nodes.MLU: Vendor("cambricon.com/vmlu", amounts(
        "cambricon.com/mlu.smlu.vmemory", 256, cores="cambricon.com/mlu.smlu.vcore",
        default_cores=100, whole_cores=100), **pair("cambricon-mlu"), extras=mlu_extras),
    nodes.MTHREADS: Vendor("mthreads.com/vgpu", mthreads_amounts, "mthreads-vgpu-devices-allocated",
                           extras=mthreads_extras),
    nodes.AMD: Vendor("amd.com/gpu", amd_amounts, **pair("amd"), word="AMD-Instinct-MI300X"),
    nodes.VASTAI: Vendor("vastaitech.com/va", amounts(whole_cores=100), **pair("Vastai")),
    nodes.BIREN: Vendor("birentech.com/gpu", amounts(whole_cores=100), **pair("Biren")),
}


# --- one pod ---

def notes_of(state):
    return state["metadata"].get("annotations") or {}


def containers_of(state):
    """Init containers first, as HAMi counts them."""
    found = []
    for kind in ("initContainers", "containers"):
        for one in state["spec"].get(kind, []):
            limits = one.get("resources", {}).get("limits") or {}
            found.append(Container(one["name"], limits, kind == "initContainers" and
                                   one.get("restartPolicy") != "Always"))
    return found


def decode(text):
    """[[(id, type, MiB, cores)]] of a list, container by container."""
    demand(text.endswith(";"), "%r does not end with a container", text)
    return [list(map(decode_device, decode_slot(slot))) for slot in text[:-1].split(";")]


def decode_slot(slot):
    demand(slot == "" or slot.endswith(":"), "%r does not end with a device", slot)
    return slot[:-1].split(":") if slot else []


def decode_device(device):
    fields = device.split(",")
    demand(len(fields) == 4 and fields[2].isdigit() and fields[3].isdigit(),
           "device %r has not four fields", device)
    return fields[0], fields[1], int(fields[2]), int(fields[3])


class Referee:
    """
    Judges states of pods, alone and among those of their node. As a check for a PodWatch it is
    called with every state there ever is.
    """

    def __init__(self):
        self.cards = {}  # by id
        self.nodes = {}  # id: name of the node

    def add(self, machine):
        for card in machine.cards:
            self.cards[card.id] = card
            self.nodes[card.id] = machine.node["metadata"]["name"]

    def __call__(self, state, states):
        if not pods.is_bound(state) or not self.cards:
            return None
        node = state["spec"]["nodeName"]
        beside = [one for one in states.values() if one["spec"].get("nodeName") == node]
        return "; ".join(self.pod_problems(state) + self.sharing_problems(beside)) or None

    # --- a pod ---

    def asked(self, state):
        """Vendors that the pod asks for."""
        return [word for word, vendor in VENDORS.items()
                if any(vendor.count(one.limits) for one in containers_of(state))]

    def pod_problems(self, state):
        found = []
        try:
            for word in self.asked(state):
                self.judge_lists(state, VENDORS[word])
                given = self.given(state, word)
                self.judge_amounts(state, word, given)
                if VENDORS[word].extras:
                    VENDORS[word].extras(notes_of(state), containers_of(state), given)
        except (Wrong, KeyError, ValueError, StopIteration) as error:
            found.append("%s: %s %s" % (state["metadata"]["name"], type(error).__name__, error))
        return found

    def judge_lists(self, state, vendor):
        """Of the containers to allocate the first ones are done, and the others as they were."""
        notes = notes_of(state)
        demand(notes.get(VGPU_NODE) == state["spec"]["nodeName"], "%s is %r", VGPU_NODE,
               notes.get(VGPU_NODE))
        demand(notes.get(PHASE) in ("allocating", "success"), "%s is %r", PHASE, notes.get(PHASE))
        expect_time(notes, "hami.io/bind-time", 10)
        slots = decode(notes[vendor.allocated])
        demand(len(slots) == len(containers_of(state)), "%r has not a slot for each container",
               notes[vendor.allocated])
        if vendor.to_allocate:
            left = decode(notes[vendor.to_allocate])
            rest = list(itertools.dropwhile(lambda both: both[0] == [], zip(left, slots)))
            demand(len(left) == len(slots) and all(a == b for a, b in rest),
                   "%r is no rest of %r", notes[vendor.to_allocate], notes[vendor.allocated])

    def given(self, state, word):
        """[[Given]], container by container. `detail`: the mask of cores, or the partition."""
        vendor = VENDORS[word]
        found = []
        for position, slot in enumerate(decode(notes_of(state)[vendor.allocated])):
            found.append([])
            for place, (uuid, kind, mib, cores) in enumerate(slot):
                demand(kind == (vendor.word or word), "%s is of type %r", uuid, kind)
                in_way = PLACE_2_9.match(uuid)
                uuid = in_way.group(1) if in_way else uuid
                demand(uuid in self.cards, "there is no device %s", uuid)
                demand(self.nodes[uuid] == state["spec"]["nodeName"], "%s is elsewhere", uuid)
                card = self.cards[uuid]
                detail = cores if word == nodes.NEURON else \
                    tuple(map(int, in_way.groups()[1:])) if in_way else None
                if "profiles" in card.facts and not in_way:
                    detail = self.reservation(state, position, place, uuid)
                found[-1].append(Given(card, mib, bin(cores).count("1") if word == nodes.NEURON
                                       else cores, detail))
        return found

    @staticmethod
    def reservation(state, position, place, uuid):
        """(profile, start, size) of a device of a container, by HAMi 2.10's list."""
        for one in json.loads(notes_of(state)[MIG_ALLOCATIONS]):
            if (one["containerIndex"], one["deviceIndex"]) == (position, place):
                demand(one["gpuUUID"] == uuid, "partition of %s is for %s", uuid, one["gpuUUID"])
                return one["profile"], one["placement"]["start"], one["placement"]["size"]
        raise Wrong("no partition for device %d of container %d" % (place, position))

    def judge_amounts(self, state, word, given):
        vendor = VENDORS[word]
        for container, devices in zip(containers_of(state), given):
            ids = [one.card.id for one in devices]
            demand(len(set(ids)) == len(ids) == vendor.count(container.limits),
                   "container %s asks %s and has %s", container.name, container.limits, ids)
            for one in devices:
                demand(one.card.vendor == word, "%s is no %s", one.card.id, word)
                told = one.memory_mib, one.cores
                asked = vendor.work_out(container.limits, one.card)
                if "profiles" in one.card.facts:
                    self.judge_partition(one, asked)
                else:
                    demand(told == asked, "container %s asks %s and has %s on %s", container.name,
                           asked, told, one.card.id)
            if len(devices) > 1:
                judge_set(word, devices)

    @staticmethod
    def judge_partition(one, asked):
        """One that there is, of the size that is told, and no smaller than asked."""
        facts = one.card.facts
        name = one.detail[0] if "ways" not in facts else \
            facts["ways"][one.detail[0]][one.detail[1]]
        mib, cores, _, size, starts = facts["profiles"][name]
        demand((one.memory_mib, one.cores) == (mib, cores), "%s is told as %d MiB, %d cores", name,
               one.memory_mib, one.cores)
        demand(mib >= asked[0], "%s is smaller than %d MiB", name, asked[0])
        if "ways" not in facts:
            demand(one.detail[1] in starts and one.detail[2] == size, "no %s at %d of %d", name,
                   one.detail[1], one.detail[2])

    # --- pods of a node ---

    def tenants(self, states):
        """{card: [(state, Given)]}, with each phase of a pod that has the card."""
        found = collections.defaultdict(list)
        for state in filter(pods.is_holding, states):
            for word in self.asked(state):
                for container, devices in zip(containers_of(state), self.given(state, word)):
                    for one in devices:
                        found[one.card].append((state, container, one))
        return found

    @staticmethod
    def booked(present):
        """(MiB, cores, shares) on a card."""
        return most_at_once(present, lambda _, one: (one.memory_mib, one.cores, 1))

    def uses(self, states):
        """{id: (MiB, cores, shares)} of the cards in use."""
        return {card.id: self.booked(tenants) for card, tenants in self.tenants(states).items()}

    def sharing_problems(self, states):
        try:
            tenants = self.tenants(states)
            for card, present in tenants.items():
                self.judge_card(card, present)
            judge_handles([card for card in self.cards.values() if any(
                self.nodes[card.id] == self.nodes[used.id] for used in tenants)], tenants)
        except (Wrong, KeyError, ValueError) as error:
            return ["%s %s" % (type(error).__name__, error)]
        return []

    def judge_card(self, card, present):
        mib, cores, count = self.booked(present)
        demand(mib <= card.memory_mib, "%s: %d of %d MiB", card.id, mib, card.memory_mib)
        demand(cores <= (card.cores or 100), "%s: %d of %d cores", card.id, cores, card.cores)
        demand(count <= card.slots, "%s: %d shares of %d", card.id, count, card.slots)
        if card.vendor in SHARING:
            SHARING[card.vendor](card, present)
        elif card.cores == 100 and "profiles" not in card.facts:
            judge_exclusive(card, present)


# --- vendors' rules ---

def most_at_once(present, value):
    """The sums of these values on a card: of each pod its apps together, or one that runs alone."""
    by_pod = collections.defaultdict(list)
    for state, container, one in present:
        by_pod[state["metadata"]["uid"]].append((container, value(container, one)))
    total = None
    for uses in by_pod.values():
        phases = [[use] for container, use in uses if container.runs_alone]
        phases.append([use for container, use in uses if not container.runs_alone])
        sums = [[sum(column) for column in zip(*phase)] for phase in phases if phase]
        most = [max(column) for column in zip(*sums)]
        total = [a + b for a, b in zip(total, most)] if total else most
    return tuple(total)


def side_by_side(present):
    """The pairs of tenants that may run at the same time."""
    return [(a[2], b[2]) for a, b in itertools.combinations(present, 2)
            if a[0]["metadata"]["uid"] != b[0]["metadata"]["uid"] or
            not (a[1].runs_alone or b[1].runs_alone)]


def pods_on(present):
    return {state["metadata"]["name"]: state for state, _, _ in present}


def judge_exclusive(card, present):
    """Who has all cores is alone."""
    demand(len(pods_on(present)) == 1 or all(one.cores < 100 for _, _, one in present),
           "%s: %s share it with one that has all cores", card.id, sorted(pods_on(present)))


def judge_nvidia(card, present):
    if "profiles" not in card.facts:
        judge_exclusive(card, present)
        return
    if "ways" in card.facts:
        for one, other in side_by_side(present):
            demand(one.detail[0] == other.detail[0] and one.detail != other.detail,
                   "%s: %s beside %s", card.id, one.detail, other.detail)
        return
    for one, other in side_by_side(present):
        apart = one.detail[1] + one.detail[2] <= other.detail[1] or \
            other.detail[1] + other.detail[2] <= one.detail[1]
        demand(apart, "%s: %s beside %s", card.id, one.detail, other.detail)
    compute, = most_at_once(present, lambda _, one: (card.facts["profiles"][one.detail[0]][2],))
    demand(compute <= 7, "%s: %d compute slices", card.id, compute)


def judge_sgpu(card, present):
    """One service class at a time; who has all cores is alone in any case."""
    judge_exclusive(card, present)
    services = {notes_of(state).get("metax-tech.com/sgpu-qos-policy", "")
                for state in pods_on(present).values()} - {""}
    demand(len(services) <= 1, "%s: services %s on one card", card.id, sorted(services))
    applications = {notes_of(state).get("metax-tech.com/sgpu-app-class", "")
                    for state in pods_on(present).values()}
    demand(len(applications) == 1 or "" not in applications, "%s: with and without a class: %s",
           card.id, sorted(applications))


def judge_xpu(card, present):
    demand(len(pods_on(present)) == 1, "%s: whole, with %s", card.id, sorted(pods_on(present)))


def judge_vxpu(card, present):
    sizes = {one.memory_mib for _, _, one in present}
    demand(len(sizes) == 1, "%s: slices of %s MiB", card.id, sorted(sizes))


def judge_neuron(card, present):
    demand(all(0 < one.detail < 4 for _, _, one in present), "%s: no mask of two cores", card.id)
    for one, other in side_by_side(present):
        demand(not one.detail & other.detail, "%s: a core twice", card.id)


def judge_drs(card, present):
    slices, = most_at_once(present, lambda container, _: (drs_profile(container.limits)[1],))
    demand(slices <= 6, "%s: %d of 6 slices", card.id, slices)


SHARING = {nodes.NVIDIA: judge_nvidia, nodes.SGPU: judge_sgpu, nodes.KUNLUN: judge_xpu,
           nodes.VXPU: judge_vxpu, nodes.NEURON: judge_neuron, nodes.DRS: judge_drs}


def judge_handles(cards, tenants):
    """The driver has 32: one for each of the eight cards, one for each slice of a split one."""
    handles = 8
    for card in cards:
        if card.vendor == nodes.VXPU and tenants.get(card):
            parts = 98304 // tenants[card][0][2].memory_mib
            handles += parts if parts > 1 else 0
    demand(handles <= 32, "%d handles of 32", handles)


WING_PAIRS = [{0, 4}, {1, 5}, {2, 6}, {3, 7}]
WING_QUADS = [set(map(int, quad)) for quad in ("0145", "2367", "0246", "1357", "0347", "1256")]


def wings_allow(chosen):
    return chosen <= {0, 1, 2, 3} or chosen <= {4, 5, 6, 7} or chosen in WING_PAIRS or \
        chosen in WING_QUADS or len(chosen) == 8


def runs_allow(chosen, is_ring):
    first, count = min(chosen), len(chosen)
    in_a_row = chosen == set(range(first, first + count))
    return in_a_row and (is_ring or (count in (1, 4, 8, 16) and first % count == 0))


def judge_set(word, devices):
    """Several devices of a container."""
    chosen = {one.card.index for one in devices}
    if word in (nodes.KUNLUN, nodes.VXPU):
        demand(len(chosen) in (2, 4, 8) and wings_allow(chosen), "no set of wings: %s", chosen)
    if word == nodes.NEURON:
        demand(runs_allow(chosen, devices[0].card.facts["is_ring"]), "no run: %s", chosen)
