# SPDX-License-Identifier: Apache-2.0
"""Many pods at once on many nodes."""

import sys
import time
import unittest

import pods
import wirings
from cluster_case import ClusterCase
from kubeapi import EVENTS, condition

NODE_COUNT = 100
POD_COUNT = 200


def burst_node(number):
    name = "node-%03d" % number
    kind = number % 5
    if kind < len(wirings.ALL):
        return wirings.wired_node(name, wirings.ALL[kind])
    return wirings.unwired_node(name, wirings.PCIE)


def burst_pod(number):
    """245 whole GPUs and 75 fractions: they fit however they are spread over 800 GPUs."""
    kinds = [pods.limits(1), pods.limits(2), pods.limits(1, percent=25, cores=25), pods.limits(1),
             pods.limits(2), pods.limits(1, memory=6000), pods.limits(4),
             pods.limits(1, memory="4Gi", cores=20)]
    return pods.pod("burst-%03d" % number, kinds[number % len(kinds)])


class Burst(ClusterCase):

    def test_two_hundred_pods_at_once_are_all_bound_with_correct_disjoint_devices(self):
        self.add_nodes(*map(burst_node, range(NODE_COUNT)))
        started = time.monotonic()
        self.create(*map(burst_pod, range(POD_COUNT)))
        states = self.wait_all_bound(POD_COUNT)
        took_s = time.monotonic() - started
        self.assert_rightly_booked(states)
        self.wait_ledger_equals_records()
        self.assert_settled()
        self.report(took_s)

    def assert_settled(self):
        """A bind error that no retry cured would stay in the condition."""
        self.watch.wait("every pod says that it is scheduled", lambda states: all(
            condition(state).get("status") == "True" for state in states.values()), timeout_s=10)

    def report(self, took_s):
        notes = [event["note"] for event in self.api.list(EVENTS)
                 if event.get("reason") == "FailedScheduling" and
                 event["regarding"]["name"].startswith("burst-")]
        print("%d pods bound in %.1f s, %d FailedScheduling events" %
              (POD_COUNT, took_s, len(notes)), file=sys.stderr)
        for note in sorted(set(notes))[:5]:
            print("  " + note[:160], file=sys.stderr)


class OneDevice(ClusterCase):

    def test_of_eight_pods_for_four_devices_exactly_four_are_bound(self):
        self.add_nodes(wirings.wired_node("node", wirings.A40_PAIRS, slots=1))
        self.create(*[pods.pod("p%d" % number, pods.limits(2)) for number in range(8)])
        self.watch.wait("four are bound and four refused", lambda states: len(states) == 8 and
                        sum(map(pods.is_bound, states.values())) == 4 and
                        all(condition(state) for state in states.values()))
        self.assert_rightly_booked(self.states())


if __name__ == "__main__":
    unittest.main()
