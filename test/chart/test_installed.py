# SPDX-License-Identifier: Apache-2.0
"""
The rendered chart in a real cluster: its objects are accepted as they are, and with the rights they
give, and no others, kube-scheduler and topofit do their work.

RENDERED is the chart's output for the release "fit" in the namespace "gpu", with several replicas;
KUBE_BIN_DIR has the control plane; TOPOFIT, when set, is the program. There are two places, as of two
pods, with a kube-scheduler each. The one in the first place leads.
"""

import json
import os
import pathlib
import ssl
import sys
import time
import types
import unittest
import urllib.request

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "e2e"))

import controlplane  # noqa: E402
import pods  # noqa: E402
import wirings  # noqa: E402
from daemon import Topofit  # noqa: E402
from kubeapi import EVENTS, NODES, PODS, ApiError  # noqa: E402

NAMESPACE = "gpu"
GROUPS = {
    "ServiceAccount": "/api/v1", "ConfigMap": "/api/v1", "Deployment": "/apis/apps/v1",
    "PodDisruptionBudget": "/apis/policy/v1", **{
        kind: "/apis/rbac.authorization.k8s.io/v1"
        for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")},
}
LEASES = "/apis/coordination.k8s.io/v1/namespaces/%s/leases"
SCHEDULER = "topofit-scheduler"
SHORT_TIMES = {"leaseDuration": "1500ms", "renewDeadline": "1s", "retryPeriod": "200ms"}
WAKE = "topofit.io/capacity-freed"

needs_topofit = unittest.skipUnless(os.environ.get("TOPOFIT"), "TOPOFIT is not set")


def place_of(item):
    space = item["metadata"].get("namespace")
    return "%s/%s%ss" % (GROUPS[item["kind"]], "namespaces/%s/" % space if space else "",
                         item["kind"].lower())


def read_rendered():
    with open(os.environ["RENDERED"], encoding="utf-8") as file:
        return list(yaml.safe_load_all(file))


def config_of(items, suffix=""):
    """What is in the file of topofit, or of "-scheduler"."""
    for item in items:
        if item["kind"] == "ConfigMap" and item["metadata"]["name"] == "fit-topofit" + suffix:
            return yaml.safe_load(item["data"]["config.yaml"])
    raise AssertionError("no configuration")


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.items = read_rendered()
        cls.config = config_of(cls.items)
        cls.lease = cls.config["leaderElection"]
        cls.plane = controlplane.ControlPlane(os.environ["KUBE_BIN_DIR"])
        cls.addClassCleanup(cls.plane.stop)
        cls.api = cls.plane.admin
        for name in {NAMESPACE, cls.lease["namespace"]}:
            cls.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
        for item in cls.items:
            cls.api.create(place_of(item) + "?fieldValidation=Strict", item)
        cls.pod = cls.item("Deployment")["spec"]["template"]["spec"]
        cls.kubeconfig = cls.account_kubeconfig(cls.pod["serviceAccountName"])
        cls.own_kubeconfig = cls.account_kubeconfig(cls.make_own_account())
        cls.account = cls.account_api()
        cls.addClassCleanup(cls.account.close)
        cls.places = [cls.plane, cls.second_place()]
        cls.schedulers = [cls.start_scheduler(cls.places[0])]
        cls.wait_for("a scheduler that leads", lambda: cls.lease_holder(NAMESPACE, SCHEDULER))
        cls.schedulers.append(cls.start_scheduler(cls.places[1]))

    @classmethod
    def item(cls, kind):
        return next(item for item in cls.items if item["kind"] == kind)

    @classmethod
    def make_own_account(cls):
        """
        An account with the rights that the chart itself writes down. That of the pod has those of
        system:kube-scheduler too, which would hide that topofit lacks one.
        """
        cls.api.create(place_of(cls.item("ServiceAccount")), {"metadata": {"name": "own"}})
        for item in cls.items:
            if item["kind"].endswith("Binding") and "system:" not in item["roleRef"]["name"]:
                cls.api.create(place_of(item), dict(
                    item, metadata=dict(item["metadata"], name=item["metadata"]["name"] + ":own"),
                    subjects=[dict(item["subjects"][0], name="own")]))
        return "own"

    @classmethod
    def account_kubeconfig(cls, account):
        """A kubeconfig with what a pod would find mounted: a token of its service account."""
        token = cls.api.create("%s/%s/token" % (place_of(cls.item("ServiceAccount")), account),
                               {"spec": {}})["status"]["token"]
        return cls.plane.write_kubeconfig(
            account + ".kubeconfig", account,
            "certificate-authority: " + cls.plane.authority.path("ca.crt"), ["token: " + token])

    @classmethod
    def second_place(cls):
        """Another pod has the same ports in a network of its own; here it has others."""
        return types.SimpleNamespace(
            path=lambda name: cls.plane.path("second-" + name), directory=cls.plane.directory,
            ports=cls.plane.ports, services=cls.plane.services,
            extender_port=cls.plane.ports.take(), scheduler_port=cls.plane.ports.take())

    @classmethod
    def start_scheduler(cls, place):
        """The chart's scheduler, told only where the API server and the extender's port are."""
        config = config_of(cls.items, "-scheduler")
        config["clientConnection"] = {"kubeconfig": cls.kubeconfig}
        config["extenders"][0]["urlPrefix"] = "http://127.0.0.1:%d" % place.extender_port
        path = place.path("chart-scheduler.yaml")
        with open(path, "w", encoding="utf-8") as file:
            yaml.safe_dump(config, file)
        port = place.scheduler_port
        service = cls.plane.run("kube-scheduler", [
            *cls.container("kube-scheduler")["command"][1:],
            "--config=" + path, "--bind-address=127.0.0.1", "--secure-port=%d" % port,
            "--authentication-kubeconfig=" + cls.kubeconfig,
            "--authorization-kubeconfig=" + cls.kubeconfig])
        tls = ssl._create_unverified_context()
        for probe in cls.probe_paths("kube-scheduler"):
            service.wait_until(lambda path=probe: controlplane.http_get(port, path, tls)[0] == 200)
        return service

    @classmethod
    def container(cls, name):
        return next(one for one in cls.pod["containers"] if one["name"] == name)

    @classmethod
    def probe_paths(cls, name):
        container = cls.container(name)
        return [container[kind]["httpGet"]["path"] for kind in ("livenessProbe", "readinessProbe")]

    def start_topofit(self, place):
        """The chart's configuration and rights; only the times are shorter."""
        config = dict(self.config, leaderElection=dict(self.lease, **SHORT_TIMES))
        daemon = Topofit(place, self.own_kubeconfig, yaml.safe_dump(config))
        self.running.append(daemon)
        self.addCleanup(self.stop_topofit, daemon)
        return daemon

    def stop_topofit(self, daemon):
        if daemon in self.running:
            self.running.remove(daemon)
            daemon.stop()

    def setUp(self):
        self.running = []

    @classmethod
    def wait_for(cls, what, read, timeout_s=30):
        """What read() returns, once that is something."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            found = read()
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError("%s: not within %d s\n%s" % (what, timeout_s,
                                                          cls.plane.services[-1].log_tail()))

    def wait_bound(self, name):
        def bound():
            state = self.api.get("%s/%s" % (PODS, name))
            return state if pods.is_bound(state) else None
        return self.wait_for(name + " is bound", bound)

    @classmethod
    def lease_holder(cls, namespace, name):
        try:
            lease = cls.api.get(LEASES % namespace + "/" + name)
        except ApiError as error:
            if error.status == 404:
                return ""
            raise
        return lease["spec"].get("holderIdentity", "")

    def holder(self):
        return self.lease_holder(self.lease["namespace"], self.lease["name"])

    def assert_nothing_forbidden(self):
        for name in {service.log_path for service in self.schedulers} | {
                self.plane.path("topofit.log")}:
            if os.path.exists(name):
                with open(name, encoding="utf-8") as file:
                    self.assertEqual([line for line in file
                                      if "forbidden" in line.lower() or "403" in line.split()], [])

    @classmethod
    def account_api(cls):
        with open(cls.kubeconfig, encoding="utf-8") as file:
            token = yaml.safe_load(file)["users"][0]["user"]["token"]
        return controlplane.KubeApi(cls.plane.api_port, cls.plane.authority.path("ca.crt"), token)

    def assert_refused(self, ask):
        with self.assertRaises(ApiError) as refused:
            ask()
        self.assertEqual(refused.exception.status, 403)

    # --- kube-scheduler ---

    def test_scheduler_places_a_pod_without_gpus(self):
        self.api.create(NODES, wirings.bare_node("plain", 0))
        self.api.create(PODS, pods.pod("cpu-only", {"cpu": "1"}, node="plain",
                                       schedulerName=SCHEDULER))
        self.wait_bound("cpu-only")
        self.assert_nothing_forbidden()

    # --- what the account may not ---

    def test_account_may_not_change_pods(self):
        self.api.create(PODS, pods.pod("kept", {"cpu": "1"}, schedulerName="nobody"))
        self.assert_refused(lambda: self.account.merge(
            PODS + "/kept", {"metadata": {"annotations": {"a": "b"}}}))

    def test_account_may_not_touch_a_lease_of_others(self):
        for namespace in {NAMESPACE, self.lease["namespace"]}:
            self.api.create(LEASES % namespace, {"metadata": {"name": "of-others"}})
            path = LEASES % namespace + "/of-others"
            lease = self.api.get(path)
            self.assert_refused(lambda path=path: self.account.get(path))
            self.assert_refused(lambda path=path, lease=lease: self.account.request(
                "PUT", path, lease))

    def test_account_may_change_nodes_only_to_wake_pods(self):
        self.api.create(NODES, wirings.bare_node("untouched", 0))

        def patch():
            self.account.merge(NODES + "/untouched", {"metadata": {"annotations": {"a": "b"}}})
        if self.config.get("kube", {}).get("wakePods", True):
            patch()
        else:
            self.assert_refused(patch)
        self.assert_refused(lambda: self.account.delete(NODES + "/untouched"))

    # --- topofit ---

    @needs_topofit
    def test_two_are_ready_and_one_leads(self):
        daemons = [self.start_topofit(place) for place in self.places]
        for daemon in daemons:
            for path in self.probe_paths("topofit"):
                self.assertEqual(daemon.get(path)[0], 200)
        self.wait_for("a holder", self.holder)

        def leaders():
            return sum("\ntopofit_leader 1\n" in daemon.get("/metrics")[1] for daemon in daemons)
        self.wait_for("one leads", lambda: leaders() == 1)
        self.assert_nothing_forbidden()

    @needs_topofit
    def test_the_other_takes_over_when_the_leader_ends(self):
        first = self.start_topofit(self.places[0])
        led_before = self.wait_for("a holder", self.holder)
        self.start_topofit(self.places[1])
        self.stop_topofit(first)
        self.wait_for("another holder", lambda: self.holder() not in ("", led_before))
        self.assert_nothing_forbidden()

    @needs_topofit
    def test_the_one_whose_scheduler_asks_gets_the_lease_and_binds(self):
        self.start_topofit(self.places[1])
        led_before = self.wait_for("a holder", self.holder)
        self.start_topofit(self.places[0])
        self.api.create(NODES, wirings.wired_node("wired", wirings.HGX_H100))
        self.api.create(PODS, pods.pod("four", pods.limits(4), node="wired",
                                       schedulerName=SCHEDULER))
        self.assertIsNone(pods.allocation_problem(self.wait_bound("four")))
        self.assertNotIn(self.holder(), ("", led_before))
        self.assert_nothing_forbidden()

    def events_about(self, name):
        return {event["reason"] for event in self.api.list(EVENTS)
                if event["regarding"].get("name") == name and
                event.get("reportingController") == "topofit.io/extender"}

    def call(self, verb, body):
        """As kube-scheduler in the first place does."""
        url = "http://127.0.0.1:%d/%s" % (self.places[0].extender_port, verb)
        request = urllib.request.Request(url, json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    @needs_topofit
    def test_events_are_written_and_waiting_pods_are_woken_if_configured(self):
        daemon = self.start_topofit(self.places[0])
        self.api.create(NODES, wirings.wired_node("full", wirings.HGX_H100))
        self.api.create(PODS, pods.pod("holds-all", pods.limits(8), node="full",
                                       schedulerName="nobody"))
        self.wait_for("a holder", self.holder)
        self.bind_by_hand("holds-all", "full")
        waits = self.api.create(PODS, pods.pod("waits", pods.limits(8), schedulerName="nobody"))
        self.wait_for("topofit knows the pod", lambda: daemon.pod("waits"))
        self.assertFalse(self.call("filter", {"Pod": waits, "NodeNames": ["full"]})["NodeNames"])
        self.api.delete(PODS + "/holds-all")

        def woken():
            return WAKE in self.api.get(NODES + "/full")["metadata"].get("annotations", {})
        if self.config.get("kube", {}).get("wakePods", True):
            self.wait_for("the node is changed", woken)
        if self.config.get("events", {}).get("enabled", True):
            self.wait_for("an event of the binding",
                          lambda: "GPUsAssigned" in self.events_about("holds-all"))
            self.wait_for("an event of the refusal",
                          lambda: "NoNodeFits" in self.events_about("waits"))
        else:
            self.assertEqual(self.events_about("holds-all") | self.events_about("waits"), set())
        self.assert_nothing_forbidden()

    def bind_by_hand(self, name, node):
        """As kube-scheduler does, again and again until topofit leads."""
        uid = self.api.get(PODS + "/" + name)["metadata"]["uid"]
        body = {"PodName": name, "PodNamespace": "default", "PodUID": uid, "Node": node}
        self.wait_for("bound by hand", lambda: not self.call("bind", body)["Error"])


unittest.main(verbosity=2)
