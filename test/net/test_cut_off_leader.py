# SPDX-License-Identifier: Apache-2.0
"""Two daemons, and the link of the one that leads."""

import time
import unittest

import pods
import wirings
from net_case import NetCase

DURATION_S, DEADLINE_S, RETRY_S = 3.0, 2.0, 0.4
NOT_BOUND = "not known whether the pod is bound", "not the leader", "no answer"


class CutOffLeader(NetCase):

    CONFIG = """\
leaderElection:
  leaseDuration: %dms
  renewDeadline: %dms
  retryPeriod: %dms
""" % (DURATION_S * 1000, DEADLINE_S * 1000, RETRY_S * 1000)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        other = cls.plane.links[1]
        cls.second = cls.daemon_behind(other, "second", cls.plane.kubeconfig("topofit"))
        cls.addClassCleanup(lambda: cls.second.stop())

    def leads(self, daemon):
        return self.metric("topofit_leader", daemon) == 1

    def wait_second_leads(self):
        """Until it does; at no time both may."""
        began = time.monotonic()
        while not self.leads(self.second):
            self.assertLess(time.monotonic() - began, DURATION_S + 5)
            time.sleep(0.05)
        self.assertFalse(self.leads(self.topofit))

    def test_a_leader_that_is_cut_off_stops_binding_before_another_takes_over(self):
        self.add_nodes(wirings.wired_node("node", wirings.HGX_H100, slots=1))
        self.create_by_hand("before", "doubtful", "after", daemons=(self.topofit, self.second))
        self.create_by_hand("rest", daemons=(self.topofit, self.second), gpus=6)
        self.assertEqual(self.bind("before")[0], "")
        self.assertFalse(self.leads(self.second))

        self.link.swallow(self.plane.api_port)
        cut = time.monotonic()
        said = []
        doubtful = self.background(lambda: said.append(self.bind("doubtful")))
        time.sleep(cut + DEADLINE_S + 0.2 - time.monotonic())
        error, took_s = self.bind("after")
        self.assertIn("not the leader", error)
        self.assertLess(took_s, 0.5)
        self.wait_second_leads()
        # Every device that is free in its eyes: also that which the first one chose for "doubtful".
        for name in ("after", "rest"):
            self.assertEqual(self.bind_when_leading(name, self.second, DURATION_S + 5), "")
        doubtful.join()
        self.assertTrue(any(text in said[0][0] for text in NOT_BOUND), said)

        self.link.heal()
        self.wait_for("the first is in step", lambda: all(
            self.topofit.pod(name).get("phase") == "bound" for name in ("after", "rest")), 15)
        self.assertFalse(self.leads(self.topofit))
        self.assertFalse(pods.is_bound(self.states()["doubtful"]))
        self.delete_pods(["doubtful"])
        self.assert_in_order()
        self.assert_no_difference(self.second)
        for daemon in (self.topofit, self.second):
            self.assertEqual(self.metric('topofit_devices{state="conflicted"}', daemon), 0)


if __name__ == "__main__":
    unittest.main()
