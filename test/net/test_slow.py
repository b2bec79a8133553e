# SPDX-License-Identifier: Apache-2.0
"""A link that is slow, and an API server that is far away."""

import time
import unittest

import pods
import wirings
from kubeapi import NODES, PODS
from net_case import NetCase
from slow_proxy import SlowProxy
from test_black_hole import taken_by_others

NODE_COUNT = 50
POD_COUNT = 300
KBIT = 400
ONE_WAY_S = 2.0


class SlowLink(NetCase):

    def fill(self):
        self.nodes.extend(wirings.wired_node("node-%02d" % number, wirings.HGX_H100)
                          for number in range(NODE_COUNT))
        self.capacity = pods.Capacity(self.nodes)
        self.in_parallel(lambda node: self.api.create(NODES, node), self.nodes)
        taken = []
        for number in range(POD_COUNT):
            taken.append(taken_by_others("node-%02d" % (number % NODE_COUNT), number // NODE_COUNT))
            taken[-1]["metadata"]["name"] = "p%03d" % number
        self.in_parallel(lambda pod: self.api.create(PODS, pod), taken)
        self.watch.wait("the pods are seen", lambda states: len(states) == POD_COUNT)

    def test_a_first_list_over_a_slow_link_is_completed_and_not_cut_while_bytes_flow(self):
        self.topofit.stop()
        self.fill()
        self.link.slow_down(KBIT)
        self.topofit.launch("/livez")
        began = time.monotonic()
        asked = pods.pod("asked", pods.limits(1))
        refusals = 0
        while self.topofit.ask("/readyz")[0] != 200:
            self.assertEqual(self.topofit.ask("/livez")[0], 200)
            answer, took_s = self.filter(asked)
            self.assertLess(took_s, 5)
            refusals += "has not listed" in answer["Error"]
            self.assertLess(time.monotonic() - began, 120, "the lists do not end")
            time.sleep(0.2)
        print("lists took %.1f s" % (time.monotonic() - began), flush=True)
        self.assertGreater(time.monotonic() - began, 5, "too fast to prove anything")
        self.assertGreater(refusals, 0)
        self.link.heal()
        for kind in ("node", "pod"):
            for what in ("errors", "stalls", "relists"):
                self.assertEqual(self.metric('topofit_watch_%s_total{kind="%s"}' % (what, kind)), 0)
        self.assert_in_order()


class FarServer(NetCase):

    # Half of its time is for the Binding, which may need a connection first: three round trips.
    EXTENDER = "  bindTimeout: 20s\n"
    CONFIG = """\
leaderElection:
  leaseDuration: 60s
  renewDeadline: 40s
"""

    @classmethod
    def new_daemon(cls):
        cls.link = cls.plane.links[0]
        cls.proxy = SlowProxy(cls.link.our_address, cls.plane.api_port)
        cls.addClassCleanup(cls.proxy.stop)
        return cls.daemon_behind(cls.link, "topofit", cls.plane.kubeconfig_by(cls.proxy.port))

    def setUp(self):
        super().setUp()
        self.addCleanup(self.proxy.set_delay, 0)

    def test_binds_take_their_round_trips_and_do_not_wait_for_events_and_wake_ups(self):
        self.add_nodes(wirings.wired_node("node", wirings.HGX_H100, slots=1))
        self.place(pods.pod("holder", pods.limits(4)))
        self.create_by_hand(*["p%d" % number for number in range(4)])
        self.create_by_hand(*["big-%d" % number for number in range(20)], gpus=8)
        states = self.states()
        self.proxy.set_delay(ONE_WAY_S)
        for number in range(20):  # each is refused, and told so in an Event
            self.filter(states["big-%d" % number])
        self.api.delete("%s/holder" % PODS)  # which wakes them
        answers = {}
        self.in_parallel(lambda name: answers.update({name: self.bind(name)}),
                         ["p%d" % number for number in range(4)])
        for name, (error, took_s) in answers.items():
            self.assertEqual(error, "", name)
            self.assertGreater(took_s, 2 * ONE_WAY_S, "the server was not far")
            self.assertLess(took_s, 4 * ONE_WAY_S + 1.5, name)
        self.proxy.set_delay(0)
        self.watch.wait("holder is gone", lambda states: "holder" not in states)
        self.assert_in_order()


if __name__ == "__main__":
    unittest.main()
