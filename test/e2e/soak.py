#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
A daemon that works for long must not grow, nor drift from what the API server has.

Pods come and go as fast as the control plane can take them. After a warm-up its memory must stay
within a few percent and its files as many as they were; at the end its picture must equal the API
server's. The longest of the daemon's bounded memories, of its last decisions, is filled in the
warm-up by asking about pods that do not exist. As run.sh, it needs TOPOFIT and KUBE_BIN_DIR.
"""

import argparse
import collections
import concurrent.futures
import os
import statistics
import sys
import time

import controlplane
import pods
import wirings
from cluster_case import BookingCheck
from daemon import Topofit
from kubeapi import NODES, PODS, PodWatch

NODE_COUNT = 40
WAITING_MAX = 30
BOUND_MAX = 150
DECISIONS_KEPT = 4096  # HISTORY_PODS_MAX
LINE_EVERY_S = 10
RSS_GROWTH_MAX = 0.05
FDS_GROWTH_MAX = 16  # connections to the API server come and go with the number of binds

Sample = collections.namedtuple("Sample", "at_s rss_kib fds bound")


class Soak:

    def __init__(self, plane):
        self.api = plane.admin
        self.topofit = Topofit(plane)
        self.nodes = [wirings.wired_node("node-%02d" % number, wirings.ALL[number % 4])
                      for number in range(NODE_COUNT)]
        for node in self.nodes:
            self.api.create(NODES, node)
        self.capacity = pods.Capacity(self.nodes)
        self.watch = PodWatch(self.api, BookingCheck(self.capacity))
        self.created = collections.OrderedDict()  # names of pods that were not deleted yet
        self.number = 0
        self.workers = concurrent.futures.ThreadPoolExecutor(8)
        self.samples = []
        self.since = time.monotonic()
        self.next_line_s = LINE_EVERY_S

    def fill_history(self):
        names = [node["metadata"]["name"] for node in self.nodes]

        def ask(number):
            pod = self.pod()
            pod["metadata"].update(namespace="default", name="made-up-%d" % number,
                                   uid="made-up-%d" % number)
            self.topofit.call("filter", {"Pod": pod, "Nodes": None, "NodeNames": names})

        list(self.workers.map(ask, range(DECISIONS_KEPT)))

    def pod(self):
        self.number += 1
        kinds = [pods.limits(1), pods.limits(2), pods.limits(1, percent=25, cores=25),
                 pods.limits(4), pods.limits(1, memory="4Gi", cores=20)]
        return pods.pod("s%07d" % self.number, kinds[self.number % len(kinds)])

    def step(self):
        """Delete what has been bound for longest, create as much as may wait."""
        with self.watch.changed:
            states = dict(self.watch.pods)
        bound = [name for name in self.created if name in states and pods.is_bound(states[name])]
        waiting = len(self.created) - len(bound)
        gone = bound[:max(0, len(bound) - BOUND_MAX)]
        new = [self.pod() for _ in range(WAITING_MAX - waiting)]
        for name in gone:
            del self.created[name]
        for pod in new:
            self.created[pod["metadata"]["name"]] = True
        done = [self.workers.submit(self.api.delete, "%s/%s" % (PODS, name)) for name in gone]
        done += [self.workers.submit(self.api.create, PODS, pod) for pod in new]
        for one in done:
            one.result()
        self.check()

    def check(self):
        self.topofit.check_running()
        if self.watch.failure or self.watch.violations:
            raise AssertionError("watch: %s %s" % (self.watch.failure, self.watch.violations[:5]))

    def sample(self):
        directory = "/proc/%d" % self.topofit.service.process.pid
        with open(directory + "/status") as file:
            rss = [line.split()[1] for line in file if line.startswith("VmRSS:")][0]
        one = Sample(time.monotonic() - self.since, int(rss), len(os.listdir(directory + "/fd")),
                     len(self.watch.seen_bound))
        self.samples.append(one)
        return one

    def run_until(self, at_s):
        while time.monotonic() - self.since < at_s:
            self.step()
            with self.watch.changed:
                self.watch.changed.wait(0.02)
            if self.samples and time.monotonic() - self.since - self.samples[-1].at_s < 1:
                continue
            now = self.sample()
            if now.at_s >= self.next_line_s:
                self.next_line_s += LINE_EVERY_S
                say("%6.0f s  %7d pods bound  %6.1f MiB  %3d files" %
                    (now.at_s, now.bound, now.rss_kib / 1024, now.fds))

    def finish(self):
        """What is left is bound, and everybody agrees."""
        self.watch.wait("all pods are bound", lambda states: all(
            map(pods.is_bound, states.values())), 60)
        self.topofit.wait("the ledger equals the records", self.topofit.uses,
                          lambda: self.capacity.uses(self.watch.pods.values()), 60)
        differences = self.topofit.differences()
        if differences:
            raise AssertionError("differences: %s" % differences[:5])
        self.check()

    def judge(self, warm_up_s):
        """(problem or None, text): of the samples after the warm-up the first and the last ones."""
        late = [one for one in self.samples if one.at_s >= warm_up_s]
        part = max(1, len(late) // 5)
        first, last = late[:part], late[-part:]
        rss = [statistics.median(one.rss_kib for one in some) for some in (first, last)]
        fds = [statistics.median(one.fds for one in some) for some in (first, last)]
        growth = rss[1] / rss[0] - 1
        rate = (late[-1].bound - late[0].bound) / max(1e-9, late[-1].at_s - late[0].at_s)
        text = "%.1f pods/s; memory %.1f -> %.1f MiB (%+.1f %%); files %d -> %d" % (
            rate, rss[0] / 1024, rss[1] / 1024, 100 * growth, fds[0], fds[1])
        if growth > RSS_GROWTH_MAX:
            return "memory grew", text
        if fds[1] - fds[0] > FDS_GROWTH_MAX:
            return "files were left open", text
        return None, text

    def close(self):
        self.workers.shutdown()
        self.watch.stop()
        self.topofit.stop()
        for pod in self.api.list(PODS):
            self.api.delete("%s/%s" % (PODS, pod["metadata"]["name"]))
        for node in self.nodes:
            self.api.delete("%s/%s" % (NODES, node["metadata"]["name"]))


def say(line):
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="how long (default 60)")
    parser.add_argument("--warm-up", type=float, default=None,
                        help="seconds not judged (default: half, at most 300)")
    options = parser.parse_args()
    if not {"TOPOFIT", "KUBE_BIN_DIR"} <= set(os.environ):
        parser.error("TOPOFIT and KUBE_BIN_DIR must be set, as for run.sh")
    warm_up_s = min(options.seconds / 2, 300) if options.warm_up is None else options.warm_up
    soak = Soak(controlplane.shared())
    try:
        soak.run_until(warm_up_s / 2)
        soak.fill_history()
        soak.run_until(options.seconds)
        soak.finish()
    finally:
        soak.close()
    problem, text = soak.judge(warm_up_s)
    print(text)
    if problem:
        sys.exit(problem)


if __name__ == "__main__":
    main()
