# SPDX-License-Identifier: Apache-2.0
"""Waiting pods are tried again when only the daemon knows that they may fit now."""

import threading
import unittest

import pods
import wirings
from cluster_case import ClusterCase
from slow_link import SlowLink

ROUNDS = 3
AT_ONCE_S = 8  # without a wake-up the scheduler waits for five minutes


class LateNews(ClusterCase):
    """The daemon hears of everything later than the scheduler."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.link = SlowLink(cls.plane.api_port)
        cls.addClassCleanup(cls.link.close)
        cls.topofit.stop()
        cls.topofit.kubeconfig = cls.plane.kubeconfig("topofit", cls.link.port)
        cls.topofit.start()
        cls.addClassCleanup(cls.topofit.stop)  # before the link is closed

    def attempts(self, name):
        """How often the daemon was asked about a pod."""
        return self.topofit.pod(name).get("lastDecision", {}).get("attempts", 0)

    def wait_left_alone(self, name):
        """Until the scheduler has ended trying, which it does twice by itself. How often it did."""
        pause = threading.Event()
        while True:
            tried = self.attempts(name)
            pause.wait(0.3)
            if self.attempts(name) == tried:
                return tried

    def delete_and_wait_refused_again(self, gone, waiting):
        """The scheduler has heard that the devices are free and asks; the daemon has not."""
        before = self.wait_left_alone(waiting)
        with self.link.answers_held():
            self.delete_pods([gone])
            self.topofit.wait("the scheduler tries " + waiting,
                              lambda: self.attempts(waiting) > before, lambda: True)

    def test_gpu_that_the_scheduler_knows_to_be_free_before_the_daemon_does_is_used(self):
        self.add_nodes(wirings.wired_node("node", wirings.DGX_1V))
        self.place(pods.pod("p0", pods.limits(8)))
        for number in range(1, ROUNDS + 1):
            name, before = "p%d" % number, "p%d" % (number - 1)
            self.create(pods.pod(name, pods.limits(8)))
            self.wait_refused(name)
            self.delete_and_wait_refused_again(before, name)
            self.wait_bound(name, AT_ONCE_S)
        self.assertGreater(self.topofit.metric("topofit_wakeups_total"), 0)

    def test_pod_that_is_refused_in_the_present_state_wakes_nobody(self):
        self.add_nodes(wirings.wired_node("node", wirings.DGX_1V))
        self.place(pods.pod("full", pods.limits(8)))
        before = self.topofit.metric("topofit_wakeups_total")
        self.create(pods.pod("waiting", pods.limits(8)))
        self.wait_refused("waiting")
        self.wait_left_alone("waiting")
        self.assertEqual(self.topofit.metric("topofit_wakeups_total"), before)


if __name__ == "__main__":
    unittest.main()
