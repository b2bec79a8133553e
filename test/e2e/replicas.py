# SPDX-License-Identifier: Apache-2.0
"""Two daemons, each beside a scheduler of its own: who leads, and pods for either."""

import collections
import time

import controlplane
import pods
from daemon import CONFIG, Topofit

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/topofit"
SCHEDULERS = {"topofit": controlplane.DEFAULT_SCHEDULER, "topofit-b": controlplane.SECOND_SCHEDULER}


class Pair:
    """Of two daemons on one control plane one leads, once both run."""

    def __init__(self, plane, config=CONFIG):
        self.plane = plane
        plane.start_second_scheduler()
        self.both = [Topofit(plane, config=config)]
        self.both.append(Topofit(plane, config=config, name="topofit-b",
                                 extender_port=plane.second_extender_port))

    def start_if_down(self):
        for one in self.both:
            one.start_if_down()

    def check_running(self):
        for one in self.both:
            one.check_running()

    def stop(self):
        for one in self.both:
            one.stop()

    def other(self, one):
        return self.both[1 - self.both.index(one)]

    def roles(self, timeout_s=20):
        """(leader, follower), as soon as there is exactly one leader."""
        deadline = time.monotonic() + timeout_s
        while True:
            leaders = [one for one in self.both if one.leads()]
            if len(leaders) == 1:
                return leaders[0], self.other(leaders[0])
            if time.monotonic() > deadline:
                raise AssertionError("%d leaders after %d s" % (len(leaders), timeout_s))
            time.sleep(0.02)

    def holder(self):
        return self.plane.admin.get(LEASE)["spec"].get("holderIdentity", "")


def pod_for(daemon, name, amounts, **spec):
    """A pod that the scheduler of this daemon places."""
    return pods.pod(name, amounts, schedulerName=SCHEDULERS[daemon.name], **spec)


def is_for(daemon, state):
    return state["spec"]["schedulerName"] == SCHEDULERS[daemon.name]


def bound_for(daemon, states):
    """The names of the bound pods of this daemon's scheduler."""
    return {name for name, state in states.items() if is_for(daemon, state) and
            pods.is_bound(state)}


class Stream:
    """
    Pods that come and go, for both schedulers: never many that wait, never many that hold devices.

    step() does what is to be done now; it is called again and again, from one thread.
    """

    WAITING_MAX = 6
    BOUND_MAX = 40

    def __init__(self, api, watch, pair):
        self.api = api
        self.watch = watch
        self.pair = pair
        self.number = 0
        self.created = collections.OrderedDict()  # names of pods that were not deleted yet

    def step(self):
        with self.watch.changed:
            states = dict(self.watch.pods)
        bound = [name for name in self.created if name in states and pods.is_bound(states[name])]
        for name in bound[:max(0, len(bound) - self.BOUND_MAX)]:
            self.delete(name)
        unseen = [name for name in self.created if name not in states]
        for daemon in self.pair.both:
            waiting = sum(is_for(daemon, state) and not pods.is_bound(state)
                          for state in states.values())
            for _ in range(self.WAITING_MAX - waiting - len(unseen)):
                self.create(daemon)

    def create(self, daemon):
        self.number += 1
        name = "s%06d" % self.number
        self.created[name] = daemon
        kinds = [pods.limits(1), pods.limits(2), pods.limits(1, percent=25, cores=25)]
        self.api.create(pods.PATH, pod_for(daemon, name, kinds[self.number % len(kinds)]))

    def delete(self, name):
        self.api.delete("%s/%s" % (pods.PATH, name))
        del self.created[name]
