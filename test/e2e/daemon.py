# SPDX-License-Identifier: Apache-2.0
"""The program under test: `topofit serve` as a process, and what its admin port tells."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import time

import controlplane


# A daemon that was killed leaves its lease behind: its successor waits for so long.
CONFIG = """\
leaderElection:
  leaseDuration: 2s
  renewDeadline: 1500ms
  retryPeriod: 200ms
"""
COMPARED_IN_S = 40  # it waits until both watches are open
# For daemons that are killed one after the other. A busy machine makes it lose the lease at times.
SHORT_LEASE = """\
leaderElection:
  leaseDuration: 1s
  renewDeadline: 900ms
  retryPeriod: 150ms
"""
STOP_IN_S = 30  # kubelet's patience, terminationGracePeriodSeconds


class Topofit:
    """
    One daemon at a time, always on the ports that its scheduler was told.

    name           of a second one, beside another
    host           where it listens
    launcher       the words in front of its command, say to run it in another network namespace
    extender_port  of a scheduler of its own
    """

    def __init__(self, plane, kubeconfig=None, config=CONFIG, name="topofit",
                 host=controlplane.LOOPBACK, launcher=(), extender_port=None):
        self.name = name
        self.host = host
        self.launcher = list(launcher)
        self.config = plane.path(name + ".yaml")
        with open(self.config, "w") as file:
            file.write(config)
        self.plane = plane
        self.kubeconfig = kubeconfig or plane.kubeconfig("topofit")
        self.extender_port = extender_port or plane.extender_port
        self.admin_port = plane.ports.take()
        self.service = None
        self.start()

    def start(self):
        """Start it and wait until it says that it is ready."""
        self.launch("/readyz")

    def launch(self, good_path):
        """Start it and wait until it answers 200 to this."""
        self.run()
        self.service.wait_until(lambda: self.ask(good_path)[0] == 200)

    def run(self, under=()):
        """Start it, `under` a debugger perhaps, and wait for nothing."""
        self.service = controlplane.Service(self.name, self.launcher + list(under) + [
            os.environ["TOPOFIT"], "serve", "--config", self.config,
            "--kubeconfig", self.kubeconfig,
            "--listen", "%s:%d" % (self.host, self.extender_port),
            "--admin-listen", "%s:%d" % (self.host, self.admin_port)], self.plane.directory)
        self.plane.services.append(self.service)

    def wait_ended(self, timeout_s):
        """Until it has ended by itself."""
        try:
            self.service.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError("%s still runs after %d s:\n%s" % (
                self.name, timeout_s, self.service.log_tail())) from None

    def kill9(self):
        """As a crash does: no chance to write anything down."""
        self.service.kill()
        self.plane.services.remove(self.service)
        self.service = None

    def start_if_down(self):
        if self.service is None or not self.service.is_running():
            self.forget()
            self.start()

    def forget(self):
        """It has ended, or was ended by somebody else."""
        if self.service:
            self.plane.services.remove(self.service)
        self.service = None

    def freeze(self):
        """As a machine that is out of breath does: everything stands still, nothing is closed."""
        self.service.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.service.process.send_signal(signal.SIGCONT)

    @contextlib.contextmanager
    def frozen(self):
        self.freeze()
        try:
            yield
        finally:
            self.thaw()

    def restart_after_kill9(self):
        self.kill9()
        self.start()

    def stop(self):
        """As systemd and kubelet do. A daemon that ends badly is an error."""
        if self.service is None:
            return
        self.check_running()
        self.plane.services.remove(self.service)
        service, self.service = self.service, None
        status = service.stop(STOP_IN_S)
        if status != 0:
            raise AssertionError("%s ended with %d:\n%s" % (self.name, status,
                                                            service.log_tail(40)))

    def check_running(self):
        if self.service and not self.service.is_running():
            raise AssertionError("%s ended by itself with %d:\n%s" % (
                self.name, self.service.process.returncode, self.service.log_tail(40)))

    def ask(self, path, timeout_s=10):
        """(status, text) of the admin port."""
        return controlplane.http_get(self.admin_port, path, host=self.host, timeout_s=timeout_s)

    def get(self, path, timeout_s=10):
        """(status, decoded answer) of the admin port."""
        status, body = self.ask(path, timeout_s)
        return status, json.loads(body) if body[:1] in "{[" else body

    def call(self, verb, body):
        """(status, decoded answer) of the extender port, asked as kube-scheduler does."""
        connection = http.client.HTTPConnection(self.host, self.extender_port, timeout=10)
        with contextlib.closing(connection):
            connection.request("POST", "/" + verb, json.dumps(body))
            response = connection.getresponse()
            return response.status, json.loads(response.read())

    def metric(self, name):
        """One value of /metrics, by name and labels as they are written there."""
        for line in self.get("/metrics")[1].splitlines():
            if line.startswith(name + " "):
                return float(line.rsplit(" ", 1)[1])
        raise KeyError(name)

    def leads(self):
        return self.metric("topofit_leader") == 1

    def wait_leads_or_ended(self):
        """Until it may bind; or until somebody has stopped it before."""
        def is_so():
            return self.service.process.poll() is not None or self.leads()

        with contextlib.suppress(RuntimeError):  # ended
            self.service.wait_until(is_so)

    def differences(self):
        """What its memory and the API server do not agree on, compared now."""
        status, answer = self.get("/debug/cache/diff", COMPARED_IN_S)
        if status != 200:
            raise AssertionError("%s: /debug/cache/diff: %d %s" % (self.name, status, answer))
        return answer["differences"]

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
