# SPDX-License-Identifier: Apache-2.0
"""A link that loses packets."""

import time
import unittest

import pods
import wirings
from kubeapi import condition
from net_case import NetCase

LOSSY_S = 20
EVERY_S = 0.4


class Loss(NetCase):

    def send_pods(self):
        """A pod every moment, and now and then one that leaves; the names of those that stay."""
        names = []
        end = time.monotonic() + LOSSY_S
        for number in range(1000):
            if time.monotonic() >= end:
                return names
            name = "p%03d" % number
            self.create(pods.pod(name, pods.limits(1 + number % 2)))
            names.append(name)
            if number % 6 == 5:
                self.delete_pods([names.pop(0)])
            time.sleep(EVERY_S)

    def test_a_third_of_the_packets_lost_slows_placement_down_and_books_nothing_twice(self):
        self.add_nodes(*[wirings.wired_node("node-%d" % number, wirings.HGX_H100, slots=1)
                         for number in range(10)])
        self.link.lose(self.plane.api_port, 0.3)
        names = self.send_pods()
        states = self.states()
        self.link.heal()
        bound = sum(map(pods.is_bound, states.values()))
        print("%d of %d pods bound while packets were lost" % (bound, len(names)), flush=True)
        self.assertGreaterEqual(bound, len(names) // 5)
        self.wait_all_bound(len(names))
        for name, state in states.items():
            if not pods.is_bound(state):
                self.assertNotEqual(condition(state).get("message", "still tried"), "", name)
        self.assert_in_order()


if __name__ == "__main__":
    unittest.main()
