# SPDX-License-Identifier: Apache-2.0
"""The program under test: `topofit serve` as a process, and what its admin port tells."""

import http.client
import json
import os
import time

import controlplane


# A daemon that was killed leaves its lease behind: its successor waits for so long.
CONFIG = """\
leaderElection:
  leaseDuration: 1500ms
  renewDeadline: 1s
  retryPeriod: 200ms
"""


class Topofit:
    """
    One daemon at a time, always on the ports that the scheduler was told.

    host      where it listens
    launcher  the words in front of its command, say to run it in another network namespace
    """

    def __init__(self, plane, kubeconfig=None, config=CONFIG, name="topofit",
                 host=controlplane.LOOPBACK, launcher=()):
        self.name = name
        self.host = host
        self.launcher = list(launcher)
        self.config = plane.path(name + ".yaml")
        with open(self.config, "w") as file:
            file.write(config)
        self.plane = plane
        self.kubeconfig = kubeconfig or plane.kubeconfig("topofit")
        self.admin_port = plane.ports.take()
        self.service = None
        self.start()

    def start(self):
        """Start it and wait until it says that it is ready."""
        self.launch("/readyz")

    def launch(self, good_path):
        """Start it and wait until it answers 200 to this."""
        self.service = controlplane.Service(self.name, self.launcher + [
            os.environ["TOPOFIT"], "serve", "--config", self.config,
            "--kubeconfig", self.kubeconfig,
            "--listen", "%s:%d" % (self.host, self.plane.extender_port),
            "--admin-listen", "%s:%d" % (self.host, self.admin_port)], self.plane.directory)
        self.plane.services.append(self.service)
        self.service.wait_until(lambda: self.ask(good_path)[0] == 200)

    def kill9(self):
        """As a crash does: no chance to write anything down."""
        self.service.kill()
        self.plane.services.remove(self.service)
        self.service = None

    def start_if_down(self):
        if self.service is None or not self.service.is_running():
            self.start()

    def restart_after_kill9(self):
        self.kill9()
        self.start()

    def stop(self):
        """As systemd and kubelet do. A daemon that ends badly is an error."""
        if self.service is None:
            return
        self.check_running()
        self.plane.services.remove(self.service)
        status = self.service.stop()
        if status != 0:
            raise AssertionError("topofit ended with %d:\n%s" % (status,
                                                                self.service.log_tail(40)))

    def check_running(self):
        if self.service and not self.service.is_running():
            raise AssertionError("topofit ended by itself with %d:\n%s" % (
                self.service.process.returncode, self.service.log_tail(40)))

    def ask(self, path):
        """(status, text) of the admin port."""
        return controlplane.http_get(self.admin_port, path, host=self.host)

    def get(self, path):
        """(status, decoded answer) of the admin port."""
        status, body = self.ask(path)
        return status, json.loads(body) if body[:1] in "{[" else body

    def pod(self, name, namespace="default"):
        """The decision record of one pod, or {} while there is none."""
        status, answer = self.get("/debug/pods/%s/%s" % (namespace, name))
        return answer if status == 200 else {}

    def node_names(self):
        return {node["name"] for node in self.get("/debug/nodes")[1]["items"]}

    def uses(self):
        """{device: (memory MiB, cores, tenants)} of the devices in use, as the ledger has it."""
        found = {}
        for name in self.node_names():
            status, node = self.get("/debug/nodes/" + name)
            if status == 404:  # gone in between
                continue
            for device in node["devices"]:
                use = tuple(device[what]["used"] for what in ("memoryMiB", "cores", "slots"))
                if any(use):
                    found[device["id"]] = use
        return found

    def wait(self, what, ask, wanted, timeout_s=15):
        """Poll until ask() == wanted(); the daemon follows the API server a moment later."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                answer = ask()
            except (OSError, http.client.HTTPException) as error:
                raise AssertionError("%s: %s\n%s" % (what, error, self.service.log_tail()))
            if answer == wanted():
                return
            if time.monotonic() > deadline:
                raise AssertionError("%s: not within %d s\nwanted %.800s\nthe daemon has %.800s"
                                     % (what, timeout_s, wanted(), answer))
            time.sleep(0.02)
