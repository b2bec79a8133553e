# SPDX-License-Identifier: Apache-2.0
"""What the tests have in common: a daemon for each class, an empty cluster for each test."""

import concurrent.futures
import unittest

import controlplane
import daemon
import pods
from daemon import Topofit
from kubeapi import NODES, PODS, PodWatch, condition


class BookingCheck:
    """For a PodWatch: what is wrong with a state of a pod, alone and among those on its node."""

    def __init__(self, capacity=None):
        self.capacity = capacity  # once there are nodes; None: bookings are not looked at
        self.records = {}  # by uid

    def __call__(self, state, states):
        return pods.allocation_problem(state) or self.record_problem(state) or \
            self.booking_problem(state, states)

    def record_problem(self, state):
        record = state["metadata"].get("annotations", {}).get(pods.ALLOCATION)
        if not pods.is_bound(state) or record is None:
            return None
        first = self.records.setdefault(state["metadata"]["uid"], record)
        return None if record == first else "was bound with %s, now has %s" % (first, record)

    def booking_problem(self, state, states):
        if self.capacity is None or not pods.is_holding(state):
            return None
        node = state["spec"]["nodeName"]
        beside = [one for one in states.values() if one["spec"].get("nodeName") == node]
        return "; ".join(self.capacity.overbooked(beside)) or None


class ClusterCase(unittest.TestCase):
    """
    Tests against the shared control plane with a daemon of their own.

    During every test a watch on the pods looks for one that has a node and no allocation, for
    records that change, and for devices that are booked twice.
    """

    CONFIG = daemon.CONFIG

    @classmethod
    def setUpClass(cls):
        cls.plane = controlplane.shared()
        cls.api = cls.plane.admin
        cls.topofit = cls.new_daemon()
        cls.addClassCleanup(lambda: cls.topofit.stop())

    @classmethod
    def new_daemon(cls):
        return Topofit(cls.plane, config=cls.CONFIG)

    def new_check(self):
        """What looks at every state of every pod."""
        return BookingCheck()

    def judge_nodes(self):
        """Let it know what there is on the nodes."""
        self.capacity = self.check.capacity = pods.Capacity(self.nodes)

    def setUp(self):
        self.topofit.start_if_down()
        self.nodes = []
        self.check = self.new_check()
        self.watch = PodWatch(self.api, self.check)
        self.addCleanup(self.watch.stop)
        self.addCleanup(self.wipe_nodes)
        self.addCleanup(self.wipe_pods)

    def tearDown(self):
        self.topofit.check_running()
        self.assertEqual(self.watch.violations, [], "states of pods that must never be seen")

    def wipe_pods(self):
        """Without the watch, which may be what failed."""
        for pod in self.api.list(PODS):
            self.api.delete("%s/%s" % (PODS, pod["metadata"]["name"]))

    def wipe_nodes(self):
        for node in self.nodes:
            self.api.delete("%s/%s" % (NODES, node["metadata"]["name"]))
        self.nodes.clear()

    def add_nodes(self, *nodes):
        """Create nodes and wait until the daemon knows them, with nothing in use."""
        self.nodes.extend(nodes)
        self.in_parallel(lambda node: self.api.create(NODES, node), nodes)
        self.judge_nodes()
        names = {node["metadata"]["name"] for node in self.nodes}
        self.topofit.wait("the daemon knows the nodes", self.topofit.node_names, lambda: names)
        self.topofit.wait("nothing is in use on new nodes", self.topofit.uses, dict)

    @staticmethod
    def in_parallel(do, items):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(do, items))

    def states(self):
        """The pods as they are now, by name."""
        with self.watch.changed:
            return dict(self.watch.pods)

    def create(self, *new):
        """Create pods and wait until the watch has shown them."""
        self.in_parallel(lambda pod: self.api.create(PODS, pod), new)
        names = {pod["metadata"]["name"] for pod in new}
        self.watch.wait("the pods are seen", lambda states: names <= set(states))

    def place(self, pod):
        """Create a pod; its state once it is bound."""
        self.create(pod)
        return self.wait_bound(pod["metadata"]["name"])

    def wait_bound(self, name, timeout_s=30):
        return self.watch.wait(
            name + " is bound",
            lambda states: name in states and pods.is_bound(states[name]) and states[name],
            timeout_s)

    def wait_all_bound(self, count, timeout_s=60):
        """The states of all pods, once there are `count` and every one is bound."""
        return self.watch.wait(
            "all %d pods are bound" % count,
            lambda states: len(states) == count and all(map(pods.is_bound, states.values())) and
            dict(states), timeout_s)

    def wait_refused(self, name):
        """The sentence with which the scheduler says that it cannot place a pod."""
        return self.watch.wait(
            name + " is refused",
            lambda states: condition(states[name]).get("status") == "False" and
            condition(states[name])["message"])

    def delete_pods(self, names, grace_s=0):
        """Delete pods and wait until they are gone."""
        self.in_parallel(lambda name: self.api.delete("%s/%s" % (PODS, name), grace_s), names)
        self.watch.wait("the pods are gone", lambda states: not set(names) & set(states))

    def wait_ledger_equals_records(self, topofit=None):
        """Until what the daemon has booked is what the annotations of the pods say."""
        topofit = topofit or self.topofit
        topofit.wait("the ledger equals the records", topofit.uses,
                     lambda: self.capacity.uses(self.states().values()))

    def assert_rightly_booked(self, states):
        self.assertEqual(self.capacity.problems(states.values()), [])
