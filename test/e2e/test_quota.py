# SPDX-License-Identifier: Apache-2.0
"""Namespaces are kept within their ResourceQuotas on GPU memory, which change while pods run."""

import unittest

import pods
import wirings
from cluster_case import ClusterCase
from kubeapi import NAMESPACE

QUOTAS = "/api/v1/namespaces/%s/resourcequotas" % NAMESPACE
LIMIT = "limits." + pods.MEMORY
EXCEEDED = "GPU quota of the namespace exceeded (%s)" % LIMIT


class Quota(ClusterCase):

    def setUp(self):
        super().setUp()
        self.addCleanup(self.wipe_quotas)
        self.add_nodes(wirings.wired_node("node", wirings.DGX_1V))

    def wipe_quotas(self):
        for quota in self.api.list(QUOTAS):
            self.api.delete("%s/%s" % (QUOTAS, quota["metadata"]["name"]))

    def limits_seen(self):
        """{resource: (limit, used, quota)} of the tests' namespace as the daemon has it."""
        for item in self.topofit.get("/debug/quota")[1]["items"]:
            if item["namespace"] == NAMESPACE:
                return {one["resource"]: (one["limit"], one["used"], one["quota"])
                        for one in item["limits"]}
        return {}

    def wait_limits(self, limits):
        self.topofit.wait("the daemon has the limits", self.limits_seen, lambda: limits)

    def create_quota(self, name, mib):
        self.api.create(QUOTAS, {"metadata": {"name": name}, "spec": {"hard": {LIMIT: str(mib)}}})

    def test_quota_created_changed_and_deleted_while_pods_run(self):
        self.create_quota("first", 10000)
        self.wait_limits({LIMIT: (10000, 0, "first")})
        self.place(pods.pod("a", pods.limits(2, memory=4000)))
        self.wait_limits({LIMIT: (10000, 8000, "first")})
        self.create(pods.pod("b", pods.limits(1, memory=2001)))
        self.assertIn(EXCEEDED, self.wait_refused("b"))
        self.place(pods.pod("c", pods.limits(1, memory=2000)))
        self.wait_limits({LIMIT: (10000, 10000, "first")})

        self.api.merge("%s/first" % QUOTAS, {"spec": {"hard": {LIMIT: "5000"}}})
        self.wait_limits({LIMIT: (5000, 10000, "first")})
        self.create(pods.pod("d", pods.limits(1, memory=100)))
        self.assertIn(EXCEEDED, self.wait_refused("d"))
        self.assertTrue(pods.is_bound(self.states()["a"]))

        self.api.delete("%s/first" % QUOTAS)
        self.wait_limits({})
        self.wait_bound("b", timeout_s=60)
        self.wait_bound("d", timeout_s=60)
        self.assert_rightly_booked(self.states())

    def test_two_quotas_hold_at_once_and_a_raised_one_wakes_the_pod_that_waits(self):
        self.create_quota("large", 10000)
        self.create_quota("small", 3000)
        self.wait_limits({LIMIT: (3000, 0, "small")})
        self.create(pods.pod("a", pods.limits(1, memory=4000)))
        self.assertIn("smaller than the pod", self.wait_refused("a"))
        self.api.merge("%s/small" % QUOTAS, {"spec": {"hard": {LIMIT: "4000"}}})
        self.wait_bound("a", timeout_s=60)

    def test_many_pods_at_once_do_not_exceed_it(self):
        self.create_quota("first", 10000)
        self.wait_limits({LIMIT: (10000, 0, "first")})
        self.create(*(pods.pod("p%d" % i, pods.limits(1, memory=1500)) for i in range(12)))
        self.topofit.wait("the quota is used as far as it goes",
                          lambda: self.limits_seen()[LIMIT][1], lambda: 9000)
        self.watch.wait("six pods are bound", lambda states: sum(
            map(pods.is_bound, states.values())) == 6)

    def test_misspelled_resource_is_remarked(self):
        self.api.create(QUOTAS, {"metadata": {"name": "typo"},
                                 "spec": {"hard": {"limits.nvidia.com/gpumemory": "1"}}})
        self.topofit.wait("the remark is there", lambda: [
            one["quota"] for item in self.topofit.get("/debug/quota")[1]["items"]
            for one in item["remarks"]], lambda: ["typo"])
        self.place(pods.pod("a", pods.limits(1, memory=4000)))


if __name__ == "__main__":
    unittest.main()
