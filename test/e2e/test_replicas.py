# SPDX-License-Identifier: Apache-2.0
"""Two daemons side by side: one binds, the other stands by and takes over."""

import concurrent.futures
import contextlib
import time
import unittest

import controlplane
import pods
import wirings
from cluster_case import ClusterCase
from daemon import CONFIG
from replicas import Pair, Stream, bound_for, pod_for

TAKEN_OVER_S = 20  # a lease of 2 s, a second of back-off of the scheduler, a slow machine
HANDED_OVER_S = 20  # the leader must have been idle for 5 s
HANDED_OVER = 'topofit_lease_changes_total{change="handed over"}'

# With such a lease nobody takes over in the time of a test, unless it is released.
LONG_LEASE = """\
leaderElection:
  leaseDuration: 60s
  renewDeadline: 40s
  retryPeriod: 500ms
"""


class ReplicaCase(ClusterCase):

    CONFIG = CONFIG

    @classmethod
    def setUpClass(cls):
        cls.plane = controlplane.shared()
        cls.api = cls.plane.admin
        cls.pair = Pair(cls.plane, cls.CONFIG)
        cls.topofit = cls.pair.both[0]
        cls.addClassCleanup(cls.pair.stop)

    def setUp(self):
        super().setUp()
        self.pair.start_if_down()
        self.add_nodes(*[wirings.wired_node("node-%d" % number, wirings.ALL[number % 4])
                         for number in range(8)])
        self.leader, self.follower = self.pair.roles()
        self.wait_knows_nodes(self.follower)

    def tearDown(self):
        self.pair.check_running()
        super().tearDown()

    def wait_knows_nodes(self, daemon):
        names = {node["metadata"]["name"] for node in self.nodes}
        daemon.wait("the nodes are known", daemon.node_names, lambda: names)

    def create_for(self, daemon, prefix, count):
        new = [pod_for(daemon, "%s-%02d" % (prefix, number), pods.limits(1))
               for number in range(count)]
        self.create(*new)
        return {pod["metadata"]["name"] for pod in new}

    def wait_bound_all(self, names, timeout_s):
        self.watch.wait("%d pods are bound" % len(names), lambda states: all(
            pods.is_bound(states[name]) for name in names), timeout_s)

    def wait_all_agree(self):
        for daemon in self.pair.both:
            self.wait_ledger_equals_records(daemon)
            self.assertEqual(daemon.differences(), [])


class TwoReplicas(ReplicaCase):

    def test_only_the_leader_binds_and_the_follower_answers_filter_and_prioritize(self):
        state = self.place(pod_for(self.leader, "first", pods.limits(2)))
        self.wait_all_agree()
        names = sorted(node["metadata"]["name"] for node in self.nodes)
        question = {"Pod": pod_for(self.follower, "asked", pods.limits(8)), "Nodes": None,
                    "NodeNames": names}
        question["Pod"]["metadata"].update(namespace="default", uid="asked")
        for daemon in self.pair.both:
            status, answer = daemon.call("filter", question)
            self.assertEqual(status, 200)
            free = set(names) - {state["spec"]["nodeName"]}
            self.assertEqual(set(answer["NodeNames"]), free, daemon.name)
            status, answer = daemon.call("prioritize", question)
            self.assertEqual((status, {one["Host"] for one in answer}), (200, set(names)))
        self.create_for(self.leader, "more", 1)
        status, answer = self.follower.call("bind", {
            "PodName": "first", "PodNamespace": "default", "PodUID": state["metadata"]["uid"],
            "Node": state["spec"]["nodeName"]})
        self.assertEqual(status, 200)
        self.assertIn("not the leader: it is ", answer["Error"])

    def test_follower_that_is_asked_to_bind_is_handed_the_lease(self):
        before = self.leader.metric(HANDED_OVER)
        self.place(pod_for(self.leader, "first", pods.limits(1)))
        self.create(pod_for(self.follower, "second", pods.limits(1)))
        self.wait_bound("second", HANDED_OVER_S)
        self.assertEqual(self.pair.roles(), (self.follower, self.leader))
        self.assertEqual(self.leader.metric(HANDED_OVER), before + 1)
        self.wait_all_agree()

    def test_frozen_leader_is_succeeded_and_does_not_bind_when_it_wakes(self):
        leader, follower = self.leader, self.follower
        theirs = self.create_for(follower, "follower", 3)
        with self.stream_of(leader, 100), leader.frozen():
            self.wait_bound_all(theirs, TAKEN_OVER_S)
            bound = bound_for(leader, self.states())
            self.assertLess(len(bound), 100, "frozen too late to prove anything")
        leader.wait("it knows that it leads no more", leader.leads, lambda: False)
        self.keep_busy(follower, 1.5)
        self.assertEqual(bound_for(leader, self.states()), bound,
                         "bound by a daemon that was not the leader")
        self.wait_all_agree()

    @contextlib.contextmanager
    def stream_of(self, daemon, count):
        """Pods that arrive one after the other; in the midst of them once some are bound."""
        def create_all():
            for number in range(count):
                self.api.create(pods.PATH, pod_for(daemon, "stream-%03d" % number,
                                                   pods.limits(1, percent=25, cores=25)))

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            created = pool.submit(create_all)
            self.watch.wait("%s binds" % daemon.name,
                            lambda states: len(bound_for(daemon, states)) >= 10)
            yield
            created.result()

    def keep_busy(self, daemon, seconds):
        """So that it keeps the lease, whoever asks for it."""
        until = time.monotonic() + seconds
        number = 0
        while time.monotonic() < until:
            number += 1
            name = "busy-%02d" % number
            self.place(pod_for(daemon, name, pods.limits(1)))
            self.delete_pods([name])

    def test_killed_leader_is_succeeded(self):
        theirs = self.create_for(self.follower, "follower", 3)
        self.create_for(self.leader, "leader", 10)
        self.watch.wait("the leader binds", lambda states: bound_for(self.leader, states))
        self.leader.kill9()
        self.wait_bound_all(theirs, TAKEN_OVER_S)
        self.leader.start()
        self.wait_all_agree()


class GracefulStop(ReplicaCase):

    CONFIG = LONG_LEASE

    def test_leader_that_is_told_to_stop_under_load_ends_its_binds_and_releases_the_lease(self):
        stream = Stream(self.api, self.watch, self.pair)
        self.watch.wait("the leader binds", lambda states: stream.step() or
                        len(bound_for(self.leader, states)) >= 5)
        stream.step()
        identity = self.pair.holder()
        started = time.monotonic()
        self.leader.stop()  # fails unless it exits with 0, and in time
        self.assertNotEqual(self.pair.holder(), identity)
        self.watch.wait("the other binds", lambda states: bound_for(self.follower, states),
                        TAKEN_OVER_S)
        self.assertLess(time.monotonic() - started, 30)
        self.assertTrue(self.follower.leads())
        self.leader.start()
        self.assert_rightly_booked(self.states())
        for daemon in self.pair.both:
            self.assertEqual(daemon.differences(), [])


if __name__ == "__main__":
    unittest.main()
