# SPDX-License-Identifier: Apache-2.0
"""What a watcher of the pods, as kubelet is one, may rely on."""

import http.client
import unittest

import pods
import wirings
from cluster_case import ClusterCase
from kubeapi import ApiError


class Atomic(ClusterCase):

    def test_watch_never_shows_a_node_name_without_the_allocation(self):
        self.add_nodes(*[wirings.wired_node("node-%d" % number, wirings.ALL[number % 4])
                         for number in range(8)])
        new = [pods.pod("p%d" % number, pods.limits(1 + number % 2)) for number in range(30)]
        self.create(*new)
        self.wait_all_bound(len(new))
        self.assertEqual(len(self.watch.seen_bound), len(new))
        self.assertEqual(self.watch.violations, [])

    def test_pod_without_gpus_is_placed_without_the_daemon(self):
        self.add_nodes(wirings.bare_node("plain", 0))
        state = self.place(pods.pod("plain", {}))
        self.assertNotIn(pods.ALLOCATION, state["metadata"].get("annotations", {}))


class TimeLimits(ClusterCase):
    """The daemon relies on it that a Binding which was late on its way is given up."""

    def bind(self, name, query):
        """Write a Binding by hand; the status of the refusal, or None."""
        self.create(pods.pod(name, pods.limits(1), schedulerName="nobody"))
        try:
            self.api.create("%s/%s/binding?%s" % (pods.PATH, name, query), {
                "metadata": {"name": name}, "target": {"kind": "Node", "name": "node"}})
        except ApiError as error:
            return error.status
        except http.client.RemoteDisconnected:  # how it ends some answers that are late
            return 504
        return None

    def test_api_server_executes_no_binding_whose_time_is_over(self):
        self.add_nodes(wirings.wired_node("node", wirings.PCIE))
        self.assertEqual(self.bind("late", "timeout=1us"), 504)
        self.assertFalse(pods.is_bound(self.api.get(pods.PATH + "/late")))

    def test_api_server_refuses_a_time_limit_that_is_none(self):
        self.add_nodes(wirings.wired_node("node", wirings.PCIE))
        self.assertEqual(self.bind("odd", "timeout=5"), 400)
        self.assertFalse(pods.is_bound(self.api.get(pods.PATH + "/odd")))


class Credentials(ClusterCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.topofit.stop()
        cls.topofit.kubeconfig = cls.plane.kubeconfig_with_certificate("topofit")
        cls.topofit.start()

    def test_kubeconfig_with_an_embedded_client_certificate_serves(self):
        self.add_nodes(wirings.wired_node("node", wirings.HGX_H100))
        self.place(pods.pod("p", pods.limits(1)))
        self.assert_rightly_booked(self.states())


if __name__ == "__main__":
    unittest.main()
