# SPDX-License-Identifier: Apache-2.0
"""A pod that cannot be placed: why, for how long, and at what cost."""

import threading
import time
import unittest

import pods
import wirings
from cluster_case import ClusterCase

HARD = {"topofit.io/topology": "hard", "topofit.io/topology-max-tier": "0"}


class Refusal(ClusterCase):

    def assert_refused(self, name, sentence, reason):
        """The scheduler shows the sentence, the daemon the reason and its numbers."""
        self.assertIn(sentence, self.wait_refused(name))
        reasons = self.topofit.pod(name)["reasons"]
        self.assertEqual({one["node"] for one in reasons},
                         {node["metadata"]["name"] for node in self.nodes})
        self.assertEqual({one["reason"] for one in reasons}, {reason})
        self.assertTrue(all(one["detail"] for one in reasons))

    def test_hard_topology_never_to_be_had_is_refused_with_its_reason(self):
        self.add_nodes(wirings.wired_node("pcie", wirings.PCIE))
        self.create(pods.pod("hard", pods.limits(2), annotations=HARD))
        self.assert_refused("hard", "node can never form the GPU set demanded", "TopologyNever")

    def test_hard_topology_waits_for_a_pair_and_takes_it_when_it_is_free(self):
        self.add_nodes(wirings.wired_node("pairs", wirings.A40_PAIRS))
        for number in range(4):
            self.place(pods.pod("one-%d" % number, pods.limits(1)))
        self.create(pods.pod("pair", pods.limits(2), annotations=HARD),
                    pods.pod("pair-too", pods.limits(2), annotations=HARD))
        self.watch.wait("two pairs are bound", lambda states:
                        pods.is_bound(states["pair"]) and pods.is_bound(states["pair-too"]))
        self.create(pods.pod("third", pods.limits(2), annotations=HARD))
        self.wait_refused("third")
        self.delete_pods(["pair"])
        state = self.wait_bound("third")
        self.assertEqual(wirings.A40_PAIRS.worst_tier(pods.positions(state)), 0)

    def test_more_gpus_than_the_node_has_are_refused_with_their_reason(self):
        self.add_nodes(wirings.wired_node("node", wirings.PCIE))
        self.create(pods.pod("nine", pods.limits(9)))
        self.assert_refused("nine", "node has fewer GPUs than asked for", "TooFewDevices")

    def test_node_without_inventory_is_refused_with_its_reason(self):
        self.add_nodes(wirings.bare_node("bare", 8))
        self.create(pods.pod("p", pods.limits(1)))
        self.assert_refused("p", "node reports no GPU inventory", "NoInventory")

    def test_amount_that_makes_no_sense_is_refused_and_named(self):
        self.add_nodes(wirings.wired_node("node", wirings.PCIE))
        self.create(pods.pod("p", pods.limits(1, percent=300)))
        self.assertIn("the pod's GPU request cannot be read", self.wait_refused("p"))
        details = [one["detail"] for one in self.topofit.pod("p")["reasons"]]
        self.assertIn("nvidia.com/gpumem-percentage", details[0])

    def test_placed_pod_shows_where_it_is_and_no_reasons(self):
        self.add_nodes(wirings.wired_node("node", wirings.PCIE))
        state = self.place(pods.pod("p", pods.limits(2)))
        self.wait_ledger_equals_records()
        placement = self.topofit.pod("p")["placement"]
        self.assertEqual(placement["node"], "node")
        self.assertEqual(placement["containers"], {"main": pods.devices(state)})


class NoHotLoop(ClusterCase):

    WINDOW_S = 4
    ATTEMPTS_ALLOWED = 8  # a loop makes hundreds

    def attempts_in_window(self):
        """How often the scheduler tries, in a few seconds in which nothing happens."""
        before = self.plane.scheduling_attempts()
        deadline = time.monotonic() + self.WINDOW_S
        pause = threading.Event()
        while time.monotonic() < deadline:
            tried = self.plane.scheduling_attempts() - before
            if tried > self.ATTEMPTS_ALLOWED:
                return tried
            pause.wait(0.2)
        return self.plane.scheduling_attempts() - before

    def test_pod_that_no_node_can_serve_is_not_tried_again_and_again(self):
        self.add_nodes(*[wirings.wired_node("node-%02d" % number, wirings.ALL[number % 4])
                         for number in range(12)])
        self.create(pods.pod("hard", pods.limits(9)))
        self.wait_refused("hard")
        self.assertLessEqual(self.attempts_in_window(), self.ATTEMPTS_ALLOWED)

    def test_pod_that_evictions_would_help_is_not_tried_again_and_again(self):
        classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
        self.api.create(classes, {"metadata": {"name": "urgent"}, "value": 1000})
        self.addCleanup(lambda: self.api.delete(classes + "/urgent"))
        self.add_nodes(*[wirings.wired_node("node-%02d" % number, wirings.PCIE)
                         for number in range(12)])
        for number in range(12):
            self.place(pods.pod("low-%02d" % number, pods.limits(1),
                                node="node-%02d" % number))
        self.create(pods.pod("urgent", pods.limits(8), priorityClassName="urgent"))
        self.wait_refused("urgent")
        self.assertLessEqual(self.attempts_in_window(), self.ATTEMPTS_ALLOWED)
        self.assertEqual(len(self.states()), 13, "a victim died for nothing")


if __name__ == "__main__":
    unittest.main()
