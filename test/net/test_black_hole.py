# SPDX-License-Identifier: Apache-2.0
"""A link on which nothing arrives, and nobody says so."""

import json
import time
import unittest

import pods
import wirings
from link import FROM_DAEMON, TO_DAEMON
from net_case import BY_HAND, NetCase

# TCP_USER_TIMEOUT of a connection, then the time limit of the next attempt to connect.
NOTICED_WITHIN_S = 15 + 10 + 3
IN_STEP_WITHIN_S = 10
BIND_TIMEOUT_S = 3


def taken_by_others(node, position):
    """A pod that somebody else bound, with a record of one whole device."""
    device = wirings.device_id(node, position)
    figures = {"id": device, "memoryMiB": wirings.HGX_H100.memory_mib, "cores": wirings.CORES,
               "slots": 1, "mode": "shared"}
    record = {"version": 1, "node": node, "tier": 0, "degraded": False, "containers": [
        {"name": "main", "kind": "app", "devices": [figures]}]}
    return pods.pod("taken", pods.limits(1), nodeName=node, annotations={
        pods.ALLOCATION: json.dumps(record), pods.DEVICES + "main": device})


class DuringTheWatch(NetCase):

    def test_a_black_hole_is_noticed_told_once_and_made_up_for(self):
        self.add_nodes(wirings.wired_node("node", wirings.HGX_H100, slots=1))
        self.place(pods.pod("stays", pods.limits(1)))
        self.place(pods.pod("leaves", pods.limits(2)))
        self.wait_ledger_equals_records()
        errors = [self.metric('topofit_watch_errors_total{kind="%s"}' % kind)
                  for kind in ("node", "pod")]
        lists = self.metric('topofit_watch_lists_total{kind="pod"}')
        log_size = self.log_size()

        self.link.swallow(self.plane.api_port)
        self.delete_pods(["leaves"])
        self.create(taken_by_others("node", 7))
        for kind, before in zip(("node", "pod"), errors):
            self.wait_metric('topofit_watch_errors_total{kind="%s"}' % kind,
                             lambda now: now > before, NOTICED_WITHIN_S)
        self.assertEqual(self.topofit.get("/livez")[0], 200)
        time.sleep(1)  # for a second line, should there be one
        for kind in ("nodes", "pods"):
            self.assertEqual(len(self.log_lines("watch of " + kind, log_size)), 1)
        self.link.heal()
        self.topofit.wait("in step", self.topofit.uses,
                          lambda: self.capacity.uses(self.states().values()), IN_STEP_WITHIN_S)
        self.wait_for("the log says so", lambda: all(
            len(self.log_lines(kind + ": in step", log_size)) == 1 for kind in ("nodes", "pods")),
            IN_STEP_WITHIN_S)
        self.place(pods.pod("next", pods.limits(6)))
        self.assert_in_order()
        # One more by the new term of the leader, none by the reconnected watch.
        self.assertLessEqual(self.metric('topofit_watch_lists_total{kind="pod"}'), lists + 1)


class DuringBindings(NetCase):

    EXTENDER = "  bindTimeout: %ds\n" % BIND_TIMEOUT_S

    def setUp(self):
        super().setUp()
        self.add_nodes(wirings.wired_node("node", wirings.HGX_H100, slots=1))
        self.create_by_hand("warm")
        self.assertEqual(self.bind("warm")[0], "")

    def test_a_binding_whose_answer_is_lost_is_in_doubt_until_the_link_is_back(self):
        self.create_by_hand("a", "b", "c")
        self.link.swallow(self.plane.api_port, TO_DAEMON)
        answers = {}
        self.in_parallel(lambda name: answers.update({name: self.bind(name)}), "abc")
        executed = {name for name in "abc" if pods.is_bound(self.states()[name])}
        self.assertTrue(executed, "no Binding reached the server: nothing is proven")
        for name, (error, took_s) in answers.items():
            # Without a connection nothing can have been sent, and the daemon knows that.
            self.assertEqual("not known whether the pod is bound" in error, name in executed)
            self.assertNotEqual(error, "")
            self.assertLess(took_s, BIND_TIMEOUT_S + 1)
        self.assertEqual(self.metric('topofit_holdings{state="unknown"}'), len(executed))
        self.link.heal()
        self.assert_in_order()
        for name in "abc":
            self.assertEqual(self.bind(name)[0], "", name)
        self.assert_in_order()

    def test_a_binding_whose_answer_is_lost_and_found_out_in_time_is_a_success(self):
        self.create_by_hand("a")
        self.link.swallow(self.plane.api_port, TO_DAEMON)
        said = []
        binding = self.background(lambda: said.append(self.bind("a")))
        self.wait_bound("a")
        time.sleep(BIND_TIMEOUT_S / 2 + 0.1)  # half its time: the answer is given up
        self.link.heal()
        binding.join()
        self.assertEqual(said[0][0], "")
        self.assertGreater(said[0][1], BIND_TIMEOUT_S / 2)
        self.assert_in_order()

    def test_a_binding_that_is_given_up_on_its_way_does_not_arrive_later(self):
        self.create_by_hand("a", "b")
        self.link.swallow(self.plane.api_port, FROM_DAEMON)
        error, _ = self.bind("a")
        self.assertNotEqual(error, "")
        # Whatever is left would be sent when the link is back, and bind the pod then.
        self.assertEqual(self.link.orphaned_bytes(self.plane.api_port), 0)
        self.link.heal()
        self.assertFalse(pods.is_bound(self.states()["a"]))
        self.assertEqual(self.bind("a")[0], "")
        self.assert_in_order()


if __name__ == "__main__":
    unittest.main()
