# SPDX-License-Identifier: Apache-2.0
"""Devices are free again when their pod has ended, however it ended."""

import unittest

import pods
import wirings
from cluster_case import ClusterCase


class Release(ClusterCase):

    def setUp(self):
        super().setUp()
        self.add_nodes(wirings.wired_node("node", wirings.DGX_1V))
        self.place(pods.pod("first", pods.limits(8)))
        self.create(pods.pod("second", pods.limits(8)))
        self.wait_refused("second")

    def finish(self, name, phase):
        self.api.merge("%s/%s/status" % (pods.PATH, name), {"status": {"phase": phase}})

    def assert_second_gets_the_devices(self):
        self.wait_bound("second")
        self.assert_rightly_booked(self.states())
        self.wait_ledger_equals_records()

    def test_deleted_pod_gives_its_devices_back(self):
        self.delete_pods(["first"])
        self.assert_second_gets_the_devices()

    def test_succeeded_pod_gives_its_devices_back(self):
        self.finish("first", "Succeeded")
        self.assert_second_gets_the_devices()

    def test_failed_pod_gives_its_devices_back(self):
        self.finish("first", "Failed")
        self.assert_second_gets_the_devices()

    def test_running_pod_keeps_its_devices(self):
        self.finish("first", "Running")
        self.wait_ledger_equals_records()
        self.assertEqual(len(self.capacity.uses(self.states().values())), 8)

    def test_pod_of_the_same_name_starts_with_nothing_of_the_former(self):
        self.delete_pods(["second", "first"])
        self.place(pods.pod("first", pods.limits(2)))
        self.wait_ledger_equals_records()
        self.assertEqual(len(self.capacity.uses(self.states().values())), 2)


if __name__ == "__main__":
    unittest.main()
