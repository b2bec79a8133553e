#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
How long nobody binds when the leader is gone, and that nothing is booked twice meanwhile.

Two daemons with a scheduler each, and a stream of pods that come and go for both. Again and again
the leader is killed, frozen beyond its lease, or told to stop; the gap is the time until the first
pod is seen bound that the other has placed. After a freeze the old leader wakes up beside the new
one. As run.sh, it needs TOPOFIT and KUBE_BIN_DIR.
"""

import argparse
import collections
import os
import statistics
import sys
import time

import controlplane
import pods
import wirings
from cluster_case import BookingCheck
from daemon import SHORT_LEASE
from kubeapi import NODES, PODS, PodWatch
from replicas import Pair, Stream, is_for

LEASES = {
    "default": "",  # what is in effect without a word: 15 s, 10 s, 2 s
    "short": SHORT_LEASE,
}
WAYS = ("kill", "freeze", "stop")
NODE_COUNT = 12
GAP_GIVEN_UP_S = 60
BETWEEN_BOUND = 6  # pods that the leader binds before it is taken away


class Failovers:
    """A pair, nodes, a stream, and a watch that judges every state."""

    def __init__(self, plane, config):
        self.plane = plane
        self.api = plane.admin
        self.pair = Pair(plane, config)
        self.nodes = [wirings.wired_node("node-%02d" % number, wirings.ALL[number % 4])
                      for number in range(NODE_COUNT)]
        for node in self.nodes:
            self.api.create(NODES, node)
        self.watch = PodWatch(self.api, BookingCheck(pods.Capacity(self.nodes)))
        self.stream = Stream(self.api, self.watch, self.pair)
        self.gaps = collections.defaultdict(list)  # way: seconds

    def close(self):
        """Everything away, so that others may go on with the control plane."""
        self.watch.stop()
        self.pair.stop()
        for pod in self.api.list(PODS):
            self.api.delete("%s/%s" % (PODS, pod["metadata"]["name"]))
        for node in self.nodes:
            self.api.delete("%s/%s" % (NODES, node["metadata"]["name"]))

    def seen_bound(self, daemon):
        """uids of pods of this daemon's scheduler that are bound now."""
        with self.watch.changed:
            return {state["metadata"]["uid"] for state in self.watch.pods.values()
                    if is_for(daemon, state) and pods.is_bound(state)}

    def stream_until(self, what, is_true, timeout_s):
        """Keep the pods coming until is_true(). The time it took."""
        start = time.monotonic()
        while not is_true():
            if self.watch.failure:
                raise AssertionError("%s: the watch ended: %s" % (what, self.watch.failure))
            if time.monotonic() - start > timeout_s:
                raise AssertionError("%s: not within %d s" % (what, timeout_s))
            self.stream.step()
            with self.watch.changed:
                self.watch.changed.wait(0.02)
        return time.monotonic() - start

    def let_bind(self, daemon):
        before = self.seen_bound(daemon)
        self.stream_until("%s binds" % daemon.name,
                          lambda: len(self.seen_bound(daemon) - before) >= BETWEEN_BOUND,
                          GAP_GIVEN_UP_S)

    def fail_over(self, way):
        """Take the leader away. Seconds until a pod of the other is bound."""
        leader, follower = self.pair.roles(GAP_GIVEN_UP_S)
        self.let_bind(leader)
        before = self.seen_bound(follower)
        start = time.monotonic()
        {"kill": leader.kill9, "freeze": leader.freeze, "stop": leader.stop}[way]()
        self.stream_until("%s binds for %s" % (follower.name, leader.name),
                          lambda: self.seen_bound(follower) - before, GAP_GIVEN_UP_S)
        gap_s = time.monotonic() - start
        if way == "freeze":
            leader.thaw()
        else:
            leader.start()
        self.gaps[way].append(gap_s)
        self.pair.check_running()
        self.check_watch()
        return gap_s

    def check_watch(self):
        if self.watch.violations:
            raise AssertionError("never to be seen: %s" % self.watch.violations[:5])

    def settle(self):
        """At the end: both agree with the API server."""
        for daemon in self.pair.both:
            differences = daemon.differences()
            if differences:
                raise AssertionError("%s: differs from the API server: %s" %
                                     (daemon.name, differences[:5]))
        self.check_watch()


def run(plane, count, ways, config, tell):
    """`count` failovers, the ways in turn. The gaps by way, in seconds."""
    failovers = Failovers(plane, config)
    try:
        for number in range(count):
            way = ways[number % len(ways)]
            gap_s = failovers.fail_over(way)
            tell("%4d/%d  %-6s  gap %6.2f s  %6d pods bound" %
                 (number + 1, count, way, gap_s, len(failovers.watch.seen_bound)))
        failovers.settle()
        return failovers.gaps
    finally:
        failovers.close()


def summary(way, gaps):
    return "%-6s  %4d  least %.2f s  median %.2f s  most %.2f s" % (
        way, len(gaps), min(gaps), statistics.median(gaps), max(gaps))


def say(line):
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--failovers", type=int, default=3, help="how many (default 3)")
    parser.add_argument("--lease", choices=sorted(LEASES), default="default",
                        help="lease times: default (15 s, 10 s, 2 s) or short")
    parser.add_argument("--ways", default="kill", help="of: %s (default kill)" % ",".join(WAYS))
    parser.add_argument("--gap-max", type=float, default=None,
                        help="fail when a gap is longer, in seconds (default: 20 with the default "
                             "lease times)")
    options = parser.parse_args()
    ways = options.ways.split(",")
    if not set(ways) <= set(WAYS):
        parser.error("--ways takes %s" % ",".join(WAYS))
    gap_max_s = options.gap_max
    if gap_max_s is None:
        gap_max_s = 20 if options.lease == "default" else GAP_GIVEN_UP_S
    if not {"TOPOFIT", "KUBE_BIN_DIR"} <= set(os.environ):
        parser.error("TOPOFIT and KUBE_BIN_DIR must be set, as for run.sh")
    gaps = run(controlplane.shared(), options.failovers, ways, LEASES[options.lease], say)
    for way in sorted(gaps):
        print(summary(way, gaps[way]))
    longest_s = max(max(each) for each in gaps.values())
    if longest_s > gap_max_s:
        sys.exit("the longest gap, %.2f s, exceeds %.0f s" % (longest_s, gap_max_s))


if __name__ == "__main__":
    main()
