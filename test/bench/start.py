#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
How long topofit takes from the start of its process to /readyz, against the time that curl, a new
process as well, takes to fetch the same two lists, of nodes and pods; and what memory it has after
the first sync and after many relists.

Two servers:

  real  etcd and kube-apiserver with nodes of 8 GPUs, and pods bound to them with their records
  stub  a server that sends the bytes of the real one's lists without any work, over plain HTTP;
        it also makes topofit list again, which a real one does only when it has lost something

curl fetches both lists at the same time (-Z), as topofit does. Its runs and topofit's alternate.
CPU is that of the process itself: what is missing from the time is the server's, or waiting.

The servers are taken from $KUBE_BIN_DIR; without it test/e2e/build-kube.sh finds or builds them.

examples:
  python3 test/bench/start.py
  python3 test/bench/start.py --nodes 1000 --pods 4000 --json start.json
  python3 test/bench/start.py --nodes 15000 --pods 60000 --rounds 3
  python3 test/bench/start.py --records hami
"""

import argparse
import concurrent.futures
import json
import os
import resource
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

import controlplane  # noqa: E402
import pods  # noqa: E402
import processes  # noqa: E402
import wirings  # noqa: E402
from kubeapi import NODES, PODS  # noqa: E402
from stub_api import StubApi  # noqa: E402

TARGET_RATIO = 1.5
GPUS = 8
READY_IN_S = 120
POLL_EVERY_S = 0.002
SETTLED_IN_S = 0.5  # a list is counted before all that belongs to it is done
LISTS = ("/api/v1/nodes", "/api/v1/pods")
ALONE = "leaderElection:\n  enabled: false\nevents:\n  enabled: false\n"  # for the stub
STUB_KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: stub
clusters: [{name: stub, cluster: {server: "http://127.0.0.1:%d"}}]
contexts: [{name: stub, context: {cluster: stub, user: nobody}}]
users: [{name: nobody, user: {}}]
"""


# --- the cluster -----------------------------------------------------------------------------

def node_name(number):
    return "node-%05d" % number


def native_notes(node, device, memory_mib):
    """Annotations of a pod of one whole GPU after topofit's Binding."""
    record = {"version": 1, "node": node, "tier": 0, "degraded": False, "containers": [
        {"name": "main", "kind": "app", "devices": [
            {"id": device, "memoryMiB": memory_mib, "cores": wirings.CORES, "slots": 1,
             "mode": "shared"}]}]}
    return {pods.ALLOCATION: json.dumps(record, separators=(",", ":")),
            pods.DEVICES + "main": device}


def hami_notes(node, device, memory_mib):
    """The same after HAMi's scheduler and plugin."""
    return {"hami.io/bind-phase": "success", "hami.io/bind-time": "1767225600",
            "hami.io/vgpu-node": node, "hami.io/vgpu-time": "1767225600",
            "hami.io/vgpu-devices-allocated": "%s,NVIDIA,%d,%d:;" % (
                device, memory_mib, wirings.CORES),
            "hami.io/vgpu-devices-to-allocate": ";"}


def native_node(name, wiring):
    return wirings.wired_node(name, wiring, slots=1)


# How nodes tell of their GPUs, and pods of theirs.
RECORDS = {"native": (native_node, native_notes), "hami": (wirings.hami_node, hami_notes)}


def fill(api, arguments):
    build_node, build_notes = RECORDS[arguments.records]

    def create_node(number):
        api.create(NODES, build_node(node_name(number), wirings.ALL[number % len(wirings.ALL)]))

    def create_pod(number):
        node = node_name(number % arguments.nodes)
        wiring = wirings.ALL[number % arguments.nodes % len(wirings.ALL)]
        device = wirings.device_id(node, number // arguments.nodes)
        api.create(PODS, pods.pod(
            "pod-%06d" % number, pods.limits(1), nodeName=node,
            annotations=build_notes(node, device, wiring.memory_mib)))

    with concurrent.futures.ThreadPoolExecutor(8) as workers:
        list(workers.map(create_node, range(arguments.nodes)))
        list(workers.map(create_pod, range(arguments.pods)))


# --- what is timed ---------------------------------------------------------------------------

class Server:
    """Where the lists come from, for curl and for topofit."""

    def __init__(self, name, url, curl_options, kubeconfig, config):
        self.name = name
        self.url = url
        self.curl_options = curl_options
        self.kubeconfig = kubeconfig
        self.config = config

    def curl(self):
        """(seconds, CPU seconds) of one curl for both lists."""
        command = ["curl", "-sSf", "--noproxy", "*", "-Z"] + self.curl_options
        for path in LISTS:
            command += ["-o", "/dev/null", self.url + path]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)  # -Z tells its progress
        took_s = time.monotonic() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return took_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def fetch(self, path):
        return subprocess.run(["curl", "-sSf", "--noproxy", "*"] + self.curl_options +
                              [self.url + path], check=True, stdout=subprocess.PIPE).stdout


class Daemon:
    """One process of topofit, timed from its start to its first 200 of /readyz."""

    def __init__(self, plane, server, program):
        self.admin_port = plane.ports.take()
        config = plane.path("topofit-%s.yaml" % server.name)
        with open(config, "w") as file:
            file.write(server.config)
        begin = time.monotonic()
        self.service = controlplane.Service("topofit-" + server.name, [
            program, "serve", "--config", config, "--kubeconfig", server.kubeconfig,
            "--listen", "127.0.0.1:%d" % plane.ports.take(),
            "--admin-listen", "127.0.0.1:%d" % self.admin_port], plane.directory)
        self.pid = self.service.process.pid
        self.plane = plane
        plane.services.append(self.service)
        while not self.is_ready():
            if time.monotonic() - begin > READY_IN_S or not self.service.is_running():
                raise RuntimeError("topofit is not ready:\n" + self.service.log_tail())
            time.sleep(POLL_EVERY_S)
        self.ready_s = time.monotonic() - begin
        self.cpu_s = processes.cpu_s(self.pid)

    def is_ready(self):
        """Asked with as little work as possible: it takes CPU from the one that is timed."""
        try:
            with socket.create_connection(("127.0.0.1", self.admin_port), 10) as connection:
                connection.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                return connection.recv(64).startswith(b"HTTP/1.1 200")
        except OSError:
            return False

    def lists_done(self):
        """The fewest complete lists of a kind; the stub has no quotas."""
        text = controlplane.http_get(self.admin_port, "/metrics")[1]
        return min(int(float(line.rsplit(" ", 1)[1])) for line in text.splitlines()
                   if line.startswith(('topofit_watch_lists_total{kind="node"}',
                                       'topofit_watch_lists_total{kind="pod"}')))

    def memory(self):
        return {"resident_kib": processes.resident_kib(self.pid),
                "peak_kib": processes.resident_kib(self.pid, peak=True)}

    def stop(self):
        self.plane.services.remove(self.service)
        self.service.stop()


# --- measuring -------------------------------------------------------------------------------

def time_starts(plane, server, arguments):
    """A round of each in turns; the first is not counted."""
    rounds = []
    for number in range(arguments.rounds + 1):
        curl_s, curl_cpu_s = server.curl()
        daemon = Daemon(plane, server, arguments.topofit)
        one = {"server": server.name, "curl_s": curl_s, "curl_cpu_s": curl_cpu_s,
               "ready_s": daemon.ready_s, "cpu_s": daemon.cpu_s, "memory": daemon.memory()}
        daemon.stop()
        if number > 0:
            rounds.append(one)
            print("%-4s curl %.3f s, ready after %.3f s (%.2fx)" % (
                server.name, curl_s, daemon.ready_s, daemon.ready_s / curl_s), flush=True)
    return rounds


def relist(plane, server, stub, arguments):
    """Memory after the first sync and after each relist."""
    daemon = Daemon(plane, server, arguments.topofit)
    time.sleep(SETTLED_IN_S)
    found = [daemon.memory()]
    for number in range(arguments.relists):
        deadline = time.monotonic() + READY_IN_S
        while daemon.lists_done() <= number:
            time.sleep(0.01)
        stub.lose_positions()
        while daemon.lists_done() < number + 2:
            if time.monotonic() > deadline:
                raise RuntimeError("no relist %d:\n%s" % (number, daemon.service.log_tail()))
            time.sleep(0.02)
        time.sleep(SETTLED_IN_S)
        found.append(daemon.memory())
    daemon.stop()
    return found


# --- telling ---------------------------------------------------------------------------------

def middle(rounds, what):
    return processes.median([what(one) for one in rounds])


def start_row(name, rounds):
    return [name, str(len(rounds)), "%.3f" % middle(rounds, lambda one: one["curl_s"]),
            "%.3f" % middle(rounds, lambda one: one["curl_cpu_s"]),
            "%.3f" % middle(rounds, lambda one: one["ready_s"]),
            "%.3f" % middle(rounds, lambda one: one["cpu_s"]),
            "%.2f" % middle(rounds, lambda one: one["ready_s"] / one["curl_s"]),
            "%.1f" % (middle(rounds, lambda one: one["memory"]["resident_kib"]) / 1024),
            "%.1f" % (middle(rounds, lambda one: one["memory"]["peak_kib"]) / 1024)]


def tell(figures):
    arguments = figures["arguments"]
    print("\n%d nodes of %d GPUs, %d pods, %s records; lists of %.1f and %.1f MiB" % (
        arguments["nodes"], GPUS, arguments["pods"], arguments["records"], figures["list_bytes"]["nodes"] / 2 ** 20,
        figures["list_bytes"]["pods"] / 2 ** 20))
    processes.print_table(
        ["server", "runs", "curl s", "its CPU", "ready s", "its CPU", "ratio", "MiB", "peak MiB"],
        [start_row(name, rounds) for name, rounds in figures["starts"].items()])
    print("\nmemory, MiB, with the stub")
    memory = figures["relists"]
    shown = sorted({0, 1, len(memory) // 2, len(memory) - 1})
    processes.print_table(["after", "resident", "peak"], [
        ["relist %d" % number if number else "first sync",
         "%.1f" % (memory[number]["resident_kib"] / 1024),
         "%.1f" % (memory[number]["peak_kib"] / 1024)] for number in shown])
    print("\ntarget: ready/curl of the real server at most %.1f; measured %.2f" % (
        TARGET_RATIO, middle(figures["starts"]["real"],
                             lambda one: one["ready_s"] / one["curl_s"])))


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000, help="of 8 GPUs (default: 5000)")
    parser.add_argument("--pods", type=int, default=20000,
                        help="of 1 GPU, bound; 8 a node at most (default: 20000)")
    parser.add_argument("--records", choices=sorted(RECORDS), default="native",
                        help="of nodes and pods (default: native)")
    parser.add_argument("--rounds", type=int, default=7, help="starts at each server (default: 7)")
    parser.add_argument("--relists", type=int, default=20, help="default: 20")
    parser.add_argument("--topofit", default=os.environ.get("TOPOFIT") or
                        os.path.join(HERE, "..", "..", "build", "topofit"),
                        help="the program (default: $TOPOFIT or build/topofit)")
    parser.add_argument("--json", metavar="FILE", help="also write all figures to a file")
    arguments = parser.parse_args()
    if not 0 < arguments.pods <= arguments.nodes * GPUS:
        parser.error("--pods: from 1 to %d a node" % GPUS)
    arguments.topofit = os.path.realpath(arguments.topofit)
    return arguments


def measure(plane, arguments):
    fill(plane.admin, arguments)
    real = Server("real", "https://127.0.0.1:%d" % plane.api_port,
                  ["--cacert", plane.authority.path("ca.crt"), "-H",
                   "Authorization: Bearer " + plane.users.tokens["topofit"]],
                  plane.kubeconfig("topofit"), "")
    lists = {path.rpartition("/")[2]: real.fetch(path) for path in LISTS}
    stub_port = plane.ports.take()
    stub_config = plane.path("stub.kubeconfig")
    with open(stub_config, "w") as file:
        file.write(STUB_KUBECONFIG % stub_port)
    silent = Server("stub", "http://127.0.0.1:%d" % stub_port, [], stub_config, ALONE)
    figures = {"arguments": vars(arguments),
               "list_bytes": {name: len(body) for name, body in lists.items()},
               "starts": {"real": time_starts(plane, real, arguments)}}
    stub = StubApi(stub_port, lists)
    figures["starts"]["stub"] = time_starts(plane, silent, arguments)
    figures["relists"] = relist(plane, silent, stub, arguments)
    stub.stop()
    return figures


def main():
    arguments = read_arguments()
    processes.end_orderly()
    plane = controlplane.ControlPlane(processes.kube_bin_dir())
    try:
        figures = measure(plane, arguments)
    finally:
        plane.stop()
    tell(figures)
    processes.write_json(arguments.json, figures)


if __name__ == "__main__":
    main()
