# SPDX-License-Identifier: Apache-2.0
"""
Devices of many vendors on nodes of HAMi's plugins, through a real kube-scheduler: with the
configuration that HAMi gives it, and with ours. Nodes are filled until the vendor's rules bind.
"""

import random
import unittest

import pods
import vendor_nodes as nodes
from kubeapi import PODS, condition
from vendor_case import AsHami, AsOurs, VendorCase

NO_MEMORY = "not enough free GPU memory", "InsufficientMemory"
NO_PLACE = "no place on a GPU for the partition", "NoPlacement"
NO_SLOT = "no free sharing slot", "InsufficientSlots"
NO_CORES = "not enough free GPU cores", "InsufficientCores"


def gpu(memory=None, percent=None, cores=None, count=1):
    return pods.limits(count, memory, percent, cores)


def qos(word):
    return {"metax-tech.com/sgpu-qos-policy": word}


def sgpu(gib=None, cores=None, count=1):
    amounts = {"metax-tech.com/sgpu": count, "metax-tech.com/vmemory": gib,
               "metax-tech.com/vcore": cores}
    return {name: amount for name, amount in amounts.items() if amount is not None}


def vxpu(mib=None, count=1):
    amounts = {"kunlunxin.com/vxpu": count}
    return amounts if mib is None else {**amounts, "kunlunxin.com/vxpu-memory": mib}


class Nvidia:

    def test_cards_are_filled_to_the_last_mib_and_core(self):
        self.add_machines(nodes.nvidia("node", 2, 24000))
        self.place_many(2, gpu(percent=50, cores=50))
        self.place_many(4, gpu(memory=6000, cores=25))
        self.refuse(*NO_MEMORY, gpu(memory=1))
        self.assertEqual(set(self.topofit.uses().values()), {(24000, 100, 2), (24000, 100, 4)})

    def test_cores_run_out_before_memory(self):
        self.add_machines(nodes.nvidia("node", 2, 24000))
        self.place_many(6, gpu(memory=1000, cores=33))
        self.refuse(*NO_CORES, gpu(memory=1000, cores=33))
        self.place_one(gpu(memory=1000, cores=1))

    def test_a_card_takes_as_many_pods_as_the_plugin_splits_it_into(self):
        self.add_machines(nodes.nvidia("node", 1, 24000, slots=4))
        self.place_many(4, gpu(memory=100))
        self.refuse_count(pods.COUNT, *NO_SLOT, gpu(memory=100))

    def test_a_whole_card_is_nobody_elses(self):
        self.add_machines(nodes.nvidia("node", 2, 24000))
        whole = self.place_one(gpu())
        parts = self.place_many(2, gpu(memory=100))
        self.assertFalse(self.cards_used([whole], nodes.NVIDIA) &
                         self.cards_used(parts, nodes.NVIDIA))
        self.refuse(*NO_MEMORY, gpu())

    def test_who_wants_all_cores_joins_nobody(self):
        self.add_machines(nodes.nvidia("node", 1, 24000))
        self.place_one(gpu(memory=100))
        self.refuse("GPU cores held or wanted exclusively", "ExclusiveTenant",
                    gpu(memory=100, cores=100))

    def test_every_container_gets_its_slot(self):
        self.add_machines(nodes.nvidia("node", 4, 24000))
        main = [pods.container("plain", {}), pods.container("two", gpu(count=2)),
                pods.container("part", gpu(memory=3000, cores=20))]
        self.place_one({}, containers=main, initContainers=[
            pods.container("first", gpu(memory=2000)), pods.container("nothing", {})])

    def test_pods_of_a_burst_share_cards_rightly(self):
        self.add_machines(nodes.nvidia("one", 2, 24000), nodes.nvidia("two", 2, 24000))
        self.place_many(16, gpu(memory=6000, cores=25))
        self.refuse(*NO_MEMORY, gpu(memory=6000, cores=25))


class Mig:

    def test_a_card_takes_seven_of_the_smallest_and_no_eighth(self):
        self.add_machines(nodes.mig("node", 1))
        states = self.place_many(7, gpu(memory=5000))
        self.assertEqual(len({self.check.given(state, nodes.NVIDIA)[0][0].detail
                              for state in states}), 7)
        self.refuse_count(pods.COUNT, *NO_PLACE, gpu(memory=5000))

    def test_a_mixture_fills_two_cards_exactly(self):
        self.add_machines(nodes.mig("node", 2))
        asked = [5000, 10000, 20000, 5000, 10000, 20000]
        for memory in asked:
            self.place_one(gpu(memory=memory))
        self.assertEqual(sorted(self.profiles()), sorted(["1g.5gb", "2g.10gb", "3g.20gb"] * 2))
        self.refuse(*NO_PLACE, gpu(memory=5000))

    def profiles(self):
        return [one.detail[0] for state in self.states().values()
                for devices in self.check.given(state, nodes.NVIDIA) for one in devices]

    def test_the_whole_card_is_the_largest_profile(self):
        self.add_machines(nodes.mig("node", 2))
        self.place_one(gpu(memory=5000))
        self.place_one(gpu())
        self.assertEqual(sorted(self.profiles()), ["1g.5gb", "7g.40gb"])
        self.refuse(*NO_PLACE, gpu())

    def test_containers_of_a_pod_are_placed_together(self):
        self.add_machines(nodes.mig("node", 1))
        self.place_one({}, containers=[pods.container("a", gpu(memory=5000)),
                                       pods.container("b", gpu(memory=20000)),
                                       pods.container("c", gpu(memory=10000))])
        self.place_one(gpu(memory=5000))
        self.refuse(*NO_PLACE, gpu(memory=5000))

    def test_a_partition_that_is_given_back_is_given_out_again(self):
        self.add_machines(nodes.mig("node", 1))
        states = self.place_many(2, gpu(memory=20000))
        self.refuse(*NO_PLACE, gpu(memory=5000))
        self.delete_pods([state["metadata"]["name"] for state in states
                          if self.check.given(state, nodes.NVIDIA)[0][0].detail[1] == 0])
        self.place_many(2, gpu(memory=10000))

    def test_fixed_ways_of_2_9_are_not_mixed_on_a_card(self):
        self.add_machines(nodes.mig_2_9("node", 2))
        self.place_many(3, gpu(memory=10000))
        self.place_many(8, gpu(memory=5000))
        self.refuse(*NO_PLACE, gpu(memory=5000))

    def test_cards_in_both_modes_stand_beside_each_other(self):
        self.add_machines(nodes.mig("divided", 1), nodes.nvidia("whole", 1, 24000))
        mig = {"nvidia.com/vgpu-mode": "mig"}
        core = {"nvidia.com/vgpu-mode": "hami-core"}
        states = self.place_many(2, gpu(memory=20000), annotations=mig)
        self.assertEqual({state["spec"]["nodeName"] for state in states}, {"divided"})
        states = self.place_many(2, gpu(memory=12000), annotations=core)
        self.assertEqual({state["spec"]["nodeName"] for state in states}, {"whole"})


class Metax:

    def test_three_service_classes_fill_cards_and_never_mix(self):
        self.add_machines(nodes.sgpu("node", 4, 65536))
        words = ["best-effort"] * 8 + ["fixed-share"] * 4 + ["burst-share"] * 4
        mixed = words[::4] + words[1::4] + words[2::4] + words[3::4]
        self.place_all([self.pod(sgpu(16, 25), stem=word, annotations=qos(word))
                        for word in mixed])
        self.assertEqual(set(self.topofit.uses().values()), {(65536, 100, 4)})

    def test_a_class_waits_though_other_cards_have_room(self):
        self.add_machines(nodes.sgpu("node", 3, 65536))
        for word in ("best-effort", "fixed-share", "burst-share"):
            self.place_many(2, sgpu(16, 25), annotations=qos(word))
        self.assertEqual(set(self.topofit.uses().values()), {(32768, 50, 2)})
        burst = self.place_many(2, sgpu(16, 25), annotations=qos("burst-share"))
        self.refuse("GPU in use under another service class", "ServiceClass", sgpu(16, 25),
                    annotations=qos("burst-share"))
        self.place_many(2, sgpu(16, 25), annotations=qos("fixed-share"))
        self.place_many(2, sgpu(16, 25), annotations=qos("best-effort"))
        self.delete_pods([state["metadata"]["name"] for state in burst[:1]])
        self.refuse(*NO_MEMORY, sgpu(16, 25), annotations=qos("fixed-share"))
        self.place_one(sgpu(16, 25), annotations=qos("burst-share"))

    def test_a_card_that_is_free_again_takes_another_class(self):
        self.add_machines(nodes.sgpu("node", 1, 65536, service="fixed-share"))
        first = self.place_one(sgpu(16, 25), annotations=qos("best-effort"))
        self.refuse("GPU in use under another service class", "ServiceClass", sgpu(16, 25),
                    annotations=qos("fixed-share"))
        self.delete_pods([first["metadata"]["name"]])
        self.place_one(sgpu("8Gi", 25), annotations=qos("fixed-share"))

    def test_who_is_online_shares_with_such_only(self):
        self.add_machines(nodes.sgpu("node", 1, 65536))
        online = {"metax-tech.com/sgpu-app-class": "online"}
        offline = {"metax-tech.com/sgpu-app-class": "offline"}
        first = self.place_one(sgpu(16, 10), annotations=offline)
        self.place_one(sgpu(16, 10), annotations=online)
        for other in (offline, {}):
            self.refuse("GPU in use by another application class", "ApplicationClass", sgpu(16, 10),
                        annotations=other)
        self.delete_pods([first["metadata"]["name"]])
        self.place_one(sgpu(16, 10), annotations=online)

    def test_whole_cards_of_a_container_are_of_one_zone(self):
        self.add_machines(nodes.sgpu("node", 5, 65536, zones=(1, 2, 1, 2, 2)))
        pair = self.devices(self.place_one(sgpu(count=2)), nodes.SGPU)[0]
        self.assertEqual({self.check.cards[one].facts["zone"] for one in pair}, {1})
        three = self.devices(self.place_one(sgpu(count=3)), nodes.SGPU)[0]
        self.assertEqual({self.check.cards[one].facts["zone"] for one in three}, {2})
        self.refuse(*NO_MEMORY, sgpu(1, 10))

    def test_whole_gpus(self):
        self.add_machines(nodes.metax("node", 4))
        self.place_one({"metax-tech.com/gpu": 3})
        self.place_one({"metax-tech.com/gpu": 1})
        self.refuse(*NO_MEMORY, {"metax-tech.com/gpu": 1})


class Kunlun:

    def test_memory_is_rounded_to_what_a_card_can_do(self):
        self.add_machines(nodes.vxpu("node"))
        for asked, given in ((1, 24576), (24577, 49152), (49153, 98304), (None, 98304)):
            state = self.place_one(vxpu(asked))
            self.assertEqual(self.check.given(state, nodes.VXPU)[0][0].memory_mib, given)

    def test_slices_of_a_card_are_equal_and_handles_run_out(self):
        self.add_machines(nodes.vxpu("node"))
        self.place_many(24, vxpu(20000))  # 6 cards: 8 + 6 * 4 handles
        # Six of the cards have no memory; the other two have, but the driver has no handles.
        self.refuse(*NO_MEMORY, vxpu(20000))
        self.refuse(*NO_MEMORY, vxpu(40000))
        self.place_many(2, vxpu())
        self.refuse(*NO_MEMORY, vxpu())

    def test_halves_on_all_cards(self):
        self.add_machines(nodes.vxpu("node"))
        self.place_many(16, vxpu(49152))
        self.refuse(*NO_MEMORY, vxpu(20000))

    def test_sets_of_slices_lie_in_a_wing(self):
        self.add_machines(nodes.vxpu("node"))
        self.place_many(4, vxpu(40000, count=4))
        self.refuse(*NO_MEMORY, vxpu(40000, count=4))

    def test_whole_cards_lie_in_a_wing_or_across_by_links(self):
        self.add_machines(nodes.kunlun("node"))
        self.place_one({"kunlunxin.com/xpu": 1})
        self.place_one({"kunlunxin.com/xpu": 4})
        self.place_one({"kunlunxin.com/xpu": 2})
        self.refuse("GPU request cannot be read", "BadRequest", {"kunlunxin.com/xpu": 3})
        self.place_one({"kunlunxin.com/xpu": 1})
        self.refuse(*NO_MEMORY, {"kunlunxin.com/xpu": 1})

    def test_two_that_are_left_in_two_wings_without_a_link_are_no_pair(self):
        self.add_machines(nodes.kunlun("node"))
        use = {"hami.io/use-xpu-uuid": ",".join("node-kunlun-%d" % i for i in (0, 2, 3, 4, 5, 6))}
        for card in use["hami.io/use-xpu-uuid"].split(","):
            self.place_one({"kunlunxin.com/xpu": 1}, annotations={"hami.io/use-xpu-uuid": card})
        self.refuse("no free set of GPUs", "NoAllowedSet", {"kunlunxin.com/xpu": 2})  # 1 and 7
        self.place_each(2, {"kunlunxin.com/xpu": 1})


class Neuron:

    def test_cores_of_a_device_are_each_given_once(self):
        self.add_machines(nodes.neuron("node", 2, "inf2.8xlarge"))
        self.place_each(2, {"aws.amazon.com/neuroncore": 1})
        self.place_one({"aws.amazon.com/neuroncore": 2})
        self.refuse(*NO_CORES, {"aws.amazon.com/neuroncore": 1})

    def test_runs_of_a_ring(self):
        self.add_machines(nodes.neuron("node", 12, "inf2.48xlarge"))
        for count in (5, 3, 2, 2):
            self.place_one({"aws.amazon.com/neuron": count})
        self.refuse(*NO_CORES, {"aws.amazon.com/neuron": 1})

    def test_runs_of_a_torus_are_aligned(self):
        self.add_machines(nodes.neuron("node", 16, "trn1.32xlarge"))
        self.place_one({"aws.amazon.com/neuron": 1})
        self.place_one({"aws.amazon.com/neuron": 8})
        self.place_one({"aws.amazon.com/neuroncore": 8})
        self.refuse("not given out in this number", "CountNotAllowed", {"aws.amazon.com/neuron": 2})
        self.place_each(3, {"aws.amazon.com/neuroncore": 2})
        self.refuse(*NO_CORES, {"aws.amazon.com/neuroncore": 1})

    def test_four_of_twelve_that_are_not_in_a_row_are_no_set(self):
        self.add_machines(nodes.neuron("node", 16, "trn1.32xlarge"))
        for index in (0, 5, 10, 15):
            self.place_one({"aws.amazon.com/neuron": 1}, annotations={
                "aws.amazon.com/use-neuron-uuid": "node-AWSNeuron-%d" % index})
        self.refuse("no free set of GPUs", "NoAllowedSet", {"aws.amazon.com/neuron": 4})

    def test_halves_of_devices_and_whole_ones_side_by_side(self):
        self.add_machines(nodes.neuron("node", 4, "inf2.24xlarge"))
        self.place_each(3, {"aws.amazon.com/neuroncore": 1})
        self.place_one({"aws.amazon.com/neuron": 2})
        self.place_one({"aws.amazon.com/neuroncore": 1})
        self.refuse(*NO_CORES, {"aws.amazon.com/neuroncore": 1})


class Enflame:

    def test_slices_fill_cards_exactly(self):
        self.add_machines(nodes.drs("node", 2))
        self.place_one({"enflame.com/drs-gcu": 6})
        self.place_one({"enflame.com/drs-gcu": 3})
        self.place_each(3, {"enflame.com/drs-gcu": 1})
        self.refuse(*NO_PLACE, {"enflame.com/drs-gcu": 1})
        self.refuse("no partition profile", "NoSuchProfile", {"enflame.com/drs-gcu": 2})

    def test_cards_in_slices_are_no_cards_of_the_older_plugin(self):
        self.add_machines(nodes.drs("node", 1))
        self.refuse("node has no GPU of the kind asked for", "NoDevicesOfClass",
                    {"enflame.com/vgcu": 1, "enflame.com/vgcu-percentage": 10})

    def test_memory_and_cores_take_the_smallest_profile_that_is_enough(self):
        self.add_machines(nodes.drs("node", 2))
        self.place_one({"enflame.com/gcu-memory": 15})
        self.place_one({"enflame.com/gcu-memory": 6, "enflame.com/gcu-core": 50})
        self.place_each(2, {"enflame.com/gcu-memory": 6, "enflame.com/gcu-core": 17})
        self.place_each(4, {"enflame.com/gcu-memory": 6})
        self.refuse(*NO_PLACE, {"enflame.com/gcu-memory": 6})

    def test_percentages_of_2_9(self):
        self.add_machines(nodes.vgcu("node", 2))
        self.place_each(2, {"enflame.com/vgcu": 1, "enflame.com/vgcu-percentage": 50})
        self.place_each(4, {"enflame.com/vgcu": 1, "enflame.com/vgcu-percentage": 25})
        self.refuse(*NO_MEMORY, {"enflame.com/vgcu": 1, "enflame.com/vgcu-percentage": 10})

    def test_whole_cards(self):
        self.add_machines(nodes.gcu("node", 3))
        self.place_one({"enflame.com/gcu": 2})
        self.place_one({"enflame.com/gcu": 1})
        self.refuse(*NO_MEMORY, {"enflame.com/gcu": 1})


class Others:

    def test_ascend_is_cut_by_templates(self):
        self.add_machines(nodes.ascend("node", 2))
        name, memory = "huawei.com/Ascend910B4", nodes.ASCEND_MEMORY
        self.place_many(2, {name: 1, memory: 10000})
        self.place_many(4, {name: 1, memory: 8192})
        self.refuse(*NO_MEMORY, {name: 1, memory: 8192})

    def test_hygon_by_memory_and_cores(self):
        self.add_machines(nodes.dcu("node", 2))
        self.place_many(4, {"hygon.com/dcunum": 1, "hygon.com/dcumem": 16384,
                            "hygon.com/dcucores": 30})
        self.refuse(*NO_CORES, {"hygon.com/dcunum": 1, "hygon.com/dcumem": 1000,
                                "hygon.com/dcucores": 1})

    def test_iluvatar_in_blocks_of_256_mib(self):
        self.add_machines(nodes.iluvatar("node", 2))
        self.place_many(4, {"iluvatar.ai/MR-V100-vgpu": 1, "iluvatar.ai/MR-V100.vMem": 64,
                            "iluvatar.ai/MR-V100.vCore": 50})
        self.refuse(*NO_MEMORY, {"iluvatar.ai/MR-V100-vgpu": 1, "iluvatar.ai/MR-V100.vMem": 1})

    def test_cambricon_with_its_own_lock(self):
        self.add_machines(nodes.mlu("node", 2))
        self.place_many(4, {"cambricon.com/vmlu": 1, "cambricon.com/mlu.smlu.vmemory": 48,
                            "cambricon.com/mlu.smlu.vcore": 50})
        self.refuse(*NO_MEMORY, {"cambricon.com/vmlu": 1, "cambricon.com/mlu.smlu.vmemory": 1,
                                 "cambricon.com/mlu.smlu.vcore": 1})

    def test_mthreads_by_blocks_and_sixteenths(self):
        self.add_machines(nodes.mthreads("node", 2))
        amounts = {"mthreads.com/vgpu": 1, "mthreads.com/sgpu-memory": 32,
                   "mthreads.com/sgpu-core": 8}
        self.place_many(4, amounts)
        self.refuse(*NO_CORES, amounts)

    def test_amd_by_compute_units(self):
        self.add_machines(nodes.amd("node", 2))
        self.place_many(4, {"amd.com/gpu": 1, "amd.com/gpumem": 98304, "amd.com/gpucores": 50})
        self.refuse(*NO_MEMORY, {"amd.com/gpu": 1, "amd.com/gpumem": 1, "amd.com/gpucores": 1})

    def test_vastai_and_biren_are_given_out_whole(self):
        self.add_machines(nodes.vastai("va", 2), nodes.biren("br", 2))
        for resource in ("vastaitech.com/va", "birentech.com/gpu"):
            self.place_one({resource: 2})
            pod = self.pod({resource: 1})
            self.create(pod)
            self.wait_refused(pod["metadata"]["name"])


def many(prefix, *limits):
    """The containers of a pod, beside one that asks for nothing."""
    return [pods.container(prefix, {})] + [
        pods.container("%s-%d" % (prefix, i), {name: str(amount) for name, amount in one.items()})
        for i, one in enumerate(limits)]


class Containers:

    def place_containers(self, machine, *limits):
        self.add_machines(machine)
        return self.place_one({}, containers=many("app", *limits),
                              initContainers=many("init", limits[0]))

    def test_sgpus_of_several_containers(self):
        self.place_containers(nodes.sgpu("node", 2, 65536), sgpu(16, 20), sgpu(32, 30),
                              sgpu(48, 20))

    def test_vxpus_of_several_containers_are_equal_on_a_card(self):
        self.place_containers(nodes.vxpu("node"), vxpu(20000), vxpu(40000), vxpu(20000, 2))

    def test_neuron_cores_of_several_containers(self):
        self.place_containers(nodes.neuron("node", 4, "inf2.24xlarge"),
                              {"aws.amazon.com/neuroncore": 1}, {"aws.amazon.com/neuroncore": 1},
                              {"aws.amazon.com/neuroncore": 2})

    def test_enflame_slices_of_several_containers(self):
        self.place_containers(nodes.drs("node", 2), {"enflame.com/drs-gcu": 3},
                              {"enflame.com/drs-gcu": 6})

    def test_ascend_templates_of_several_containers(self):
        one = {"huawei.com/Ascend910B4": 1, nodes.ASCEND_MEMORY: 16384}
        self.place_containers(nodes.ascend("node", 2), one, one, one)


class Policies:

    def spread_over(self, key, word, count):
        states = [self.place_one(gpu(memory=1000), annotations={key: word}) for _ in range(count)]
        return [state["spec"]["nodeName"] for state in states], \
            self.cards_used(states, nodes.NVIDIA)

    def test_nodes_are_filled_or_spread_as_the_pod_says(self):
        key = "hami.io/node-scheduler-policy"
        self.add_machines(*(nodes.nvidia("n%d" % i, 1, 24000) for i in range(3)))
        self.assertEqual(len(set(self.spread_over(key, "binpack", 3)[0])), 1)
        self.wipe_pods()
        self.topofit.wait("nothing is in use", self.topofit.uses, dict)
        self.assertEqual(len(set(self.spread_over(key, "spread", 3)[0])), 3)

    def test_cards_are_filled_or_spread_as_the_pod_says(self):
        key = "hami.io/gpu-scheduler-policy"
        self.add_machines(nodes.nvidia("node", 4, 24000))
        self.assertEqual(len(self.spread_over(key, "binpack", 3)[1]), 1)
        self.wipe_pods()
        self.topofit.wait("nothing is in use", self.topofit.uses, dict)
        self.assertEqual(len(self.spread_over(key, "spread", 3)[1]), 3)

    def test_a_refusal_is_told_in_hamis_words(self):
        """Of three pods at least: one that the daemon's watch has not shown yet is not told of."""
        self.add_machines(nodes.nvidia("node", 2, 24000))
        names = [self.refuse("GPU smaller than the amount", "DeviceTooSmall", gpu(memory=24001))
                 for _ in range(3)]
        self.topofit.wait("one is told of", lambda: any(
            "FilteringFailed" in self.event_reasons(name) for name in names), lambda: True)

    def test_selection_by_id_and_type(self):
        self.add_machines(nodes.nvidia("node", 2, 24000))
        state = self.place_one(gpu(memory=100),
                               annotations={"nvidia.com/use-gpuuuid": "GPU-node-1"})
        self.assertEqual(self.devices(state, nodes.NVIDIA), [["GPU-node-1"]])
        state = self.place_one(gpu(memory=100),
                               annotations={"nvidia.com/nouse-gpuuuid": "GPU-node-1"})
        self.assertEqual(self.devices(state, nodes.NVIDIA), [["GPU-node-0"]])
        self.place_one(gpu(memory=100), annotations={"nvidia.com/use-gputype": "A10,A100"})
        self.refuse("GPU product not the one asked for", "ProductNotSelected", gpu(memory=100),
                    annotations={"nvidia.com/nouse-gputype": "A10"})


class Churn:
    """Pods of all vendors come and go; the referee sees every state."""

    SEED = 7
    ROUNDS, AT_ONCE, GO = 5, 25, 12

    def kinds(self):
        return [
            lambda: (gpu(memory=self.dice.choice((2000, 6000, 12000)),
                         cores=self.dice.choice((None, 10, 30))), {}),
            lambda: (gpu(percent=self.dice.choice((25, 50)), count=self.dice.choice((1, 2))), {}),
            lambda: (sgpu(self.dice.choice((8, 16, 32)), self.dice.choice((10, 25))),
                     qos(self.dice.choice(("best-effort", "fixed-share", "burst-share")))),
            lambda: (vxpu(self.dice.choice((20000, 40000, None)), self.dice.choice((1, 1, 2, 4))),
                     {}),
            lambda: ({"aws.amazon.com/neuroncore": self.dice.choice((1, 1, 2, 4, 6))}, {}),
            lambda: ({"enflame.com/drs-gcu": self.dice.choice((1, 3, 6))}, {}),
            lambda: ({"huawei.com/Ascend910B4": 1,
                      nodes.ASCEND_MEMORY: self.dice.choice((8000, 16000, 20000))}, {}),
            lambda: ({"hygon.com/dcunum": 1, "hygon.com/dcumem": self.dice.choice((8000, 30000)),
                      "hygon.com/dcucores": self.dice.choice((10, 20))}, {}),
        ]

    def new_pod(self):
        amounts, annotations = self.dice.choice(self.kinds())()
        return self.pod(amounts, annotations=annotations)

    def test_no_rule_is_ever_broken(self):
        self.dice = random.Random(self.SEED)
        self.add_machines(nodes.nvidia("nvidia", 4, 24000), nodes.mig("mig", 2),
                          nodes.sgpu("sgpu", 6, 65536), nodes.vxpu("vxpu"),
                          nodes.neuron("neuron", 12, "inf2.48xlarge"), nodes.drs("drs", 3),
                          nodes.ascend("ascend", 3), nodes.dcu("dcu", 2))
        for _ in range(self.ROUNDS):
            self.create(*(self.new_pod() for _ in range(self.AT_ONCE)))
            states = self.wait_all_answered()
            running = sorted(name for name, state in states.items() if pods.is_bound(state))
            self.delete_pods(self.dice.sample(running, self.GO))
        self.wait_all_answered()

    def wait_all_answered(self):
        """Each pod runs, or waits and is told why."""
        states = self.watch.wait("all pods are answered", lambda states: (self.plugin.failed or all(
            state["status"].get("phase") == "Running" or
            not pods.is_bound(state) and condition(state).get("status") == "False"
            for state in states.values())) and dict(states), 60)
        self.assertEqual(self.plugin.failed, [])
        return states


class Records:

    MACHINES = (
        (nodes.nvidia("nvidia", 2, 24000), {pods.COUNT: 2, pods.MEMORY: 5000, pods.CORES: 20}),
        (nodes.mig("mig", 1), gpu(memory=10000)),
        (nodes.mig_2_9("mig-2-9", 1), gpu(memory=10000)),
        (nodes.metax("metax", 2), {"metax-tech.com/gpu": 2}),
        (nodes.sgpu("sgpu", 2, 65536), sgpu(16, 25)),
        (nodes.kunlun("kunlun"), {"kunlunxin.com/xpu": 2}),
        (nodes.vxpu("vxpu"), vxpu(20000, 2)),
        (nodes.neuron("neuron", 4, "inf2.24xlarge"), {"aws.amazon.com/neuroncore": 1}),
        (nodes.drs("drs", 1), {"enflame.com/drs-gcu": 3}),
        (nodes.vgcu("vgcu", 1), {"enflame.com/vgcu": 1, "enflame.com/vgcu-percentage": 25}),
        (nodes.gcu("gcu", 2), {"enflame.com/gcu": 1}),
        (nodes.ascend("ascend", 1), {"huawei.com/Ascend910B4": 1, nodes.ASCEND_MEMORY: 8192}),
        (nodes.dcu("dcu", 1), {"hygon.com/dcunum": 1, "hygon.com/dcumem": 1000,
                               "hygon.com/dcucores": 10}),
        (nodes.iluvatar("iluvatar", 1), {"iluvatar.ai/MR-V100-vgpu": 1,
                                         "iluvatar.ai/MR-V100.vMem": 8}),
        (nodes.mlu("mlu", 1), {"cambricon.com/vmlu": 1, "cambricon.com/mlu.smlu.vmemory": 4,
                               "cambricon.com/mlu.smlu.vcore": 10}),
        (nodes.mthreads("mthreads", 1), {"mthreads.com/vgpu": 1, "mthreads.com/sgpu-memory": 4,
                                         "mthreads.com/sgpu-core": 2}),
        (nodes.amd("amd", 1), {"amd.com/gpu": 1, "amd.com/gpumem": 1000, "amd.com/gpucores": 10}),
        (nodes.vastai("vastai", 1), {"vastaitech.com/va": 1}),
        (nodes.biren("biren", 1), {"birentech.com/gpu": 1}),
    )

    def place_on_all(self):
        """Two pods one after the other, on each node that has room for two. Their names."""
        self.add_machines(*(machine for machine, _ in self.MACHINES))
        names = []
        for machine, amounts in self.MACHINES:
            for _ in range(2 if machine.cards[0].slots > 1 or len(machine.cards) > 2 else 1):
                state = self.place_one(amounts, node=machine.node["metadata"]["name"])
                names.append(state["metadata"]["name"])
        self.settle()
        return names

    def test_a_restarted_daemon_knows_who_has_what(self):
        self.place_on_all()
        self.topofit.kill9()
        self.topofit.start()
        self.settle()

    def test_what_is_written_for_hami_alone_tells_who_has_what(self):
        """As after HAMi's scheduler has worked: no record of ours is there."""
        for name in self.place_on_all():
            self.api.merge("%s/%s" % (PODS, name), {"metadata": {"annotations": {
                pods.ALLOCATION: None, pods.DEVICES + "main": None}}})
        self.watch.wait("the records are gone", lambda states: not any(
            pods.ALLOCATION in state["metadata"]["annotations"] for state in states.values()))
        self.topofit.kill9()
        self.topofit.start()
        self.settle()


class HamiShapeNvidia(Nvidia, Mig, Policies, AsHami, VendorCase):
    """Under HAMi's configuration."""


class HamiShapeVendors(Metax, Kunlun, Neuron, Enflame, Others, Churn, AsHami, VendorCase):
    """Under HAMi's configuration."""


class OurShapeNvidia(Nvidia, Mig, Policies, AsOurs, VendorCase):
    """Under the configuration that we ship."""


class OurShapeVendors(Metax, Kunlun, Neuron, Enflame, Others, Containers, Churn, Records, AsOurs,
                      VendorCase):
    """Under the configuration that we ship."""


if __name__ == "__main__":
    unittest.main()
