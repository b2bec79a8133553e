# SPDX-License-Identifier: Apache-2.0
"""Nodes of HAMi's device plugins: one pod at a time on each, and quick all the same."""

import collections
import re
import sys
import time
import unittest

import pods
import wirings
from cluster_case import ClusterCase
from hami_plugin import LOCK, PHASE, HamiPlugin, Trouble, annotations
from kubeapi import NODES

NODE_COUNT = 10
POD_COUNT = 40
ALL_BOUND_S = 5
STALE_S = 20  # a lock that nobody needs holds up a pod for less than this; HAMi takes 300


def plugin_node(name):
    return wirings.hami_node(name, wirings.A40_PAIRS)


def described_node(name):
    """Described by hand, and HAMi's plugin hands out all the same."""
    node = wirings.wired_node(name, wirings.A40_PAIRS)
    node["metadata"]["annotations"]["topofit.io/device-plugin"] = "hami"
    return node


class LockCase(ClusterCase):
    """With plugins on all nodes. `trouble` maps the names of pods to what goes wrong with them."""

    CONFIG = "log:\n  level: info\n"  # all as it comes

    def setUp(self):
        super().setUp()
        self.trouble = {}

    def start_plugins(self, *names, make=plugin_node, **options):
        self.add_nodes(*map(make, names))
        self.plugin = HamiPlugin(self.api, names, trouble=lambda pod: self.trouble.get(
            pod["metadata"]["name"], Trouble()), **options)
        self.addCleanup(self.plugin.stop)

    def lock(self, node):
        return annotations(self.api.get("%s/%s" % (NODES, node))).get(LOCK)

    def set_lock(self, node, value):
        self.api.merge("%s/%s" % (NODES, node), {"metadata": {"annotations": {LOCK: value}}})

    def counted(self, change):
        return self.topofit.metric('topofit_node_locks_total{change="%s"}' % change)

    def wait_served(self, *names):
        self.watch.wait("the plugins have served " + ", ".join(names), lambda states: all(
            name in states and annotations(states[name]).get(PHASE) == "success" for name in names))

    def wait_unlocked(self, *nodes):
        for node in nodes:
            self.topofit.wait("%s is not locked" % node, lambda node=node: self.lock(node),
                              lambda: None)

    def assert_all_served_rightly(self):
        self.assertEqual(self.plugin.failed, [])
        self.assertEqual([one for one in self.plugin.served if one[1] != one[2]], [],
                         "(node, pod the kubelet meant, pod the plugin served)")
        for name, state in self.states().items():
            self.assertEqual([sorted(ids) for ids in self.plugin.handed.get(name, [])],
                             [sorted(pods.devices(state, one)) for kind in
                              ("initContainers", "containers")
                              for one, _ in pods.asking(state, kind)], name)


class Burst(LockCase):

    def requests(self):
        """What the API server was asked, by verb, resource and subresource."""
        counts = collections.Counter()
        for line in self.api.get("/metrics").splitlines():
            if line.startswith("apiserver_request_total{"):
                labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
                counts[labels["verb"], labels["resource"], labels["subresource"]] += \
                    float(line.rsplit(" ", 1)[1])
        return counts

    def test_forty_pods_at_once_on_ten_nodes_are_bound_in_five_seconds(self):
        names = ["node-%d" % number for number in range(NODE_COUNT)]
        self.start_plugins(*names)
        before = self.requests()
        woken = self.topofit.metric("topofit_wakeups_total")
        started = time.monotonic()
        self.create(*[pods.pod("p%02d" % number, pods.limits(1), node=names[number % NODE_COUNT])
                      for number in range(POD_COUNT)])
        states = self.wait_all_bound(POD_COUNT)
        took_s = time.monotonic() - started
        self.wait_served(*states)
        self.wait_unlocked(*names)
        self.plugin.stop()
        self.assert_rightly_booked(states)
        self.assert_all_served_rightly()
        made = self.requests() - before
        locks = made["PATCH", "nodes", ""] - self.plugin.calls["PATCH", "nodes"] - \
            (self.topofit.metric("topofit_wakeups_total") - woken)
        print("%d pods on %d nodes bound in %.1f s; %d writes of locks, %d of Bindings" % (
            POD_COUNT, NODE_COUNT, took_s, locks, made["POST", "pods", "binding"]), file=sys.stderr)
        self.assertEqual(locks, POD_COUNT + self.counted("conflict"))
        self.assertEqual(made["POST", "pods", "binding"], POD_COUNT)
        self.assertEqual(self.counted("taken"), POD_COUNT)
        self.assertLess(took_s, ALL_BOUND_S)


class OneNode(LockCase):

    def test_pods_are_served_one_by_one_and_each_gets_its_own(self):
        self.start_plugins("node", delay_s=0.2)
        names = ["p%d" % number for number in range(6)]
        self.create(*[pods.pod(name, pods.limits(1, percent=20)) for name in names])
        self.wait_served(*names)
        self.wait_unlocked("node")
        self.plugin.stop()
        self.assert_all_served_rightly()

    def test_answers_lost_by_the_plugin_change_nothing(self):
        self.start_plugins("node")
        self.trouble["p0"] = Trouble(loses_answers=True)
        for name in ("p0", "p1"):
            self.place(pods.pod(name, pods.limits(1)))
        self.wait_served("p0", "p1")
        self.wait_unlocked("node")
        self.plugin.stop()
        self.assert_all_served_rightly()

    def test_slow_plugin_holds_up_its_own_node_only(self):
        self.start_plugins("slow", "quick")
        self.trouble["p0"] = Trouble(delay_s=8)
        self.place(pods.pod("p0", pods.limits(1), node="slow"))
        self.create(pods.pod("p1", pods.limits(1), node="slow"))
        started = time.monotonic()
        self.place(pods.pod("p2", pods.limits(1), node="quick"))
        self.assertLess(time.monotonic() - started, 4)
        self.wait_bound("p1")
        self.wait_served("p0", "p1", "p2")
        self.plugin.stop()
        self.assert_all_served_rightly()

    def test_containers_get_their_own_devices_in_the_kubelets_order(self):
        self.start_plugins("node")
        main = [pods.container("a", pods.limits(2)), pods.container("plain", {}),
                pods.container("b", pods.limits(1, memory=3000))]
        self.place(pods.pod("p0", None, containers=main, initContainers=[
            pods.container("first", pods.limits(1))]))
        self.wait_served("p0")
        self.wait_unlocked("node")
        self.plugin.stop()
        self.assert_all_served_rightly()

    def test_node_described_by_hand_may_have_the_plugin_too(self):
        self.start_plugins("node", make=described_node)
        self.place(pods.pod("p0", pods.limits(2)))
        self.wait_served("p0")
        self.wait_unlocked("node")
        self.plugin.stop()
        self.assert_all_served_rightly()

    def test_pod_without_devices_takes_no_lock(self):
        self.start_plugins("node")
        before = self.counted("taken")
        self.place(pods.pod("plain", {}))
        self.assertEqual(self.counted("taken"), before)


class LeftLocks(LockCase):

    def place_after(self, what):
        """A pod is bound though the node is locked by what was left; how long it took."""
        self.assertIsNotNone(self.lock("node"), what)
        started = time.monotonic()
        self.place(pods.pod("next", pods.limits(1)))
        took_s = time.monotonic() - started
        print("lock of %s: next pod bound in %.1f s" % (what, took_s), file=sys.stderr)
        self.assertLess(took_s, STALE_S)
        self.wait_served("next")
        self.wait_unlocked("node")

    def test_lock_of_a_pod_that_is_gone_is_replaced_in_seconds(self):
        self.start_plugins("node")
        self.set_lock("node", "2026-01-01T08:00:00+08:00,default,long-gone")
        self.place_after("a pod that is gone")

    def test_lock_left_between_lock_and_binding_is_replaced_in_seconds(self):
        self.start_plugins("node")
        self.create(pods.pod("unbound", pods.limits(1), schedulerName="nobody"))
        self.set_lock("node", "2026-01-01T00:00:00Z,default,unbound")
        self.place_after("a pod that is not bound")

    def test_lock_left_by_a_plugin_that_died_after_its_work_is_replaced_in_seconds(self):
        self.start_plugins("node")
        self.trouble["first"] = Trouble(dies_at="phase")
        self.place(pods.pod("first", pods.limits(1)))
        self.wait_served("first")
        self.place_after("a pod that has its devices")

    def test_lock_left_by_a_plugin_that_died_at_once_is_replaced_in_seconds(self):
        self.start_plugins("node")
        self.trouble["first"] = Trouble(dies_at="start")
        self.place(pods.pod("first", pods.limits(1)))
        self.watch.wait("the pod has failed", lambda states:
                        states["first"]["status"]["phase"] == "Failed")
        self.place_after("a pod that has failed")

    def test_binding_after_a_failed_allocation_goes_on_at_once(self):
        self.start_plugins("node")
        self.trouble["first"] = Trouble(fails=True)
        self.place(pods.pod("first", pods.limits(1)))
        self.wait_unlocked("node")
        self.place(pods.pod("next", pods.limits(1)))
        self.wait_served("next")

    def test_daemon_killed_in_the_middle_leaves_no_lock_that_lasts(self):
        self.start_plugins("node", delay_s=0.3)
        names = ["p%d" % number for number in range(6)]
        self.create(*[pods.pod(name, pods.limits(1, percent=20)) for name in names])
        self.watch.wait("one is bound", lambda states: any(map(pods.is_bound, states.values())))
        self.topofit.kill9()
        self.topofit.start()
        self.wait_all_bound(len(names), 90)
        self.wait_served(*names)
        self.wait_unlocked("node")
        self.plugin.stop()
        self.assert_all_served_rightly()


if __name__ == "__main__":
    unittest.main()
