# SPDX-License-Identifier: Apache-2.0
"""
Parts of NVIDIA GPUs: on nodes that only their inventory describes, without HAMi's plugins; and for
the applications that ask for them, as their charts write it.
"""

import json
import unittest

import controlplane
import pods
import vendor_nodes
import wirings
from cluster_case import ClusterCase
from kubeapi import NODES
from vendor_case import AsOurs, VendorCase

NO_MEMORY = "not enough free GPU memory"
APPS = "/apis/apps/v1/namespaces/default/"


class NativeSlices(ClusterCase):
    """No plugin, but the vendor's runtime: the record and a list of devices are all there is."""

    def use_node(self, slots=wirings.SLOTS):
        self.add_nodes(wirings.wired_node("node", wirings.PCIE, slots))

    def assert_ours_alone(self, states):
        """Nothing of HAMi's on pods or node: no plugin reads it."""
        notes = [state["metadata"]["annotations"] for state in states.values()]
        notes.append(self.api.get(NODES + "/node")["metadata"]["annotations"])
        self.assertEqual([key for one in notes for key in one if "hami" in key], [])

    def test_cards_are_filled_to_the_last_mib_and_core(self):
        self.use_node()
        self.create(*[pods.pod("half-%d" % i, pods.limits(1, percent=50, cores=50))
                      for i in range(8)])
        self.wait_all_bound(8)
        self.create(*[pods.pod("quarter-%d" % i, pods.limits(1, memory=5757, cores=25))
                      for i in range(16)])
        states = self.wait_all_bound(24)
        self.assert_rightly_booked(states)
        self.wait_ledger_equals_records()
        self.assertEqual({use[:2] for use in self.topofit.uses().values()},
                         {(wirings.PCIE.memory_mib, wirings.CORES)})
        self.assertEqual(len(self.topofit.uses()), wirings.PCIE.size)
        self.assert_ours_alone(states)
        self.create(pods.pod("more", pods.limits(1, memory=1)))
        self.assertIn(NO_MEMORY, self.wait_refused("more"))
        self.delete_pods(["quarter-3"])
        self.create(pods.pod("instead", pods.limits(1, memory=5000, cores=20)))
        self.wait_bound("instead")

    def test_cores_run_out_before_memory(self):
        self.use_node()
        self.create(*[pods.pod("p%d" % i, pods.limits(1, memory=100, cores=40)) for i in range(16)])
        self.assert_rightly_booked(self.wait_all_bound(16))
        self.create(pods.pod("more", pods.limits(1, memory=100, cores=40)))
        self.assertIn("not enough free GPU cores", self.wait_refused("more"))
        self.place(pods.pod("little", pods.limits(1, memory=100, cores=20)))

    def test_slots_run_out_before_memory(self):
        self.use_node(slots=2)
        self.create(*[pods.pod("p%d" % i, pods.limits(1, memory=100)) for i in range(15)])
        self.wait_all_bound(15)
        self.create(pods.pod("two", pods.limits(2, memory=100)))
        self.wait_refused("two")
        self.assert_rightly_booked(self.states())

    def test_parts_of_several_cards_for_one_container(self):
        self.use_node()
        self.create(*[pods.pod("p%d" % i, pods.limits(4, memory=11514, cores=50))
                      for i in range(4)])
        self.assert_rightly_booked(self.wait_all_bound(4))
        self.create(pods.pod("more", pods.limits(1, memory=1)))
        self.assertIn(NO_MEMORY, self.wait_refused("more"))


class NamedPartitions(ClusterCase):
    """nvidia.com/mig-*: partitions asked for by the name of their profile."""

    SCHEDULER = "mig-scheduler"
    PROFILES = ("1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        text = controlplane.shipped("scheduler-config.yaml") + "".join(
            "      - name: nvidia.com/mig-%s\n        ignoredByScheduler: true\n" % profile
            for profile in cls.PROFILES)
        scheduler = cls.plane.run_scheduler(cls.SCHEDULER, cls.SCHEDULER, cls.plane.ports.take(),
                                            cls.topofit.extender_port, text)
        cls.addClassCleanup(cls.plane.end, scheduler)

    def judge_nodes(self):
        """Not by amounts: partitions are looked at below."""

    def mig(self, name, profile, count=1):
        return {**pods.pod(name, {}, schedulerName=self.SCHEDULER, containers=[pods.container(
            "main", {"nvidia.com/mig-" + profile: str(count)})])}

    def add_divided(self, count):
        node = wirings.bare_node("node", 7 * count)
        node["metadata"]["annotations"] = {"topofit.io/inventory": json.dumps({"devices": [
            {"id": "GPU-%d" % i, "product": "NVIDIA A100-SXM4-40GB", "memoryMiB": 40960, "slots": 7,
             "partitions": True} for i in range(count)]})}
        self.add_nodes(node)

    def partitions(self):
        """{card: [(profile, start, size)]} by the records."""
        found = {}
        for state in filter(pods.is_bound, self.states().values()):
            for container in pods.record(state)["containers"]:
                for one in container["devices"]:
                    what = one["partition"]
                    found.setdefault(one["id"], []).append(
                        (what["profile"], what["start"], what["size"]))
        return found

    def assert_disjoint(self):
        for card, parts in self.partitions().items():
            taken = [i for _, start, size in parts for i in range(start, start + size)]
            self.assertEqual(len(taken), len(set(taken)), (card, parts))
            for name, start, size in parts:
                _, _, _, width, starts = vendor_nodes.A100_40GB.get(name, (0, 0, 4, 4, (0,)))
                self.assertEqual(size, width)
                self.assertIn(start, starts)

    def test_they_fill_two_cards_exactly(self):
        self.add_divided(2)
        for number, profile in enumerate(("3g.20gb", "4g.20gb", "2g.10gb", "1g.5gb",
                                            "1g.5gb", "1g.5gb")):
            self.place(self.mig("p%d" % number, profile))
        self.place(self.mig("two", "1g.5gb", 2))
        self.assert_disjoint()
        compute = {"1g.5gb": 1, "2g.10gb": 2, "3g.20gb": 3, "4g.20gb": 4}
        self.assertEqual(sum(compute[name] for parts in self.partitions().values()
                             for name, _, _ in parts), 14)
        self.create(self.mig("more", "1g.5gb"))
        self.assertIn("no place on a GPU for the partition", self.wait_refused("more"))


class Applications(AsOurs, VendorCase):
    """The manifests that we ship, stored by the API server, and pods of their templates."""

    def create_owner(self, kind, file):
        owner = self.api.create_yaml(APPS + kind, controlplane.shipped("examples", "applications",
                                                                      file))
        self.addCleanup(self.api.delete, "%s%s/%s" % (APPS, kind, owner["metadata"]["name"]))
        return owner

    def replicas(self, owner, count):
        """What the controllers, which are not here, would make."""
        template = owner["spec"]["template"]
        return [{"metadata": {**template["metadata"], "name": self.name_pod(
            owner["metadata"]["name"])}, "spec": {**template["spec"],
                                                  "terminationGracePeriodSeconds": 0}}
                for _ in range(count)]

    def test_both_are_placed_and_accounted(self):
        self.add_machines(vendor_nodes.nvidia("node", 2, 50000))
        vllm = self.create_owner("deployments", "vllm-production-stack.yaml")
        xinference = self.create_owner("statefulsets", "xinference.yaml")
        self.place_all(self.replicas(vllm, 3))
        self.place_all(self.replicas(xinference, 2))
        self.assertEqual(sorted(self.topofit.uses().values()), [(40000, 80, 2), (49152, 90, 3)])
        more, = self.replicas(xinference, 1)
        self.create(more)
        self.wait_message(more["metadata"]["name"], NO_MEMORY)

    def test_both_run_on_nodes_without_a_plugin(self):
        self.add_nodes(wirings.wired_node("node", wirings.A40_PAIRS))
        vllm = self.create_owner("deployments", "vllm-production-stack.yaml")
        xinference = self.create_owner("statefulsets", "xinference.yaml")
        self.create(*self.replicas(vllm, 2), *self.replicas(xinference, 2))
        states = self.wait_all_bound(4)
        recorded = sorted(figures for state in states.values() for container in
                          pods.recorded(state).values() for figures in container.values())
        self.assertEqual(recorded, [(16384, 30)] * 2 + [(18428, 40)] * 2)


if __name__ == "__main__":
    unittest.main()
