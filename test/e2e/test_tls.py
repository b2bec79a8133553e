# SPDX-License-Identifier: Apache-2.0
"""kube-scheduler calls over TLS, and the daemon answers only who has the right certificate."""

import json

import controlplane
import pods
import wirings
from cluster_case import ClusterCase
from daemon import CONFIG, Topofit
from kubeapi import condition


class ClientCertificates(ClusterCase):
    """Schedulers of its own beside the shared one, which sends nobody to this daemon."""

    @classmethod
    def setUpClass(cls):
        cls.plane = controlplane.shared()
        cls.api = cls.plane.admin
        authority = cls.plane.authority
        authority.sign("extender", "/CN=extender", "serverAuth", "IP:127.0.0.1")
        authority.sign("scheduler", "/CN=scheduler", "clientAuth")
        files = {"tlsCertFile": authority.path("extender.crt"),
                 "tlsKeyFile": authority.path("extender.key"),
                 "clientCaFile": authority.path("ca.crt")}
        cls.topofit = Topofit(cls.plane, config=CONFIG + "extender: %s\n" % json.dumps(files))
        cls.addClassCleanup(lambda: cls.topofit.stop())
        cls.start_scheduler("known", {"certFile": authority.path("scheduler.crt"),
                                      "keyFile": authority.path("scheduler.key")})
        cls.start_scheduler("unknown", {})

    @classmethod
    def start_scheduler(cls, name, certificate):
        """The configuration that we ship, with TLS as docs/howto/secure-the-ports.md tells.

        JSON is YAML.
        """
        tls = {"caFile": cls.plane.authority.path("ca.crt"), **certificate}
        text = cls.plane.scheduler_config().replace(
            "urlPrefix: http:", "enableHTTPS: true\n    tlsConfig: %s\n    urlPrefix: https:"
            % json.dumps(tls)).replace("schedulerName: default-scheduler", "schedulerName: " + name)
        path = cls.plane.path(name + "-scheduler.yaml")
        with open(path, "w") as file:
            file.write(text)
        service = cls.plane.run("kube-scheduler", [
            "--config=" + path, "--secure-port=0", "--authentication-tolerate-lookup-failure=true"])
        cls.addClassCleanup(lambda: (cls.plane.services.remove(service), service.kill()))

    def gpu_pod(self, name, scheduler):
        return pods.pod(name, pods.limits(2), node="tls", schedulerName=scheduler)

    def test_a_scheduler_with_a_certificate_places_pods(self):
        self.add_nodes(wirings.wired_node("tls", wirings.HGX_H100))
        state = self.place(self.gpu_pod("served", "known"))
        self.assertIsNone(pods.allocation_problem(state))

    def test_a_scheduler_without_a_certificate_is_turned_away_and_says_why(self):
        self.add_nodes(wirings.wired_node("tls", wirings.HGX_H100))
        self.create(self.gpu_pod("refused", "unknown"))
        # It may be that the end of the connection overtakes the reason; the next attempt shows it.
        self.watch.wait("the reason is told", lambda states: "certificate required" in condition(
            states["refused"]).get("message", ""))
        self.assertFalse(pods.is_bound(self.states()["refused"]))
