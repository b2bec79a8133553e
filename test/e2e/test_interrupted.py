# SPDX-License-Identifier: Apache-2.0
"""The API server goes away and comes back; etcd forgets. What is true then is learnt from lists."""

import concurrent.futures
import http.client
import time
import unittest

import pods
import wirings
from cluster_case import ClusterCase
from kubeapi import ApiError

POD_COUNT = 40
KILL_WHEN_BOUND = 8
BACK_IN_S = 60
RELISTS = 'topofit_watch_relists_total{kind="pod"}'


class ApiServerKilled(ClusterCase):

    def setUp(self):
        super().setUp()
        self.topofit.stop()  # each test with waits that have not grown yet
        self.topofit.start()
        self.watch.may_be_cut = True

    def create_patiently(self, pod):
        """Again and again until the API server is there. It may have created it before it died."""
        deadline = time.monotonic() + BACK_IN_S
        while True:
            try:
                self.api.create(pods.PATH, pod)
                return
            except ApiError as error:
                if error.status == 409:
                    return
                if time.monotonic() > deadline:
                    raise
            except (OSError, http.client.HTTPException):
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def assert_all_agree(self):
        self.assert_rightly_booked(self.states())
        self.wait_ledger_equals_records()
        self.assertEqual(self.topofit.differences(), [])

    def test_every_pod_of_a_stream_is_bound_once_though_the_api_server_is_killed(self):
        self.add_nodes(*[wirings.wired_node("node-%d" % number, wirings.ALL[number % 4])
                         for number in range(8)])
        new = [pods.pod("p%02d" % number, pods.limits(1)) for number in range(POD_COUNT)]
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            created = pool.submit(lambda: list(map(self.create_patiently, new)))
            self.watch.wait("%d pods are bound" % KILL_WHEN_BOUND, lambda states:
                            sum(map(pods.is_bound, states.values())) >= KILL_WHEN_BOUND)
            with self.plane.apiserver_down():
                self.assertLess(sum(map(pods.is_bound, self.states().values())), POD_COUNT,
                                "killed too late to prove anything")
            created.result()
        self.wait_all_bound(POD_COUNT)
        self.assert_all_agree()

    def test_deletion_that_no_watch_could_tell_is_learnt_from_the_list(self):
        self.add_nodes(wirings.wired_node("node", wirings.DGX_1V))
        self.place(pods.pod("kept", pods.limits(4)))
        self.place(pods.pod("gone", pods.limits(4)))
        self.wait_ledger_equals_records()
        relists = self.topofit.metric(RELISTS)
        with self.topofit.frozen(), self.plane.apiserver_down():
            self.plane.etcd.delete_pod("gone")
            self.plane.etcd.compact()
        self.watch.wait("the pod is gone", lambda states: set(states) == {"kept"})
        self.assert_all_agree()
        self.assertGreater(self.topofit.metric(RELISTS), relists)
        self.place(pods.pod("next", pods.limits(4)))
        self.assert_all_agree()

    def test_comparison_works_on_an_etcd_that_has_just_forgotten_the_past(self):
        self.add_nodes(wirings.wired_node("node", wirings.DGX_1V))
        self.place(pods.pod("p", pods.limits(1)))
        self.wait_ledger_equals_records()
        self.plane.etcd.compact()
        self.assertEqual(self.topofit.differences(), [])


if __name__ == "__main__":
    unittest.main()
