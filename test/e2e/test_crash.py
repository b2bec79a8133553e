# SPDX-License-Identifier: Apache-2.0
"""The daemon is killed with -9 and started again. The pods are the truth."""

import concurrent.futures
import unittest

import pods
import wirings
from cluster_case import ClusterCase
from daemon import SHORT_LEASE

PODS_A_ROUND = 60
KILL_WHEN_BOUND = (1, 20)  # one round each


def mixed_pod(number):
    """44 whole GPUs and 34 quarters in 60 pods; 12 nodes have room for them however they pack."""
    kinds = [pods.limits(1, percent=25, cores=25)] * 3 + [pods.limits(1), pods.limits(2)]
    amounts = pods.limits(4) if number in (7, 37) else kinds[number % len(kinds)]
    return pods.pod("p%02d" % number, amounts)


class KilledInTheMiddle(ClusterCase):

    CONFIG = SHORT_LEASE

    def kill_while_pods_arrive(self, kill_at):
        """Create the pods one by one and kill the daemon when so many are bound."""
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            created = pool.submit(lambda: [self.api.create(pods.PATH, mixed_pod(number))
                                           for number in range(PODS_A_ROUND)])
            self.watch.wait("%d pods are bound" % kill_at, lambda states:
                            sum(map(pods.is_bound, states.values())) >= kill_at)
            self.topofit.kill9()
            created.result()
        bound = sum(map(pods.is_bound, self.api.list(pods.PATH)))
        self.assertLess(bound, PODS_A_ROUND, "killed too late to prove anything")

    def test_nothing_is_booked_twice_and_nothing_is_lost(self):
        self.add_nodes(*[wirings.wired_node("node-%02d" % number, wirings.ALL[number % 4])
                         for number in range(12)])
        for kill_at in KILL_WHEN_BOUND:
            with self.subTest("killed when %d of %d are bound" % (kill_at, PODS_A_ROUND)):
                self.topofit.start_if_down()
                self.kill_while_pods_arrive(kill_at)
                self.topofit.start()
                states = self.wait_all_bound(PODS_A_ROUND)
                self.assert_rightly_booked(states)
                self.wait_ledger_equals_records()
            self.delete_pods(self.states())


class KilledBetweenPods(ClusterCase):

    CONFIG = SHORT_LEASE

    def test_restarted_daemon_knows_what_is_taken_from_the_records(self):
        self.add_nodes(wirings.wired_node("node", wirings.DGX_1V))
        before = self.place(pods.pod("before", pods.limits(5)))
        self.topofit.restart_after_kill9()
        self.wait_ledger_equals_records()
        after = self.place(pods.pod("after", pods.limits(3)))
        self.assertFalse(set(pods.devices(before)) & set(pods.devices(after)))

    def test_pods_created_while_it_is_down_are_placed_when_it_is_back(self):
        self.add_nodes(wirings.wired_node("node", wirings.DGX_1V))
        self.topofit.kill9()
        self.create(pods.pod("waiting", pods.limits(2)))
        self.assertIn("connection refused", self.wait_refused("waiting"))
        self.topofit.start()
        self.wait_bound("waiting")
        self.assert_rightly_booked(self.states())

    def test_restart_counts_pods_that_are_still_shutting_down(self):
        self.add_nodes(wirings.wired_node("node", wirings.HGX_H100))
        self.place(pods.pod("leaving", pods.limits(8), terminationGracePeriodSeconds=600))
        self.api.delete("%s/leaving" % pods.PATH, grace_s=600)
        self.watch.wait("leaving is terminating", lambda states:
                        "deletionTimestamp" in states["leaving"]["metadata"])
        self.topofit.restart_after_kill9()
        self.create(pods.pod("next", pods.limits(1)))
        self.wait_refused("next")
        self.delete_pods(["leaving"])
        self.wait_bound("next")


if __name__ == "__main__":
    unittest.main()
