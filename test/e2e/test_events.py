# SPDX-License-Identifier: Apache-2.0
"""What the daemon tells people: Events of pods and nodes."""

import json
import time
import unittest

import pods
import wirings
from cluster_case import ClusterCase
from kubeapi import EVENTS, NODES, PODS

CONTROLLER = "topofit.io/extender"
TOLD_IN_S = 15


class EventCase(ClusterCase):

    def setUp(self):
        super().setUp()
        self.addCleanup(self.wipe_events)

    def add_nodes(self, *nodes):
        """Also until the scheduler knows them, and those of other tests no more."""
        super().add_nodes(*nodes)
        self.topofit.wait("the scheduler knows the nodes", self.plane.scheduler_nodes,
                          lambda: len(self.nodes))

    def wipe_events(self):
        for event in self.events():
            self.api.delete("%s/%s" % (EVENTS, event["metadata"]["name"]))

    def events(self, reason=None, name=None):
        """The daemon's own."""
        return [event for event in self.api.list(EVENTS)
                if event.get("reportingController") == CONTROLLER and
                reason in (None, event.get("reason")) and
                name in (None, event["regarding"]["name"])]

    def wait_event(self, reason, name, is_it=lambda event: True):
        """One that is as wanted; it is written some time after what it tells of."""
        deadline = time.monotonic() + TOLD_IN_S
        while True:
            for event in self.events(reason, name):
                if is_it(event):
                    return event
            if time.monotonic() > deadline:
                raise AssertionError("no such event %s of %s among %s" % (
                    reason, name, json.dumps(self.events(reason, name), indent=1)))
            time.sleep(0.1)


class PodEvents(EventCase):

    def test_placed_pod_is_told_its_devices(self):
        self.add_nodes(wirings.wired_node("node", wirings.A40_PAIRS))
        state = self.place(pods.pod("pair", pods.limits(2)))
        event = self.wait_event("GPUsAssigned", "pair")
        self.assertEqual(event["note"], "on node node, worst link tier 0: main %s" %
                         ", ".join(pods.devices(state)))
        self.assertEqual(event["type"], "Normal")
        self.assertEqual(event["regarding"]["uid"], state["metadata"]["uid"])
        self.assertEqual(len(self.events("GPUsAssigned", "pair")), 1)

    def test_refused_pod_is_told_how_many_nodes_refuse_it_and_why(self):
        self.add_nodes(wirings.wired_node("small-0", wirings.PCIE),
                       wirings.wired_node("small-1", wirings.PCIE),
                       wirings.bare_node("bare", 80))
        self.create(pods.pod("nine", pods.limits(9)))
        event = self.wait_event("NoNodeFits", "nine")
        self.assertEqual(event["type"], "Warning")
        self.assertTrue(event["note"].startswith("none of 3 nodes fits: "), event["note"])
        self.assertEqual(set(event["note"].split(": ")[1].split(", ")),
                         {"2 TooFewDevices", "1 NoInventory"})

    def test_same_refusal_again_is_counted_in_a_series(self):
        self.add_nodes(wirings.wired_node("node", wirings.PCIE),
                       wirings.wired_node("other", wirings.PCIE))
        self.create(pods.pod("nine", pods.limits(9)))
        self.wait_event("NoNodeFits", "nine")
        self.retry("nine", 3)
        event = self.wait_event("NoNodeFits", "nine",
                                lambda event: event.get("series", {}).get("count", 0) >= 2)
        self.assertIn("lastObservedTime", event["series"])
        self.assertEqual(len(self.events("NoNodeFits", "nine")), 1)

    def retry(self, name, times):
        """Have the scheduler try a pod again."""
        for number in range(times):
            tried = self.topofit.pod(name)["lastDecision"]["attempts"]
            self.api.merge(NODES + "/node", {"metadata": {"labels": {"retry": str(number)}}})
            self.topofit.wait("the scheduler tries again", lambda: tried <
                              self.topofit.pod(name)["lastDecision"]["attempts"], lambda: True)


class NodeEvents(EventCase):

    def bind_by_hand(self, name, node, like):
        """A pod with a Binding that claims what another pod has: two records for one device."""
        pod = self.api.create(PODS, pods.pod(name, pods.limits(1), schedulerName="nobody"))
        record = dict(pods.record(like), podUID=pod["metadata"]["uid"])
        annotations = dict(like["metadata"]["annotations"],
                           **{pods.ALLOCATION: json.dumps(record)})
        self.api.create("%s/%s/binding" % (PODS, name), {
            "metadata": {"name": name, "annotations": annotations},
            "target": {"kind": "Node", "name": node}})
        return self.wait_bound(name)

    def device_state(self, device):
        devices = self.topofit.get("/debug/nodes/node")[1]["devices"]
        return [one["state"] for one in devices if one["id"] == device][0]

    def wait_state(self, device, state):
        self.topofit.wait("the device is " + state, lambda: self.device_state(device),
                          lambda: state)

    def test_two_records_of_one_device_are_told_and_it_is_used_again_when_one_is_left(self):
        self.add_nodes(wirings.wired_node("node", wirings.PCIE))
        self.place(pods.pod("rest", pods.limits(7)))
        true = self.place(pods.pod("true", pods.limits(1, percent=25, cores=25)))
        self.check.capacity = None  # what follows is a double booking, by hand
        device = pods.devices(true)[0]
        self.wait_state(device, "in use")
        whole = self.place_like_whole(true)
        self.wait_state(device, "conflicted")
        event = self.wait_event("RecordConflict", "node")
        self.assertEqual((event["type"], event["regarding"]["kind"]), ("Warning", "Node"))
        self.assertRegex(event["note"], r"\bdevice %s\b" % device)
        self.create(pods.pod("waiting", pods.limits(1, percent=25, cores=25)))
        self.wait_refused("waiting")
        self.delete_pods([whole["metadata"]["name"]])
        self.assertEqual(pods.devices(self.wait_bound("waiting")), [device])
        self.assertEqual(self.device_state(device), "in use")
        self.assertEqual(self.topofit.differences(), [])

    def place_like_whole(self, true):
        """A record that claims the whole device of a pod that has a quarter of it."""
        record = pods.record(true)
        for one in record["containers"][0]["devices"]:
            one.update(memoryMiB=wirings.PCIE.memory_mib, cores=wirings.CORES)
        annotations = dict(true["metadata"]["annotations"],
                           **{pods.ALLOCATION: json.dumps(record)})
        return self.bind_by_hand("forged", "node",
                                 {"metadata": {"annotations": annotations}})


if __name__ == "__main__":
    unittest.main()
