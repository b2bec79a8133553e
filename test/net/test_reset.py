# SPDX-License-Identifier: Apache-2.0
"""Connections that break: killed from outside, and reset by the far end."""

import time
import unittest

import pods
import wirings
from net_case import NetCase

POD_COUNT = 40
ROUNDS = 8


class Resets(NetCase):

    def test_reset_watches_go_on_where_they_were_and_reset_bindings_are_found_out(self):
        self.add_nodes(*[wirings.wired_node("node-%d" % number, wirings.HGX_H100, slots=1)
                         for number in range(6)])
        # A new leader lists the pods anew, after it has become ready.
        self.wait_metric("topofit_leader", lambda value: value == 1, 20)
        lists = self.lists()
        names = ["p%02d" % number for number in range(POD_COUNT)]
        creating = self.background(lambda: [
            self.create(pods.pod(name, pods.limits(1))) for name in names])
        for number in range(ROUNDS):
            self.link.kill_connections(self.plane.api_port)
            time.sleep(0.3)
            self.link.reset(self.plane.api_port)
            time.sleep(0.2)
            self.link.heal()
            time.sleep(0.2)
        creating.join()
        self.wait_all_bound(POD_COUNT)
        self.assert_in_order()
        self.assertEqual(self.lists(), lists, "a broken connection is no reason for a new list")

    def lists(self):
        return [self.metric('topofit_watch_lists_total{kind="%s"}' % kind)
                for kind in ("node", "pod")]


if __name__ == "__main__":
    unittest.main()
