# SPDX-License-Identifier: Apache-2.0
"""What the tests have in common: the daemon behind a link, and somebody who calls its extender."""

import contextlib
import http.client
import json
import os
import threading
import time

import controlplane
import pods
from cluster_case import ClusterCase
from daemon import Topofit
from kubeapi import NODES
from link import Link

BY_HAND = "by-hand"  # a schedulerName that nobody has


class NetPlane(controlplane.ControlPlane):
    """The control plane on our side, a namespace for each of two daemons on the other."""

    BIND_ADDRESS = "0.0.0.0"  # of our namespace, which nobody else is in

    def __init__(self, bin_dir):
        self.links = [Link(1), Link(2)]
        self.HOST = self.links[0].our_address
        self.EXTENDER_HOST = self.links[0].their_address
        super().__init__(bin_dir)

    def kubeconfig_by(self, port):
        """For a daemon that finds the API server behind another port."""
        with open(self.kubeconfig("topofit")) as file:
            text = file.read()
        path = self.path("port-%d.kubeconfig" % port)
        with open(path, "w") as file:
            file.write(text.replace(":%d\n" % self.api_port, ":%d\n" % port))
        return path

    def stop(self):
        super().stop()
        for link in self.links:
            link.stop()


class NetCase(ClusterCase):
    """As in test/e2e, with a link between daemon and API server that can be disturbed."""

    EXTENDER = ""  # lines of this group of the configuration
    CONFIG = ""    # other groups

    @classmethod
    def setUpClass(cls):
        controlplane.shared(NetPlane)
        super().setUpClass()

    @classmethod
    def new_daemon(cls):
        cls.link = cls.plane.links[0]
        return cls.daemon_behind(cls.link, "topofit", cls.plane.kubeconfig("topofit"))

    @classmethod
    def daemon_behind(cls, link, name, kubeconfig):
        config = "extender:\n  allowUnauthenticated: true\n" + cls.EXTENDER + cls.CONFIG
        return Topofit(cls.plane, kubeconfig, config, name, link.their_address, link.enter)

    def setUp(self):
        super().setUp()
        self.addCleanup(self.link.heal)

    # --- what the daemon says ---------------------------------------------------------------

    def metric(self, text, daemon=None):
        """The value of one line of /metrics, named with its labels."""
        for line in (daemon or self.topofit).get("/metrics")[1].splitlines():
            if line.startswith(text + " "):
                return float(line.rsplit(" ", 1)[1])
        raise KeyError(text)

    def wait_metric(self, text, is_good, timeout_s, daemon=None):
        """Seconds until the value is_good."""
        return self.wait_for(text, lambda: is_good(self.metric(text, daemon)), timeout_s)

    @staticmethod
    def wait_for(what, is_true, timeout_s):
        """Seconds until is_true()."""
        began = time.monotonic()
        while not is_true():
            if time.monotonic() - began > timeout_s:
                raise AssertionError("%s: not within %d s" % (what, timeout_s))
            time.sleep(0.05)
        return time.monotonic() - began

    def log_lines(self, text, since=0):
        """Lines of the daemon's log with this text, behind the first `since` bytes."""
        with open(self.topofit.service.log_path, errors="replace") as file:
            file.seek(since)
            return [line for line in file if text in line]

    def log_size(self):
        return os.path.getsize(self.topofit.service.log_path)

    @staticmethod
    def background(do):
        thread = threading.Thread(target=do, daemon=True)
        thread.start()
        return thread

    # --- calls of the extender, without a kube-scheduler ------------------------------------

    def call(self, verb, body, daemon=None, timeout_s=30, source=None):
        """(decoded answer, seconds) of one call on a connection of its own."""
        connection = http.client.HTTPConnection(
            (daemon or self.topofit).host, self.plane.extender_port, timeout=timeout_s,
            source_address=source and (source, 0))
        began = time.monotonic()
        with contextlib.closing(connection):
            connection.request("POST", "/" + verb, json.dumps(body),
                               {"Content-Type": "application/json"})
            answer = json.loads(connection.getresponse().read())
        return answer, time.monotonic() - began

    def filter(self, pod, **options):
        names = [node["metadata"]["name"] for node in self.nodes]
        return self.call("filter", {"Pod": pod, "Nodes": None, "NodeNames": names}, **options)

    def bind(self, name, node="node", **options):
        """(error text, seconds)"""
        answer, took_s = self.call("bind", {
            "PodName": name, "PodNamespace": "default", "Node": node,
            "PodUID": self.states()[name]["metadata"]["uid"]}, **options)
        return answer["Error"], took_s

    def bind_when_leading(self, name, daemon, timeout_s):
        """The error text. As kube-scheduler does, asked again of who lost its lease for want of CPU."""
        end = time.monotonic() + timeout_s
        while True:
            error, _ = self.bind(name, daemon=daemon)
            if "not the leader" not in error or time.monotonic() > end:
                return error
            time.sleep(0.1)

    def create_by_hand(self, *names, daemons=None, gpus=1):
        """Pods that kube-scheduler leaves to us; until the daemons know them."""
        self.create(*[pods.pod(name, pods.limits(gpus), schedulerName=BY_HAND) for name in names])
        for name in names:
            for daemon in daemons or [self.topofit]:
                daemon.wait(name + " is known", lambda: daemon.pod(name) != {}, lambda: True)

    def node_annotation(self, node, key, value):
        self.api.merge("%s/%s" % (NODES, node), {"metadata": {"annotations": {key: value}}})

    # --- how it has to end ------------------------------------------------------------------

    def assert_in_order(self, timeout_s=30):
        """Nothing twice, nothing in doubt, the ledger is the records, memory is the server's."""
        self.assert_rightly_booked(self.states())
        for state in ("reserved", "unknown"):
            self.wait_metric('topofit_holdings{state="%s"}' % state, lambda n: n == 0, timeout_s)
        self.wait_ledger_equals_records()
        self.assert_no_difference()

    def assert_no_difference(self, daemon=None):
        # It is compared once the watches are open again, after waits that grow with each failure.
        for _ in range(3):
            status, report = (daemon or self.topofit).get("/debug/cache/diff", timeout_s=40)
            if status == 200:
                break
        self.assertEqual(status, 200, report)
        self.assertEqual(report["differences"], [])
        self.assertEqual(report["pods"], len(self.states()))
