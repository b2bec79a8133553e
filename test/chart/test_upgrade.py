# SPDX-License-Identifier: Apache-2.0
"""
helm itself, in a real cluster: the certificates that it makes for the webhook outlive upgrades.

HELMS are the programs, KUBE_BIN_DIR has the control plane.
"""

import base64
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "e2e"))

import controlplane  # noqa: E402

CHART = str(pathlib.Path(__file__).parent.parent.parent / "deploy" / "chart")
SECRET = "/api/v1/namespaces/%s/secrets/fit-topofit-webhook"
HOOK = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/%s-fit-topofit-webhook"


class Upgrade(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = controlplane.ControlPlane(os.environ["KUBE_BIN_DIR"])
        cls.addClassCleanup(cls.plane.stop)
        cls.api = cls.plane.admin

    def helm(self, program, verb, namespace, *values):
        command = [program, verb, "fit", CHART, "--namespace", namespace, "--kubeconfig",
                   self.plane.kubeconfig("admin"), "--set", "webhook.enabled=true"]
        for value in values:
            command += ["--set", value]
        done = subprocess.run(command, text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def state(self, namespace):
        """What is in the Secret, after a look whether the API server is told its CA."""
        data = self.api.get(SECRET % namespace)["data"]
        told = self.api.get(HOOK % namespace)["webhooks"][0]
        self.assertEqual(base64.b64decode(told["clientConfig"]["caBundle"]),
                         base64.b64decode(data["ca.crt"]))
        return data, told["failurePolicy"]

    def test_certificates_that_helm_made_outlive_upgrades(self):
        for number, program in enumerate(os.environ["HELMS"].split()):
            namespace = "gpu-%d" % number
            with self.subTest(program):
                self.api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
                self.helm(program, "install", namespace)
                first, policy = self.state(namespace)
                self.assertEqual(policy, "Ignore")
                self.helm(program, "upgrade", namespace, "webhook.failurePolicy=Fail")
                second, policy = self.state(namespace)
                self.assertEqual(policy, "Fail")
                self.assertEqual(first, second)
                # Who wants new ones takes the Secret away.
                self.api.delete(SECRET % namespace)
                self.helm(program, "upgrade", namespace)
                self.assertNotEqual(self.state(namespace)[0], first)


if __name__ == "__main__":
    unittest.main(verbosity=2)
