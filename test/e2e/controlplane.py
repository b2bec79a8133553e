# SPDX-License-Identifier: Apache-2.0
"""
A bare control plane on loopback: etcd, kube-apiserver and kube-scheduler, real binaries.

Each one has a temporary directory, ports and keys of its own, so that runs do not meet. Everything
started is stopped by process id: at the end, on a signal, and by the kernel should this process be
killed.
"""

import atexit
import base64
import contextlib
import ctypes
import errno
import http.client
import json
import os
import random
import re
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

from kubeapi import KubeApi

HERE = os.path.dirname(os.path.abspath(__file__))
LOOPBACK = "127.0.0.1"
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 15


class PortPool:
    """
    Free ports of 127.0.0.1, below those the kernel gives to clients.

    A port is ours when binding it works and when we hold the abstract socket of its number, which
    the kernel releases at our end: so a port stays ours while a server on it is being restarted.
    """

    FIRST, LAST = 20000, 32000

    def __init__(self):
        self.claims = []

    def take(self):
        for port in random.sample(range(self.FIRST, self.LAST), 500):
            claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                claim.bind("\0topofit-e2e-port-%d" % port)
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            except OSError as error:
                claim.close()
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            self.claims.append(claim)
            return port
        raise RuntimeError("no free port between %d and %d" % (self.FIRST, self.LAST))

    def release_all(self):
        for claim in self.claims:
            claim.close()
        self.claims.clear()


class Authority:
    """A certificate authority made by openssl, and what it has signed."""

    CONFIG = "[req]\ndistinguished_name = dn\n[dn]\n"

    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory)
        with open(self.path("openssl.cnf"), "w") as file:
            file.write(self.CONFIG)
        self.make("ca", "/CN=topofit-e2e", ["basicConstraints=critical,CA:TRUE",
                                            "keyUsage=critical,keyCertSign,cRLSign"])

    def path(self, name):
        return os.path.join(self.directory, name)

    def make(self, name, subject, extensions, signer=None):
        command = ["openssl", "req", "-x509", "-config", self.path("openssl.cnf"), "-days", "30",
                   "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                   "-subj", subject, "-keyout", self.path(name + ".key"),
                   "-out", self.path(name + ".crt")]
        for extension in extensions:
            command += ["-addext", extension]
        if signer:
            command += ["-CA", self.path(signer + ".crt"), "-CAkey", self.path(signer + ".key")]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def sign(self, name, subject, usage, hosts=None):
        """Make name.key and name.crt for a server (with hosts) or a client."""
        extensions = ["basicConstraints=critical,CA:FALSE", "extendedKeyUsage=" + usage]
        if hosts:
            extensions.append("subjectAltName=" + hosts)
        self.make(name, subject, extensions, signer="ca")

    def base64(self, name):
        with open(self.path(name), "rb") as file:
            return base64.b64encode(file.read()).decode()


def die_with_parent():
    """In the child: be killed when the process that started it is gone."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class Service:
    """One server process, its log file, and how to end it."""

    def __init__(self, name, command, log_dir):
        self.name = name
        self.command = command
        self.log_path = os.path.join(log_dir, name + ".log")
        self.start()

    def start(self):
        """Start it, or start it again once it has ended."""
        environment = {key: value for key, value in os.environ.items()
                       if not key.lower().endswith("_proxy")}
        with open(self.log_path, "ab") as log:
            # Apart from the terminal: Ctrl-C is for the tests, which end the servers in order.
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env=environment, start_new_session=True,
                                            preexec_fn=die_with_parent)

    def wait_until(self, is_ready):
        """Poll is_ready, which may fail to connect, until it says yes."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError("%s ended with %d:\n%s" % (self.name, self.process.returncode,
                                                             self.log_tail()))
            with contextlib.suppress(OSError, http.client.HTTPException):
                if is_ready():
                    return
            time.sleep(0.02)
        raise RuntimeError("%s not ready in %d s:\n%s" % (self.name, START_TIMEOUT_S,
                                                         self.log_tail()))

    def is_running(self):
        return self.process.poll() is None

    def stop(self, patience_s=STOP_TIMEOUT_S):
        """End it politely, or by force when that takes too long. Returns its exit status."""
        if self.is_running():
            self.process.terminate()
            try:
                self.process.wait(patience_s)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def log_tail(self, lines=12):
        with open(self.log_path, errors="replace") as file:
            return "".join(file.readlines()[-lines:])


def http_get(port, path, tls=None, headers=None, host=LOOPBACK, timeout_s=10):
    """(status, body) of one GET on a connection of its own."""
    if tls:
        connection = http.client.HTTPSConnection(host, port, context=tls, timeout=timeout_s)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=timeout_s)
    with contextlib.closing(connection):
        connection.request("GET", path, headers=headers or {})
        response = connection.getresponse()
        return response.status, response.read().decode()


class Users:
    """Who may talk to the API server, by token."""

    GROUPS = {"admin": "system:masters", "system:kube-scheduler": "", "topofit": ""}

    def __init__(self, path):
        self.path = path
        self.tokens = {user: secrets.token_hex(16) for user in self.GROUPS}
        with open(path, "w") as file:
            for user, groups in self.GROUPS.items():
                file.write('%s,%s,uid-%s,"%s"\n' % (self.tokens[user], user, user, groups))


def shipped(*names):
    """The text of a file under deploy/, so that the tests run what users install."""
    with open(os.path.join(HERE, "..", "..", "deploy", *names)) as file:
        return file.read()


def for_all_vendors(config):
    """A scheduler's configuration with the resources that the values for all vendors name."""
    ours, separator, _ = config.partition("managedResources:\n")
    theirs = shipped("examples", "values-all-vendors.yaml").partition(separator)[2]
    return ours + separator + "".join("  " + line for line in theirs.splitlines(keepends=True))


def daemon_rules():
    """What the chart lets the daemon do: the rules of its first ClusterRole."""
    text = shipped("chart", "templates", "rbac.yaml").split("\n---", 1)[0]
    found = re.findall(r"- apiGroups: \[(.*)\]\s+resources: \[(.*)\]\s+verbs: \[(.*)\]", text)
    if not found:
        raise RuntimeError("no rules found in the chart's rbac.yaml")
    return [{"apiGroups": [groups.strip('"')], "resources": resources.split(", "),
             "verbs": verbs.split(", ")} for groups, resources, verbs in found]


KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: e2e
clusters:
- name: e2e
  cluster:
    server: https://%(host)s:%(port)d
    %(authority)s
contexts:
- name: e2e
  context:
    cluster: e2e
    user: %(user)s
users:
- name: %(user)s
  user:
    %(credentials)s
"""


DEFAULT_SCHEDULER = "default-scheduler"
SECOND_SCHEDULER = "second-scheduler"


class Etcd:
    """What only etcd itself can be asked for, through its JSON gateway."""

    PODS = "/registry/pods/%s/%s"

    def __init__(self, port):
        self.port = port

    def request(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        with contextlib.closing(connection):
            connection.request("POST", path, json.dumps(body),
                               {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = response.read().decode()
        if response.status != 200:
            raise RuntimeError("etcd %s: %d %s" % (path, response.status, answer))
        return json.loads(answer)

    def delete_pod(self, name, namespace="default"):
        """Away with it, behind the back of the API server."""
        key = base64.b64encode((self.PODS % (namespace, name)).encode()).decode()
        answer = self.request("/v3/kv/deleterange", {"key": key})
        if answer.get("deleted") != "1":
            raise RuntimeError("etcd has no pod " + name)

    def compact(self):
        """Forget every version but the present one."""
        key = base64.b64encode(b"/registry/none").decode()
        now = self.request("/v3/kv/range", {"key": key})["header"]["revision"]
        self.request("/v3/kv/compaction", {"revision": now, "physical": True})


class ControlPlane:
    """etcd, kube-apiserver and, once asked for, a kube-scheduler that asks an extender."""

    BIND_ADDRESS = LOOPBACK  # where the API server listens
    HOST = LOOPBACK          # where daemons find it
    EXTENDER_HOST = LOOPBACK

    def __init__(self, bin_dir):
        self.bin_dir = bin_dir
        self.directory = tempfile.mkdtemp(prefix="topofit-e2e-")
        self.ports = PortPool()
        self.services = []
        self.admin = None
        self.extender_port = self.ports.take()
        self.second_extender_port = self.ports.take()
        self.scheduler_port = self.ports.take()
        self.second_scheduler = None
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def start(self):
        self.authority = Authority(self.path("pki"))
        self.authority.sign("apiserver", "/CN=kube-apiserver", "serverAuth",
                            "IP:127.0.0.1,IP:%s,DNS:localhost,DNS:kubernetes.default.svc"
                            % self.HOST)
        self.authority.sign("topofit", "/CN=topofit", "clientAuth")
        self.authority.sign("service-accounts", "/CN=service-accounts", "clientAuth")
        self.users = Users(self.path("tokens.csv"))
        etcd_port = self.start_etcd()
        self.start_apiserver(etcd_port)
        self.grant_daemon()

    def run(self, name, command, program=None):
        service = Service(name, [os.path.join(self.bin_dir, program or name)] + command,
                          self.directory)
        self.services.append(service)
        return service

    def start_etcd(self):
        port, peer_port = self.ports.take(), self.ports.take()
        self.etcd = Etcd(port)
        client, peer = "http://127.0.0.1:%d" % port, "http://127.0.0.1:%d" % peer_port
        self.run("etcd", [
            "--name=e2e", "--data-dir=" + self.path("etcd"), "--unsafe-no-fsync",
            "--listen-client-urls=" + client, "--advertise-client-urls=" + client,
            "--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
            "--initial-cluster=e2e=" + peer, "--log-level=warn",
        ]).wait_until(lambda: http_get(port, "/health")[0] == 200)
        return port

    def start_apiserver(self, etcd_port):
        self.api_port = self.ports.take()
        pki = self.authority.path
        self.apiserver = self.run("kube-apiserver", [
            "--etcd-servers=http://127.0.0.1:%d" % etcd_port,
            "--bind-address=" + self.BIND_ADDRESS, "--secure-port=%d" % self.api_port,
            "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
            "--tls-cert-file=" + pki("apiserver.crt"),
            "--tls-private-key-file=" + pki("apiserver.key"),
            "--client-ca-file=" + pki("ca.crt"), "--token-auth-file=" + self.users.path,
            "--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-account-key-file=" + pki("service-accounts.crt"),
            "--service-account-signing-key-file=" + pki("service-accounts.key"),
            # Without a controller manager nobody makes service accounts or takes taints away.
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        ] + self.apiserver_options())
        self.admin = KubeApi(self.api_port, pki("ca.crt"), self.users.tokens["admin"])
        self.wait_for_apiserver()

    def apiserver_options(self):
        """What else the API server is told."""
        return []

    def wait_for_apiserver(self):
        ready = {"Authorization": "Bearer " + self.admin.token}
        self.apiserver.wait_until(
            lambda: http_get(self.api_port, "/readyz", self.admin.tls, ready)[0] == 200)

    @contextlib.contextmanager
    def apiserver_down(self):
        """Kill it with -9; start it again afterwards, on the same port and with the same data."""
        self.apiserver.kill()
        self.admin.close()
        try:
            yield
        finally:
            self.apiserver.start()
            self.wait_for_apiserver()

    def grant_daemon(self):
        rbac = "/apis/rbac.authorization.k8s.io/v1/"
        self.admin.create(rbac + "clusterroles", {"metadata": {"name": "topofit"},
                                                  "rules": daemon_rules()})
        self.admin.create(rbac + "clusterrolebindings", {
            "metadata": {"name": "topofit"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                        "name": "topofit"},
            "subjects": [{"kind": "User", "name": "topofit"}]})
        self.grant_lease(rbac + "namespaces/kube-system/")

    def grant_lease(self, place):
        """What the chart's Role lets the daemon do with the Lease, where it looks without a chart."""
        rule = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
        self.admin.create(place + "roles", {
            "metadata": {"name": "topofit-leader"},
            "rules": [dict(rule, verbs=["create"]),
                      dict(rule, verbs=["get", "update"], resourceNames=["topofit"])]})
        self.admin.create(place + "rolebindings", {
            "metadata": {"name": "topofit-leader"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role",
                        "name": "topofit-leader"},
            "subjects": [{"kind": "User", "name": "topofit"}]})

    def kubeconfig(self, user, port=None):
        """A kubeconfig with a token and files. `port`: of a link to the API server."""
        return self.write_kubeconfig(
            "%s-token-%d.kubeconfig" % (user, port or self.api_port), user,
            "certificate-authority: " + self.authority.path("ca.crt"),
            ["token: " + self.users.tokens[user]], port)

    def kubeconfig_with_certificate(self, user):
        """A kubeconfig with a client certificate, everything inside it."""
        return self.write_kubeconfig(
            user + "-certificate.kubeconfig", user,
            "certificate-authority-data: " + self.authority.base64("ca.crt"),
            ["client-certificate-data: " + self.authority.base64(user + ".crt"),
             "client-key-data: " + self.authority.base64(user + ".key")])

    def write_kubeconfig(self, name, user, authority, credentials, port=None):
        path = self.path(name.replace(":", "-"))
        with open(path, "w") as file:
            file.write(KUBECONFIG % {"host": self.HOST, "port": port or self.api_port,
                                     "user": user, "authority": authority,
                                     "credentials": "\n    ".join(credentials)})
        return path

    def scheduler_config(self, scheduler=DEFAULT_SCHEDULER, extender_port=None, text=None):
        """A configuration that we ship, with what is particular to this run."""
        text = text or shipped("scheduler-config.yaml")
        for pattern, ours in (
                ("kubeconfig: /etc/kubernetes/scheduler.conf",
                 "kubeconfig: %s\n  qps: 1000\n  burst: 2000"
                 % self.kubeconfig("system:kube-scheduler")),
                ("leaderElect: true", "leaderElect: false"),
                ("schedulerName: .*", "schedulerName: " + scheduler),
                (re.escape("http://127.0.0.1:9901"), "http://%s:%d" % (
                    self.EXTENDER_HOST, extender_port or self.extender_port))):
            text, count = re.subn(pattern, ours, text)
            if count != 1:
                raise RuntimeError("a scheduler's configuration must have %r once" % pattern)
        # By default a pod waits up to 10 s between attempts; the tests have no such time.
        return text + "podInitialBackoffSeconds: 1\npodMaxBackoffSeconds: 1\n"

    def start_scheduler(self):
        self.run_scheduler("kube-scheduler", DEFAULT_SCHEDULER, self.scheduler_port,
                           self.extender_port)

    def start_second_scheduler(self):
        """A scheduler for the pods that name it, with an extender of its own. Stays to the end."""
        if self.second_scheduler is None:
            self.second_scheduler = self.run_scheduler(
                "second-scheduler", SECOND_SCHEDULER, self.ports.take(), self.second_extender_port)

    def run_scheduler(self, name, scheduler, port, extender_port, text=None):
        """Start one, with a configuration that we ship or with the text of another."""
        config = self.path(name + ".yaml")
        with open(config, "w") as file:
            file.write(self.scheduler_config(scheduler, extender_port, text))
        service = self.run(name, [
            "--config=" + config, "--bind-address=127.0.0.1", "--secure-port=%d" % port,
            "--authentication-tolerate-lookup-failure=true",
            "--authorization-always-allow-paths=/readyz,/metrics",
        ], program="kube-scheduler")
        service.wait_until(lambda: self.scheduler_get("/readyz", port)[0] == 200)
        return service

    def end(self, service):
        """End one that is not needed any more."""
        self.services.remove(service)
        service.kill()

    def scheduler_get(self, path, port=None):
        # Its certificate is self-signed at every start.
        return http_get(port or self.scheduler_port, path, ssl._create_unverified_context())

    def scheduler_metric(self, name):
        """The sum of a metric of the scheduler over all labels that `name` leaves open."""
        return sum(int(float(line.rsplit(" ", 1)[1]))
                   for line in self.scheduler_get("/metrics")[1].splitlines()
                   if line.startswith(name))

    def scheduling_attempts(self):
        """How often the scheduler has tried to place a pod; each try asks the extender."""
        return self.scheduler_metric("scheduler_schedule_attempts_total{")

    def scheduler_nodes(self):
        """How many nodes the scheduler knows, as of the last second."""
        return self.scheduler_metric('scheduler_cache_size{type="nodes"}')

    def stop(self):
        if self.admin:
            self.admin.close()
        # What they would write down is thrown away, and a last watch would keep the server waiting.
        for service in reversed(self.services):
            service.kill()
        self.services.clear()
        self.ports.release_all()
        if os.environ.get("E2E_KEEP"):
            print("e2e: logs kept in " + self.directory, file=sys.stderr)
        else:
            shutil.rmtree(self.directory, ignore_errors=True)


_shared = None


def shared(kind=ControlPlane):
    """The control plane of this test run; started at the first call, stopped at exit."""
    global _shared
    if _shared is None:
        # As Ctrl-C, so that unittest ends and what is registered here still runs.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        plane = kind(os.environ["KUBE_BIN_DIR"])
        atexit.register(plane.stop)
        plane.start_scheduler()
        _shared = plane
    return _shared
