# SPDX-License-Identifier: Apache-2.0
"""The common test case for nodes of HAMi's device plugins: two shapes of a scheduler, a referee."""

import controlplane
import pods
from cluster_case import ClusterCase
from daemon import Topofit
from hami_plugin import DSMLU_LOCK, LOCK, HamiPlugin, annotations
from hami_referee import Referee
from kubeapi import EVENTS, NODES, condition

# None is dropped: a test may be the one that comes after a burst.
CONFIG = "events: {words: hami, perSecond: 1000, burst: 1000}\n"


class VendorCase(ClusterCase):
    """
    A scheduler and a daemon of its own, with a configuration that is shipped: `SCHEDULER` is its
    name, `scheduler_text()` the configuration. On every node there is a stand-in for the plugins,
    and the referee looks at all states of all pods.
    """

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        scheduler = cls.plane.run_scheduler(cls.SCHEDULER, cls.SCHEDULER, cls.plane.ports.take(),
                                            cls.topofit.extender_port, cls.scheduler_text())
        cls.addClassCleanup(cls.plane.end, scheduler)

    @classmethod
    def new_daemon(cls):
        return Topofit(cls.plane, config=cls.CONFIG, name="topofit-" + cls.SCHEDULER,
                       extender_port=cls.plane.ports.take())

    def new_check(self):
        return Referee()

    def judge_nodes(self):
        """add_machines() has done it."""

    def setUp(self):
        super().setUp()
        self.plugin = None
        self.counter = 0

    def tearDown(self):
        super().tearDown()
        if self.plugin:
            self.settle()

    def add_machines(self, *machines):
        for machine in machines:
            self.check.add(machine)
        self.add_nodes(*(machine.node for machine in machines))
        self.plugin = HamiPlugin(self.api, [machine.node["metadata"]["name"]
                                            for machine in machines], inspect=self.judge_served)
        self.addCleanup(self.plugin.stop)

    def judge_served(self, state):
        return "; ".join(self.check.pod_problems(state))

    def settle(self):
        """All that are bound are served and run, nothing is locked, and all books agree."""
        self.watch.wait("all bound pods run", lambda states: self.plugin.failed or all(
            state["status"].get("phase") == "Running" for state in states.values()
            if pods.is_bound(state)))
        self.assertEqual(self.plugin.failed, [])
        for node in self.nodes:
            name = node["metadata"]["name"]
            self.topofit.wait("%s is not locked" % name, lambda name=name: self.locks(name), dict)
        self.topofit.wait("the ledger equals the records", self.topofit.uses,
                          lambda: self.check.uses(self.states().values()))
        self.assertEqual([one for one in self.plugin.served if one[1] != one[2]], [],
                         "(node, pod the kubelet meant, pod the plugin served)")

    def locks(self, node):
        notes = annotations(self.api.get("%s/%s" % (NODES, node)))
        return {key: notes[key] for key in (LOCK, DSMLU_LOCK) if key in notes}

    # --- pods ---

    def name_pod(self, stem):
        self.counter += 1
        return "%s-%d" % (stem, self.counter)

    def pod(self, amounts, stem="pod", **more):
        return pods.pod(self.name_pod(stem), {key: str(value) for key, value in amounts.items()},
                        schedulerName=self.SCHEDULER, **more)

    def place_one(self, amounts, **more):
        """A pod that must fit; its state once it runs."""
        return self.place_many(1, amounts, **more)[0]

    def place_many(self, count, amounts, **more):
        """Pods created at once, that must fit."""
        return self.place_all([self.pod(amounts, **more) for _ in range(count)])

    def place_all(self, new):
        self.create(*new)
        names = [pod["metadata"]["name"] for pod in new]
        self.watch.wait("%s are served" % ", ".join(names), lambda states:
                        self.plugin.failed or all(
                            states[name]["status"].get("phase") == "Running" for name in names), 60)
        self.assertEqual(self.plugin.failed, [])
        return [self.states()[name] for name in names]

    def place_each(self, count, amounts, **more):
        """One after the other: where plugins take no lock, they cannot tell pods apart."""
        return [self.place_one(amounts, **more) for _ in range(count)]

    def refuse(self, sentence, reason, amounts, **more):
        """A pod that must not fit, and who says why: its condition, its Event and the daemon."""
        pod = self.pod(amounts, stem="refused", **more)
        name = pod["metadata"]["name"]
        self.create(pod)
        self.wait_message(name, sentence)
        reasons = {one["reason"] for one in self.topofit.pod(name)["reasons"]}
        self.assertEqual(reasons, {reason})
        self.topofit.wait("%s has an Event" % name,
                          lambda: "FailedScheduling" in self.event_reasons(name), lambda: True)
        self.delete_pods([name])
        return name

    def refuse_count(self, resource, sentence, reason, amounts):
        """A pod more than the plugin has shares: the scheduler sees it first, if it counts them."""
        if not self.COUNTED:
            return self.refuse(sentence, reason, amounts)
        pod = self.pod(amounts, stem="refused")
        self.create(pod)
        self.wait_message(pod["metadata"]["name"], "Insufficient " + resource)
        return self.delete_pods([pod["metadata"]["name"]])

    def wait_message(self, name, sentence):
        self.watch.wait("%s is refused because %s" % (name, sentence), lambda states:
                        sentence in condition(states[name]).get("message", ""), 20)

    def event_reasons(self, name):
        return {event.get("reason") for event in self.api.list(EVENTS)
                if event["regarding"]["name"] == name}

    def devices(self, state, word):
        """[[id]] of a pod, container by container."""
        return [[one.card.id for one in devices] for devices in self.check.given(state, word)]

    def cards_used(self, states, word):
        return {one for state in states for devices in self.devices(state, word) for one in devices}


class AsHami:
    """HAMi's own shape: filter and bind, all resources counted by the extender."""

    SCHEDULER = "hami-scheduler"
    CONFIG = CONFIG + "extender: {filterAnswers: best}\n"
    COUNTED = False  # does the scheduler itself count what NVIDIA's plugin has?

    @staticmethod
    def scheduler_text():
        return controlplane.shipped("examples", "scheduler-config-hami.yaml")


class AsOurs:
    """All verbs, and the resources of all vendors."""

    SCHEDULER = "topofit-scheduler"
    CONFIG = CONFIG
    COUNTED = True

    @staticmethod
    def scheduler_text():
        return controlplane.for_all_vendors(controlplane.shipped("scheduler-config.yaml"))
