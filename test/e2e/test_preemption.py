# SPDX-License-Identifier: Apache-2.0
"""kube-scheduler evicts the pods whose GPUs belong together, and nobody else gets them meanwhile."""

import unittest

import pods
import wirings
from cluster_case import ClusterCase

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
PRIORITIES = {"low": 0, "mid": 500, "high": 1000, "top": 2000}
LINKED = {"topofit.io/topology": "hard", "topofit.io/topology-max-tier": "0"}
USE = "topofit.io/use-devices"


class Preemption(ClusterCase):
    """Machines of eight GPUs in linked pairs, of which seven are taken by pods of one GPU each."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, value in PRIORITIES.items():
            cls.api.create(CLASSES, {"metadata": {"name": name}, "value": value})
            cls.addClassCleanup(cls.api.delete, "%s/%s" % (CLASSES, name))

    def fill(self, node, priorities, grace_s=0):
        """Pods on GPUs 0 to 6 of a node; each has its class. Their names."""
        names = []
        for position, priority in enumerate(priorities):
            names.append("%s-%d" % (node, position))
            self.place(pods.pod(names[-1], pods.limits(1), node=node, priorityClassName=priority,
                                terminationGracePeriodSeconds=grace_s,
                                annotations={USE: wirings.device_id(node, position)}))
        return names

    def pairs_node(self, name):
        return wirings.wired_node(name, wirings.A40_PAIRS, slots=1)

    def high(self, name="high", gpus=2, **more):
        return pods.pod(name, pods.limits(gpus), priorityClassName="high", annotations=LINKED,
                        **more)

    def counted(self, result):
        return self.topofit.metric('topofit_preempt_nodes_total{result="%s"}' % result)

    def wait_nominated(self, name):
        return self.watch.wait(
            name + " is nominated",
            lambda states: states[name].get("status", {}).get("nominatedNodeName"))

    def test_pod_beside_the_free_gpu_is_evicted_for_a_linked_pair(self):
        self.add_nodes(self.pairs_node("pairs"))
        names = self.fill("pairs", ["low"] * 7)
        state = self.place(self.high())
        self.assertEqual(pods.positions(state), (6, 7))
        self.assertEqual(set(self.states()), set(names[:6]) | {"high"})
        self.assert_rightly_booked(self.states())

    def test_the_right_two_of_seven_are_evicted_for_a_linked_pair(self):
        self.add_nodes(self.pairs_node("pairs"))
        names = self.fill("pairs", ["low", "mid", "mid", "mid", "low", "low", "top"])
        changed = self.counted("changed")
        state = self.place(self.high())
        self.assertEqual(pods.positions(state), (4, 5))
        self.assertEqual(set(self.states()), set(names) - {"pairs-4", "pairs-5"} | {"high"})
        self.assertGreater(self.counted("changed"), changed)

    def test_nobody_is_evicted_from_a_machine_that_never_has_a_linked_pair(self):
        self.add_nodes(wirings.wired_node("pcie", wirings.PCIE, slots=1), self.pairs_node("pairs"))
        unlinked = self.fill("pcie", ["low"] * 7)
        self.fill("pairs", ["mid"] * 7)
        state = self.place(self.high())
        self.assertEqual(state["spec"]["nodeName"], "pairs")
        self.assertLessEqual(set(unlinked), set(self.states()))

    def test_pods_of_higher_priority_stay_and_the_pod_waits(self):
        self.add_nodes(self.pairs_node("pairs"))
        names = self.fill("pairs", ["top", "low"] * 3 + ["top"])
        self.create(self.high())
        self.wait_refused("high")
        self.assertEqual(set(self.states()), set(names) | {"high"})

    def test_gpus_of_a_nominated_pod_are_held_until_its_victims_are_gone(self):
        self.add_nodes(self.pairs_node("pairs"))
        self.fill("pairs", ["low"] * 7, grace_s=600)  # without a kubelet: until they are deleted
        self.create(self.high())
        self.assertEqual(self.wait_nominated("high"), "pairs")
        self.topofit.wait("GPU 7 is held", lambda: self.refusal_of_a_pod("mid"),
                          lambda: "GPUs held for a nominated pod")
        self.assertIsNone(self.refusal_of_a_pod("top"))
        self.delete_pods(["pairs-6"])
        self.assertEqual(pods.positions(self.wait_bound("high")), (6, 7))

    def refusal_of_a_pod(self, priority):
        """Why the node refuses a pod of one GPU, asked beside the scheduler; None when it does not."""
        pod = pods.pod("asks", pods.limits(1))
        pod["metadata"].update(namespace="default", uid="asks")
        pod["spec"]["priority"] = PRIORITIES[priority]
        status, answer = self.topofit.call("filter", {"Pod": pod, "NodeNames": ["pairs"]})
        self.assertEqual((status, answer["Error"]), (200, ""))
        return answer["FailedAndUnresolvableNodes"].get("pairs")

    def test_pod_of_lower_priority_never_gets_what_is_freed(self):
        self.add_nodes(self.pairs_node("pairs"))
        self.fill("pairs", ["low"] * 7, grace_s=600)
        self.create(self.high())
        self.wait_nominated("high")
        self.create(*(pods.pod("late-%d" % number, pods.limits(1), priorityClassName="mid")
                      for number in range(3)))
        self.delete_pods(["pairs-6"])
        self.assertEqual(pods.positions(self.wait_bound("high")), (6, 7))
        self.assert_rightly_booked(self.states())


if __name__ == "__main__":
    unittest.main()
