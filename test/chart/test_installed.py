# SPDX-License-Identifier: Apache-2.0
"""
The rendered chart in a real cluster: its objects are accepted as they are, and with the rights they
give, and no others, kube-scheduler and topofit do their work.

RENDERED is the chart's output for the namespace "gpu"; KUBE_BIN_DIR has the control plane; TOPOFIT,
when set, is the program.
"""

import os
import pathlib
import ssl
import sys
import time
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "e2e"))

import controlplane  # noqa: E402
import pods  # noqa: E402
import wirings  # noqa: E402
from daemon import Topofit  # noqa: E402
from kubeapi import NODES, PODS, ApiError  # noqa: E402

NAMESPACE = "gpu"
RBAC = "/apis/rbac.authorization.k8s.io/v1/"
PLACES = {
    "ServiceAccount": "/api/v1/namespaces/gpu/serviceaccounts",
    "ConfigMap": "/api/v1/namespaces/gpu/configmaps",
    "ClusterRole": RBAC + "clusterroles",
    "ClusterRoleBinding": RBAC + "clusterrolebindings",
    "Role": RBAC + "namespaces/gpu/roles",
    "RoleBinding": RBAC + "namespaces/gpu/rolebindings",
    "Deployment": "/apis/apps/v1/namespaces/gpu/deployments",
}
SCHEDULER = "topofit-scheduler"


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = controlplane.ControlPlane(os.environ["KUBE_BIN_DIR"])
        cls.addClassCleanup(cls.plane.stop)
        cls.api = cls.plane.admin
        cls.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        with open(os.environ["RENDERED"], encoding="utf-8") as file:
            cls.items = list(yaml.safe_load_all(file))
        for item in cls.items:
            cls.api.create(PLACES[item["kind"]] + "?fieldValidation=Strict", item)
        cls.kubeconfig = cls.account_kubeconfig()
        cls.start_scheduler()

    @classmethod
    def item(cls, kind):
        return next(item for item in cls.items if item["kind"] == kind)

    @classmethod
    def account_kubeconfig(cls):
        """A kubeconfig with what the pod would find mounted: a token of its service account."""
        account = cls.item("Deployment")["spec"]["template"]["spec"]["serviceAccountName"]
        path = "%s/%s/token" % (PLACES["ServiceAccount"], account)
        token = cls.api.create(path, {"spec": {}})["status"]["token"]
        return cls.plane.write_kubeconfig(
            "account.kubeconfig", account,
            "certificate-authority: " + cls.plane.authority.path("ca.crt"), ["token: " + token])

    @classmethod
    def start_scheduler(cls):
        """The chart's scheduler, told only where the API server and the extender's port are."""
        config = yaml.safe_load(cls.item("ConfigMap")["data"]["config.yaml"])
        config["clientConnection"] = {"kubeconfig": cls.kubeconfig}
        config["extenders"][0]["urlPrefix"] = "http://127.0.0.1:%d" % cls.plane.extender_port
        path = cls.plane.path("chart-scheduler.yaml")
        with open(path, "w", encoding="utf-8") as file:
            yaml.safe_dump(config, file)
        port = cls.plane.scheduler_port
        cls.scheduler = cls.plane.run("kube-scheduler", [
            *cls.container("kube-scheduler")["command"][1:],
            "--config=" + path, "--bind-address=127.0.0.1", "--secure-port=%d" % port,
            "--authentication-kubeconfig=" + cls.kubeconfig,
            "--authorization-kubeconfig=" + cls.kubeconfig])
        tls = ssl._create_unverified_context()
        for probe in cls.probe_paths("kube-scheduler"):
            cls.scheduler.wait_until(
                lambda path=probe: controlplane.http_get(port, path, tls)[0] == 200)

    @classmethod
    def container(cls, name):
        containers = cls.item("Deployment")["spec"]["template"]["spec"]["containers"]
        return next(one for one in containers if one["name"] == name)

    @classmethod
    def probe_paths(cls, name):
        container = cls.container(name)
        return [container[kind]["httpGet"]["path"] for kind in ("livenessProbe", "readinessProbe")]

    def wait_for(self, what, read):
        """What read() returns, once that is something."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = read()
            if found:
                return found
            time.sleep(0.05)
        self.fail("%s: not within 30 s\n%s" % (what, self.scheduler.log_tail()))

    def wait_bound(self, name):
        def bound():
            state = self.api.get("%s/%s" % (PODS, name))
            return state if pods.is_bound(state) else None
        return self.wait_for(name + " is bound", bound)

    def assert_nothing_forbidden(self):
        with open(self.scheduler.log_path, encoding="utf-8") as file:
            self.assertEqual([line for line in file if "forbidden" in line.lower()], [])

    def test_scheduler_places_a_pod_without_gpus(self):
        self.api.create(NODES, wirings.bare_node("plain", 0))
        self.api.create(PODS, pods.pod("cpu-only", {"cpu": "1"}, node="plain",
                                       schedulerName=SCHEDULER))
        self.wait_bound("cpu-only")
        self.assert_nothing_forbidden()

    def test_scheduler_holds_its_lease(self):
        path = "/apis/coordination.k8s.io/v1/namespaces/gpu/leases"
        leases = self.wait_for("a lease", lambda: self.api.list(path))
        self.assertEqual([lease["metadata"]["name"] for lease in leases], [SCHEDULER])

    def test_account_may_not_change_pods(self):
        with open(self.kubeconfig, encoding="utf-8") as file:
            token = yaml.safe_load(file)["users"][0]["user"]["token"]
        account = controlplane.KubeApi(self.plane.api_port, self.plane.authority.path("ca.crt"),
                                       token)
        self.api.create(PODS, pods.pod("kept", {"cpu": "1"}, schedulerName="nobody"))
        with self.assertRaises(ApiError) as refused:
            account.merge(PODS + "/kept", {"metadata": {"annotations": {"a": "b"}}})
        self.assertEqual(refused.exception.status, 403)

    @unittest.skipUnless(os.environ.get("TOPOFIT"), "TOPOFIT is not set")
    def test_topofit_gives_a_pod_its_gpus(self):
        daemon = Topofit(self.plane, self.kubeconfig)
        for path in self.probe_paths("topofit"):
            self.assertEqual(daemon.get(path)[0], 200)
        self.api.create(NODES, wirings.wired_node("wired", wirings.HGX_H100))
        self.api.create(PODS, pods.pod("four", pods.limits(4), node="wired",
                                       schedulerName=SCHEDULER))
        state = self.wait_bound("four")
        self.assertIsNone(pods.allocation_problem(state))
        self.assert_nothing_forbidden()
        daemon.stop()


unittest.main(verbosity=2)
