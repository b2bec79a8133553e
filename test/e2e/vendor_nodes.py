# SPDX-License-Identifier: Apache-2.0
"""
Nodes as the device plugins of many vendors describe them: their annotations, their allocatable, and
what that means, card by card, for the referee.

source: HAMi v2.9.0 and v2.10.0, pkg/device/*/device.go, and what its plugins write
"""

import collections
import json

NVIDIA = "NVIDIA"
METAX = "Metax-GPU"
SGPU = "Metax-SGPU"
KUNLUN = "kunlun"
VXPU = "XPU"
NEURON = "AWSNeuron"
GCU = "GCU"
VGCU = "Enflame up to 2.9"
DRS = "Enflame"
ASCEND = "Ascend910B4"
ASCEND_MEMORY = "huawei.com/Ascend910B4-memory"
DCU = "DCU"
MLU = "MLU"
ILUVATAR = "MR-V100"
MTHREADS = "Mthreads"
AMD = "AMD"
VASTAI = "Vastai"
BIREN = "Biren"



class Card(collections.namedtuple("Card", "vendor id index memory_mib cores slots facts")):
    """facts: what only some vendors' cards have."""

    def __hash__(self):
        return hash(self.id)


# One node, and the cards that are on it.
Machine = collections.namedtuple("Machine", "node cards")


def bare(name, allocatable, annotations=None, labels=None):
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110", **allocatable}
    return {"metadata": {"name": name, "annotations": annotations or {},
                         "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
            "status": {"capacity": amounts, "allocatable": amounts}}


def without_empty(entry):
    """As Go writes them with omitempty: no index 0, no numa 0."""
    return {key: value for key, value in entry.items() if value not in (0, "", False, None)}


def register(cards, product, numa=lambda index: 0, **more):
    """The list in JSON that most of HAMi's plugins write."""
    return json.dumps([without_empty({
        "id": card.id, "index": card.index, "count": card.slots, "devmem": card.memory_mib,
        "devcore": card.cores, "type": product, "numa": numa(card.index), "health": True, **more})
        for card in cards], separators=(",", ":"))


def numbered(vendor, count, ids, memory_mib, cores, slots, facts=lambda index: {}):
    return [Card(vendor, ids % index, index, memory_mib, cores, slots, facts(index))
            for index in range(count)]


# --- NVIDIA ---

def nvidia(name, count, memory_mib, slots=10):
    cards = numbered(NVIDIA, count, "GPU-" + name + "-%d", memory_mib, 100, slots)
    return Machine(bare(name, {"nvidia.com/gpu": str(count * slots)}, {
        "hami.io/node-nvidia-register": register(cards, "NVIDIA-NVIDIA A10", mode="hami-core")}),
        cards)


# Name: MiB, cores, compute slices, memory slices, starts.
A100_40GB = {
    "1g.5gb": (5120, 14, 1, 1, range(7)),
    "2g.10gb": (10240, 28, 2, 2, (0, 2, 4)),
    "3g.20gb": (20480, 42, 3, 4, (0, 4)),
    "7g.40gb": (40960, 100, 7, 8, (0,)),
}
# The ways in which HAMi up to 2.9 divides it: names in the order of their positions.
A100_40GB_WAYS = (["1g.5gb"] * 7, ["2g.10gb"] * 3 + ["1g.5gb"], ["3g.20gb"] * 2, ["7g.40gb"])


def mig(name, count):
    """A100 in MIG mode, as the plugin of 2.10 lists its profiles."""
    cards = numbered(NVIDIA, count, "GPU-" + name + "-%d", 40960, 100, 7,
                     lambda index: {"profiles": A100_40GB})
    profiles = [{"name": profile, "memoryMB": mib, "core": cores, "sliceCount": slices,
                 "placements": [without_empty({"start": start, "size": size}) for start in starts]}
                for profile, (mib, cores, slices, size, starts) in A100_40GB.items()]
    return Machine(bare(name, {"nvidia.com/gpu": str(count * 7)}, {
        "hami.io/node-nvidia-register": register(cards, "NVIDIA-NVIDIA A100-PCIE-40GB", mode="mig",
                                                 migProfiles=profiles)}), cards)


def mig_2_9(name, count):
    """A100 in MIG mode as the plugin of 2.9 tells it: the profiles stand in a configuration."""
    cards = numbered(NVIDIA, count, "GPU-" + name + "-%d", 40960, 100, 7,
                     lambda index: {"ways": A100_40GB_WAYS, "profiles": A100_40GB})
    return Machine(bare(name, {"nvidia.com/gpu": str(count * 7)}, {
        "hami.io/node-nvidia-register": "".join(
            "%s,7,40960,100,NVIDIA-NVIDIA A100-PCIE-40GB,0,true,%d,mig:" % (card.id, card.index)
            for card in cards)}), cards)


# --- MetaX ---

def sgpu(name, count, memory_mib, zones=(), service=""):
    """`zones`: the link zone of each card, 0 for none."""
    zones = list(zones) + [0] * (count - len(zones))
    cards = numbered(SGPU, count, "GPU-" + name + "-%d", memory_mib, 100, 16,
                     lambda index: {"zone": zones[index]})
    entries = [{"uuid": card.id, "model": "sgpu", "totalDevCount": 16, "availableDevCount": 16,
                "totalCompute": 100, "availableCompute": 100, "bdf": "0000:4%d:00.0" % card.index,
                "totalVRam": memory_mib, "availableVRam": memory_mib,
                "numa": card.index * 2 // count, "healthy": True, "qosPolicy": service, "linkZone": zones[card.index]}
               for card in cards]
    return Machine(bare(name, {"metax-tech.com/sgpu": str(16 * count)},
                        {"metax-tech.com/node-gpu-devices": json.dumps(entries)}), cards)


def metax(name, count):
    cards = numbered(METAX, count, name + "-metax-%d", 65536, 100, 1)
    return Machine(bare(name, {"metax-tech.com/gpu": str(count)}, {
        "metax-tech.com/gpu.topology.losses": '{"1":100,"2":200}',
        "metax-tech.com/gpu.topology.scores": '{"1":200,"2":100}'}), cards)


# --- Kunlun ---

def kunlun(name):
    cards = numbered(KUNLUN, 8, name + "-kunlun-%d", 98304, 100, 100)
    return Machine(bare(name, {"kunlunxin.com/xpu": "8"}), cards)


def vxpu(name, count=8, slots=4):
    cards = numbered(VXPU, count, "00000000-" + name + "-%02d.0", 98304, 100, slots)
    return Machine(bare(name, {"kunlunxin.com/vxpu": str(count * slots)}, {
        "hami.io/node-register-xpu": register(cards, "XPU", lambda index: index * 2 // count),
        "hami.io/node-handshake-xpu": "Requesting_2026-03-04 10:20:30"}), cards)


# --- AWS ---

def neuron(name, count, instance_type):
    cards = numbered(NEURON, count, name + "-AWSNeuron-%d", 0, 2, 2,
                     lambda index: {"is_ring": "inf" in instance_type})
    return Machine(bare(name, {"aws.amazon.com/neuron": str(count),
                               "aws.amazon.com/neuroncore": str(2 * count)},
                        labels={"node.kubernetes.io/instance-type": instance_type}), cards)


# --- Enflame ---

# Name: number, slices, GiB.
DRS_PROFILES = {"1g.6gb": ("0", 1, 6), "3g.20gb": ("1", 3, 20), "6g.40gb": ("2", 6, 40)}


def drs(name, count):
    cards = numbered(DRS, count, name + "-enflame-drs-%d", 40960, 100, 6)
    told = {"devices": [{"index": str(card.index), "minor": str(card.index + 8), "capacity": 6}
                        for card in cards],
            "profiles": {profile: number for profile, (number, _, _) in DRS_PROFILES.items()}}
    return Machine(bare(name, {"enflame.com/drs-gcu": str(6 * count), "enflame.com/gcu": "0",
                               "enflame.com/gcu-count": str(count),
                               "enflame.com/shared-gcu": str(6 * count)},
                        {"enflame.com/gcu-drs-capacity": json.dumps(told)}), cards)


def vgcu(name, count):
    """What the plugin of 2.9 tells: six parts of each card at most."""
    cards = numbered(VGCU, count, name + "-enflame-%d", 100, 100, 100)
    return Machine(bare(name, {"enflame.com/gcu-count": str(count),
                               "enflame.com/shared-gcu": str(6 * count),
                               "enflame.com/vgcu": str(6 * count)}), cards)


def gcu(name, count):
    cards = numbered(GCU, count, name + "-GCU-%d", 100, 100, 1)
    return Machine(bare(name, {"enflame.com/gcu": str(count)}), cards)


# --- others ---

def ascend(name, count):
    """Go's names of the fields, as that plugin writes them."""
    cards = numbered(ASCEND, count, "device-" + name + "-%d", 32768, 20, 4)
    entries = [{"ID": card.id, "Index": card.index, "Count": card.slots, "Devmem": card.memory_mib,
                "Devcore": card.cores, "Type": ASCEND, "Numa": 0, "Health": True,
                "CustomInfo": {"NetworkID": card.index // 4}} for card in cards]
    return Machine(bare(name, {"huawei.com/Ascend910B4": str(count * 4)}, {
        "hami.io/node-register-Ascend910B4": json.dumps(entries),
        "hami.io/node-handshake-Ascend910B4": "Reported_2026.03.04 10:20:31"}), cards)


def csv(cards, product):
    return "".join("%s,%d,%d,%d,%s,0,true,%d,hami-core:" % (
        card.id, card.slots, card.memory_mib, card.cores, product, card.index) for card in cards)


def dcu(name, count):
    cards = numbered(DCU, count, "DCU-" + name + "-%d", 65536, 60, 30)
    return Machine(bare(name, {"hygon.com/dcunum": str(30 * count)}, {
        "hami.io/node-dcu-register": csv(cards, "DCU-K100_AI"),
        "hami.io/node-handshake-dcu": "Reported_2026-03-04 10:20:31.5 +0800 CST m=+30.1"}), cards)


def iluvatar(name, count):
    cards = numbered(ILUVATAR, count, "GPU-" + name + "-%d", 32768, 100, 10)
    return Machine(bare(name, {"iluvatar.ai/MR-V100-vgpu": str(10 * count)}, {
        "hami.io/node-MR-V100-register": csv(cards, "MR-V100"),
        "hami.io/node-handshake-MR-V100": "Requesting_2026-03-04 10:20:31"}), cards)


def mlu(name, count):
    cards = numbered(MLU, count, name + "-cambricon-mlu-%d", 24576, 100, 100)
    return Machine(bare(name, {"cambricon.com/vmlu": str(count),
                               "cambricon.com/mlu.smlu.vcore": str(100 * count),
                               "cambricon.com/mlu.smlu.vmemory": str(24576 // 256 * count)}), cards)


def mthreads(name, count):
    cards = numbered(MTHREADS, count, name + "-mthreads-%d", 49152, 16, 100)
    return Machine(bare(name, {"mthreads.com/vgpu": str(count),
                               "mthreads.com/sgpu-core": str(16 * count),
                               "mthreads.com/sgpu-memory": str(49152 // 512 * count)}), cards)


def amd(name, count):
    cards = numbered(AMD, count, "amd-" + name + "-%d", 196608, 304, 8)
    return Machine(bare(name, {"amd.com/gpu": str(8 * count)}, {
        "hami.io/node-amd-register": register(cards, "AMD-Instinct-MI300X")}), cards)


def vastai(name, count):
    cards = numbered(VASTAI, count, "7-" + name + "-%d", 32768, 0, 1)
    return Machine(bare(name, {"vastaitech.com/va": str(count)}, {
        "hami.io/node-va-register": register(cards, "Vastai"),
        "hami.io/node-handshake-va": "Requesting_2026-03-04 10:20:31"}), cards)


def biren(name, count):
    cards = numbered(BIREN, count, "biren-" + name + "-%d", 65536, 0, 1)
    return Machine(bare(name, {"birentech.com/gpu": str(count)}, {
        "hami.io/node-biren-register": register(cards, "Biren"),
        "hami.io/node-handshake-biren": "Requesting_2026-03-04 10:20:31"}), cards)
