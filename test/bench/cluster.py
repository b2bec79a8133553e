#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
What topofit costs a real kube-scheduler: pods placed a second, CPU of each process, and the
requests that an extender makes of the API server, counted by its audit log.

Three ways, in turns, so that what else the machine does hits all of them:

  none     no extender
  idle     bench_idle_extender: answers everything at once and binds without thinking
  topofit  filter, prioritize, preempt and bind; the shipped scheduler configuration

Each run begins with all pods waiting, an extender that is ready and a new kube-scheduler. Figures
are of the time between 10 and 90 % of the pods.

The servers are taken from $KUBE_BIN_DIR; without it test/e2e/build-kube.sh finds or builds them.

examples:
  python3 test/bench/cluster.py
  python3 test/bench/cluster.py --rounds 9 --json cluster.json
  python3 test/bench/cluster.py --ways idle,topofit --score-percent 0
"""

import argparse
import collections
import concurrent.futures
import contextlib
import http.client
import json
import os
import ssl
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

import controlplane  # noqa: E402
import pods  # noqa: E402
import processes  # noqa: E402
import wirings  # noqa: E402
from daemon import Topofit  # noqa: E402
from kubeapi import NODES, PODS  # noqa: E402

WAYS = ("none", "idle", "topofit")
TARGET_SHARE = 0.97  # of the throughput with the idle extender
SAMPLE_EVERY_S = 0.1
PLACED_IN_S = 300
EXTENDER_USER = "topofit"
SCHEDULED = 'scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"}'

AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
  users: [%s]
- level: None
""" % EXTENDER_USER

Sample = collections.namedtuple("Sample", "at_s placed cpu_s machine_s self_s")


class BenchPlane(controlplane.ControlPlane):
    """A control plane that writes down what the extender asks of the API server."""

    def __init__(self, bin_dir, score_percent):
        self.score_percent = score_percent
        super().__init__(bin_dir)

    def apiserver_options(self):
        with open(self.path("audit.yaml"), "w") as file:
            file.write(AUDIT_POLICY)
        return ["--audit-policy-file=" + self.path("audit.yaml"),
                "--audit-log-path=" + self.path("audit.log")]

    def scheduler_config(self, *arguments):
        text = super().scheduler_config(*arguments)
        for theirs, ours in (("qps: 1000\n  burst: 2000", "qps: 5000\n  burst: 10000"),
                             ("percentageOfNodesToScore: 100",
                              "percentageOfNodesToScore: %d" % self.score_percent)):
            if theirs not in text:
                raise RuntimeError("the scheduler's configuration must have %r" % theirs)
            text = text.replace(theirs, ours)
        if self.way == "none":
            head, tail = text.split("extenders:\n")
            text = head + tail[tail.index("\npod"):]
        return text

    def requests(self, since):
        """({what was asked: how often} of the extender, position) in the audit log from there."""
        found = collections.Counter()
        if not os.path.exists(self.path("audit.log")):
            return found, 0
        with open(self.path("audit.log")) as file:
            file.seek(since)
            for line in iter(file.readline, ""):
                entry = json.loads(line)
                about = entry.get("objectRef", {})
                kind = "/".join(filter(None, (about.get("resource"), about.get("subresource"))))
                found["%s %s" % (entry["verb"], kind or entry["requestURI"])] += 1
            return found, file.tell()


class SchedulerGauge:
    """How many pods the scheduler has placed, asked over one connection."""

    def __init__(self, port):
        self.connection = http.client.HTTPSConnection(
            "127.0.0.1", port, context=ssl._create_unverified_context(), timeout=10)

    def placed(self):
        self.connection.request("GET", "/metrics")
        for line in self.connection.getresponse().read().decode().splitlines():
            if line.startswith(SCHEDULED):
                return int(float(line.rsplit(" ", 1)[1]))
        return 0

    def close(self):
        self.connection.close()


class IdleExtender:
    """bench_idle_extender in place of the daemon."""

    def __init__(self, plane, program):
        self.service = controlplane.Service("idle", [
            program, "--kubeconfig", plane.kubeconfig(EXTENDER_USER),
            "--listen", "127.0.0.1:%d" % plane.extender_port], plane.directory)
        self.plane = plane
        plane.services.append(self.service)
        self.service.wait_until(lambda: self.ask()[0] == 200)

    def ask(self):
        return controlplane.http_get(self.plane.extender_port, "/figures")

    def figures(self):
        """Its own time for each call."""
        found = {}
        for verb, sums in json.loads(self.ask()[1]).items():
            found[verb + "_us"] = round(sums["us"] / max(1, sums["calls"]), 1)
            found[verb + "_calls"] = sums["calls"]
        return found

    def stop(self):
        self.plane.services.remove(self.service)
        self.service.stop()


class Daemon(Topofit):
    """topofit with its default configuration, once it may bind."""

    VERBS = ("filter", "prioritize", "preempt", "bind")

    def __init__(self, plane):
        super().__init__(plane, config="")
        self.wait("topofit leads", self.leads, lambda: True)

    def figures(self):
        """Its own time for each call, and what it has written besides."""
        found = {}
        for verb in self.VERBS:
            name = 'topofit_http_request_duration_seconds_%s{verb="%s"}'
            calls = self.metric(name % ("count", verb))
            if calls:
                found[verb + "_us"] = round(1e6 * self.metric(name % ("sum", verb)) / calls, 1)
                found[verb + "_calls"] = int(calls)
        for result in ("written", "folded", "dropped"):
            found["events_" + result] = int(
                self.metric('topofit_events_total{result="%s"}' % result))
        return found


class Bench:

    def __init__(self, plane, arguments):
        self.plane = plane
        self.api = plane.admin
        self.arguments = arguments
        self.workers = concurrent.futures.ThreadPoolExecutor(8)
        self.nodes = [wirings.wired_node("node-%04d" % number, wirings.ALL[number % 4], slots=1)
                      for number in range(arguments.nodes)]
        self.each(lambda node: self.api.create(NODES, node), self.nodes)
        self.capacity = pods.Capacity(self.nodes)
        self.audited = 0

    def each(self, do, items):
        list(self.workers.map(do, items))

    def start_extender(self, way):
        if way == "idle":
            return IdleExtender(self.plane, self.arguments.idle)
        return Daemon(self.plane) if way == "topofit" else None

    def run(self, way, number):
        """One run of one way; its figures."""
        self.plane.way = way
        new = [pods.pod("r%02d-%s-%04d" % (number, way, one), pods.limits(self.arguments.gpus))
               for one in range(self.arguments.pods)]
        extender = self.start_extender(way)
        self.each(lambda pod: self.api.create(PODS, pod), new)
        time.sleep(self.arguments.rest)
        scheduler = self.plane.run_scheduler("kube-scheduler", controlplane.DEFAULT_SCHEDULER,
                                             self.plane.scheduler_port, self.plane.extender_port)
        samples = self.watch_placing(self.pids(scheduler, extender))
        figures = self.judge(samples)
        if extender:
            figures["inside"] = extender.figures()
        self.plane.services.remove(scheduler)
        scheduler.stop()
        self.check_placed(way)
        if extender:
            extender.stop()
        figures["requests"], self.audited = self.plane.requests(self.audited)
        self.delete_pods()
        return dict(figures, way=way, round=number)

    def pids(self, scheduler, extender):
        by_name = {service.name: service.process.pid for service in self.plane.services}
        found = {"scheduler": scheduler.process.pid, "apiserver": by_name["kube-apiserver"],
                 "etcd": by_name["etcd"]}
        if extender:
            found["extender"] = extender.service.process.pid
        return found

    def watch_placing(self, pids):
        """Samples until all pods are placed."""
        samples = []
        deadline = time.monotonic() + PLACED_IN_S
        with contextlib.closing(SchedulerGauge(self.plane.scheduler_port)) as gauge:
            while not samples or samples[-1].placed < self.arguments.pods:
                if time.monotonic() > deadline:
                    raise RuntimeError("%d of %d pods placed" % (samples[-1].placed,
                                                                 self.arguments.pods))
                placed = gauge.placed()
                samples.append(Sample(time.monotonic(), placed,
                                      {name: processes.cpu_s(pid) for name, pid in pids.items()},
                                      processes.machine_cpu_s(), sum(os.times()[:2])))
                time.sleep(SAMPLE_EVERY_S)
        return samples

    def judge(self, samples):
        """Of the middle: the beginning has the scheduler's start in it."""
        wanted = self.arguments.pods
        first = next(one for one in samples if one.placed >= 0.1 * wanted)
        last = next(one for one in samples if one.placed >= 0.9 * wanted)
        if first.placed >= last.placed:
            raise RuntimeError("placed too fast to be measured: more pods are needed")
        took_s, placed = last.at_s - first.at_s, last.placed - first.placed
        cpu_s = {name: last.cpu_s[name] - first.cpu_s[name] for name in last.cpu_s}
        others_s = last.machine_s - first.machine_s - sum(cpu_s.values()) - \
            (last.self_s - first.self_s)
        return {"pods_per_s": placed / took_s,
                "cpu_ms_per_pod": {name: 1e3 * used / placed for name, used in cpu_s.items()},
                "cores": {name: used / took_s for name, used in cpu_s.items()},
                "others_cores": others_s / took_s}

    def check_placed(self, way):
        states = self.api.list(PODS)
        bound = [state for state in states if pods.is_bound(state)]
        problems = self.capacity.problems(states) if way == "topofit" else []
        if len(bound) != self.arguments.pods or problems:
            raise RuntimeError("%s: %d of %d pods are bound; %s" % (
                way, len(bound), self.arguments.pods, problems[:3]))

    def delete_pods(self):
        self.api.request("DELETE", PODS + "?gracePeriodSeconds=0")
        while self.api.list(PODS + "?limit=1"):
            time.sleep(0.1)


# --- telling ---------------------------------------------------------------------------------

HEAD = ["way", "runs", "pods/s", "least", "most", "of idle", "scheduler", "apiserver", "etcd",
        "extender", "others"]


def of_way(runs, way):
    return [run for run in runs if run["way"] == way]


def share_of_idle(runs, way):
    """The median over rounds, whose runs are neighbours."""
    idle = {run["round"]: run["pods_per_s"] for run in of_way(runs, "idle")}
    return processes.median([run["pods_per_s"] / idle[run["round"]] for run in of_way(runs, way)
                             if run["round"] in idle])


def row_of(runs, way):
    mine = of_way(runs, way)
    rates = [run["pods_per_s"] for run in mine]
    row = [way, str(len(mine)), "%.1f" % processes.median(rates), "%.1f" % min(rates),
           "%.1f" % max(rates), "%.3f" % share_of_idle(runs, way)]
    for name in ("scheduler", "apiserver", "etcd", "extender"):
        used = [run["cpu_ms_per_pod"][name] for run in mine if name in run["cpu_ms_per_pod"]]
        row.append("%.2f" % processes.median(used) if used else "-")
    return row + ["%.2f" % processes.median([run["others_cores"] for run in mine])]


def request_rows(runs, way, pod_count):
    mine = of_way(runs, way)
    total = collections.Counter()
    for run in mine:
        total.update(run["requests"])
    return [[way, what, "%.1f" % (count / len(mine)), "%.3f" % (count / len(mine) / pod_count)]
            for what, count in sorted(total.items(), key=lambda item: -item[1])]


def tell(runs, arguments):
    ways = [way for way in WAYS if of_way(runs, way)]
    print("\n%d nodes, %d pods of %d GPUs, percentageOfNodesToScore %d; CPU in ms for each pod, "
          "others in cores" % (arguments.nodes, arguments.pods, arguments.gpus,
                               arguments.score_percent))
    processes.print_table(HEAD, [row_of(runs, way) for way in ways])
    print("\nrequests to the API server, from the extender's start to its end")
    processes.print_table(["way", "request", "a run", "a pod"], [
        row for way in ways for row in request_rows(runs, way, arguments.pods)])
    print()
    for run in [of_way(runs, way)[-1] for way in ways if way != "none"]:
        print("inside %s, last run: %s" % (run["way"], ", ".join(
            "%s %s" % item for item in run["inside"].items())))
    if {"idle", "topofit"} <= set(ways):
        print("\ntarget: topofit/idle at least %.2f; measured %.3f" % (
            TARGET_SHARE, share_of_idle(runs, "topofit")))


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    build = os.path.join(HERE, "..", "..", "build")
    parser.add_argument("--nodes", type=int, default=1000, help="of 8 GPUs (default: 1000)")
    parser.add_argument("--pods", type=int, default=1000, help="in each run (default: 1000)")
    parser.add_argument("--gpus", type=int, default=1, help="of each pod (default: 1)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each way (default: 5)")
    parser.add_argument("--ways", default=",".join(WAYS), help="default: none,idle,topofit")
    parser.add_argument("--score-percent", type=int, default=100,
                        help="percentageOfNodesToScore; 100 as shipped, 0: kube-scheduler's choice")
    parser.add_argument("--rest", type=float, default=1, metavar="S",
                        help="seconds between creating the pods and starting (default: 1)")
    parser.add_argument("--idle", default=os.path.join(build, "bench_idle_extender"),
                        help="the program (default: build/bench_idle_extender)")
    parser.add_argument("--topofit", default=os.environ.get("TOPOFIT") or
                        os.path.join(build, "topofit"),
                        help="the program (default: $TOPOFIT or build/topofit)")
    parser.add_argument("--json", metavar="FILE", help="also write all runs to a file")
    arguments = parser.parse_args()
    arguments.ways = arguments.ways.split(",")
    if not set(arguments.ways) <= set(WAYS):
        parser.error("--ways: of " + ",".join(WAYS))
    return arguments


def main():
    arguments = read_arguments()
    os.environ["TOPOFIT"] = os.path.realpath(arguments.topofit)
    arguments.idle = os.path.realpath(arguments.idle)
    processes.end_orderly()
    plane = BenchPlane(processes.kube_bin_dir(), arguments.score_percent)
    runs = []
    try:
        bench = Bench(plane, arguments)
        for number in range(arguments.rounds):
            ways = arguments.ways if number % 2 == 0 else arguments.ways[::-1]
            for way in ways:
                runs.append(bench.run(way, number))
                print("round %d %-8s %7.1f pods/s, others %.2f cores" % (
                    number, way, runs[-1]["pods_per_s"], runs[-1]["others_cores"]), flush=True)
    except KeyboardInterrupt:
        print("\nended early")
    finally:
        plane.stop()
    if runs:
        tell(runs, arguments)
    processes.write_json(arguments.json, {"arguments": vars(arguments), "runs": runs})


if __name__ == "__main__":
    main()
