# SPDX-License-Identifier: Apache-2.0
"""The API server asks the daemon about pods as they are created, over TLS."""

import json
import time

import controlplane
import pods
import wirings
from cluster_case import ClusterCase
from daemon import CONFIG, Topofit
from kubeapi import NAMESPACE, PODS, ApiError

SCHEDULER = "webhook-scheduler"
HOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
NAME = "topofit-e2e"
VISIBLE = "NVIDIA_VISIBLE_DEVICES"
QUOTAS = "/api/v1/namespaces/%s/resourcequotas" % NAMESPACE
DRY_RUN = PODS + "?dryRun=All"


def hook(port, authority):
    """That of the chart, but for the Service, which would need a network."""
    opt_out = [{"key": "topofit.io/webhook", "operator": "NotIn", "values": ["ignore"]}]
    return {"metadata": {"name": NAME}, "webhooks": [{
        "name": "pods.topofit.io", "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "failurePolicy": "Ignore", "timeoutSeconds": 5, "reinvocationPolicy": "IfNeeded",
        "clientConfig": {"url": "https://127.0.0.1:%d/webhook" % port,
                         "caBundle": authority.base64("ca.crt")},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
                   "operations": ["CREATE"], "scope": "Namespaced"}],
        "objectSelector": {"matchExpressions": opt_out}}]}


def variables(state, name="main"):
    """{variable: value or field} of one container."""
    for one in state["spec"].get("initContainers", []) + state["spec"]["containers"]:
        if one["name"] == name:
            return {entry["name"]: entry.get("value") or entry.get("valueFrom")
                    for entry in one.get("env", [])}
    raise KeyError(name)


class Webhook(ClusterCase):

    @classmethod
    def new_daemon(cls):
        authority = cls.plane.authority
        authority.sign("webhook", "/CN=webhook", "serverAuth", "IP:127.0.0.1")
        cls.port = cls.plane.ports.take()
        keys = {"schedulerName": SCHEDULER, "delivery": "downward-api",
                "guardVisibleDevices": "nvidia", "listen": "127.0.0.1:%d" % cls.port,
                "tlsCertFile": authority.path("webhook.crt"),
                "tlsKeyFile": authority.path("webhook.key")}
        return Topofit(cls.plane, config=CONFIG + "webhook: %s\n" % json.dumps(keys))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_scheduler()
        cls.api.create(HOOKS, hook(cls.port, cls.plane.authority))
        cls.addClassCleanup(lambda: cls.api.delete("%s/%s" % (HOOKS, NAME)))
        cls.wait_asked()

    @classmethod
    def start_scheduler(cls):
        path = cls.plane.path(SCHEDULER + ".yaml")
        with open(path, "w") as file:
            file.write(cls.plane.scheduler_config().replace(
                "schedulerName: default-scheduler", "schedulerName: " + SCHEDULER))
        service = cls.plane.run("kube-scheduler", [
            "--config=" + path, "--secure-port=0", "--authentication-tolerate-lookup-failure=true"])
        cls.addClassCleanup(cls.plane.end, service)

    @classmethod
    def wait_asked(cls):
        """The API server takes a new configuration in a moment later."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            answer = cls.api.create(DRY_RUN, pods.pod("probe", pods.limits(1)))
            if answer["spec"]["schedulerName"] == SCHEDULER:
                return
            time.sleep(0.05)
        raise AssertionError("the API server does not ask the webhook")

    def assert_refused(self, pod, status, *parts):
        with self.assertRaises(ApiError) as raised:
            self.api.create(PODS, pod)
        self.assertEqual(raised.exception.status, status)
        for part in parts:
            self.assertIn(part, str(raised.exception))

    def test_a_pod_that_names_nothing_but_memory_is_placed(self):
        self.add_nodes(wirings.wired_node("hooked", wirings.HGX_H100))
        state = self.place(pods.pod("plain", {pods.MEMORY: "16Gi"}))
        self.assertEqual(state["spec"]["schedulerName"], SCHEDULER)
        amounts = state["spec"]["containers"][0]["resources"]
        self.assertEqual(amounts["limits"], {pods.COUNT: "1", pods.MEMORY: "16384"})
        self.assertEqual(amounts["requests"], amounts["limits"])
        self.assertIsNone(pods.allocation_problem(state))
        self.assertEqual(list(pods.recorded(state)["main"].values()), [(16384, 0)])

    def test_requests_without_limits_in_an_init_container_are_enough(self):
        self.add_nodes(wirings.wired_node("hooked", wirings.HGX_H100))
        init = {"name": "init", "image": "none", "resources": {"requests": {pods.COUNT: "2"}}}
        state = self.place(pods.pod("inside", {}, initContainers=[init]))
        self.assertEqual(len(pods.devices(state, "init")), 2)

    def test_the_container_gets_its_devices_from_the_annotation_and_others_get_none(self):
        self.add_nodes(wirings.wired_node("hooked", wirings.HGX_H100))
        two = [{**pods.container("main", pods.limits(2)),
                "env": [{"name": VISIBLE, "value": "all"}]},
               {"name": "aside", "image": "none", "env": [{"name": VISIBLE, "value": "all"}]}]
        state = self.place(pods.pod("told", {}, containers=two))
        field = variables(state)[VISIBLE]["fieldRef"]["fieldPath"]
        self.assertEqual(field, "metadata.annotations['devices.topofit.io/main']")
        self.assertEqual(variables(state, "aside"), {VISIBLE: "none"})
        self.assertEqual(len(pods.devices(state)), 2)

    def test_a_pod_without_devices_keeps_its_scheduler_and_sees_none(self):
        answer = self.api.create(DRY_RUN, pods.pod("cpu", {"cpu": "1"}))
        self.assertEqual(answer["spec"]["schedulerName"], "default-scheduler")
        self.assertEqual(variables(answer), {VISIBLE: "none"})

    def test_what_can_never_be_right_is_refused_with_what_to_do(self):
        self.assert_refused(pods.pod("half", pods.limits(1, cores=101)), 400,
                            "nvidia.com/gpucores of container main", "expected", "Correct it")
        self.assert_refused(pods.pod("bound", pods.limits(1), nodeName="n1"), 400, "nodeName")
        naked = {**pods.container("naked", pods.limits(1)), "securityContext": {"privileged": True}}
        self.assert_refused(pods.pod("all", {}, containers=[naked]), 403,
                            "container naked is privileged", "topofit.io/webhook: ignore")

    def test_a_pod_beyond_the_quota_of_its_namespace_is_refused_at_once(self):
        limit = "limits." + pods.MEMORY
        self.api.create(QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {limit: "3000"}}})
        self.addCleanup(self.api.delete, QUOTAS + "/q")
        self.topofit.wait("the daemon has the limit", lambda: any(
            one["resource"] == limit for item in self.topofit.get("/debug/quota")[1]["items"]
            for one in item["limits"]), lambda: True)
        init = pods.container("init", pods.limits(1, memory=4000))
        self.assert_refused(pods.pod("much", {}, initContainers=[init]), 403, limit, "4000")
        self.api.create(DRY_RUN, pods.pod("less", pods.limits(1, memory=3000)))

    def test_a_label_keeps_the_webhook_away(self):
        pod = pods.pod("alone", pods.limits(1))
        pod["metadata"]["labels"] = {"topofit.io/webhook": "ignore"}
        answer = self.api.create(DRY_RUN, pod)
        self.assertEqual(answer["spec"]["schedulerName"], "default-scheduler")

    def test_a_pod_made_of_what_came_back_is_not_edited_again(self):
        first = self.api.create(DRY_RUN, pods.pod("again", pods.limits(1, memory="4Gi", cores=10)))
        edited = self.topofit.metric('topofit_admissions_total{result="patched"}')
        second = self.api.create(DRY_RUN, {"metadata": {"name": "again"}, "spec": first["spec"]})
        self.assertEqual(first["spec"], second["spec"])
        self.assertEqual(self.topofit.metric('topofit_admissions_total{result="patched"}'), edited)

    def test_pods_are_created_while_the_daemon_is_away(self):
        self.topofit.kill9()
        try:
            answer = self.api.create(DRY_RUN, pods.pod("meanwhile", pods.limits(1)))
        finally:
            self.topofit.start()
        self.assertEqual(answer["spec"]["schedulerName"], "default-scheduler")
