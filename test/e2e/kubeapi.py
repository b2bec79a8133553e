# SPDX-License-Identifier: Apache-2.0
"""A small client for the Kubernetes API: requests, and a watch on the pods."""

import contextlib
import http.client
import json
import ssl
import threading
import time

NAMESPACE = "default"
NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/%s/pods" % NAMESPACE
EVENTS = "/apis/events.k8s.io/v1/namespaces/%s/events" % NAMESPACE
MERGE = "application/merge-patch+json"
YAML = "application/yaml"
IDLE_MAX_S = 20  # the API server closes connections that rest for long


class ApiError(Exception):
    """The API server answered, and said no."""

    def __init__(self, method, path, status, body):
        super().__init__("%s %s: %d %s" % (method, path, status, body[:400]))
        self.status = status


class KubeApi:
    """Requests with one user's token, from any thread. Connections are kept and used again."""

    def __init__(self, port, ca_file, token):
        self.port = port
        self.token = token
        self.tls = ssl.create_default_context(cafile=ca_file)
        self.idle = []  # (connection, since when); append and pop are atomic

    def connect(self, timeout_s=30):
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls,
                                           timeout=timeout_s)

    def headers(self, content_type="application/json"):
        return {"Authorization": "Bearer " + self.token, "Content-Type": content_type}

    def request(self, method, path, body=None, content_type="application/json"):
        """The decoded answer; ApiError when it is not a 2xx. A body that is text goes out as it is."""
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        connection = self.take_connection()
        try:
            connection.request(method, path, text, self.headers(content_type))
            response = connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            raise
        self.idle.append((connection, time.monotonic()))
        if response.status >= 300:
            raise ApiError(method, path, response.status, answer.decode(errors="replace"))
        return json.loads(answer) if answer[:1] in (b"{", b"[") else answer.decode()

    def take_connection(self):
        while True:
            try:
                connection, since = self.idle.pop()
            except IndexError:
                return self.connect()
            if time.monotonic() - since < IDLE_MAX_S:
                return connection
            connection.close()

    def close(self):
        while self.idle:
            self.idle.pop()[0].close()

    def get(self, path):
        return self.request("GET", path)

    def list(self, path):
        return self.get(path)["items"]

    def create(self, path, body):
        return self.request("POST", path, body)

    def create_yaml(self, path, text):
        """Of a manifest, as kubectl sends it."""
        return self.request("POST", path, text, YAML)

    def merge(self, path, patch):
        return self.request("PATCH", path, patch, MERGE)

    def delete(self, path, grace_s=0):
        """Delete, or do nothing when it is gone already."""
        try:
            self.request("DELETE", "%s?gracePeriodSeconds=%d" % (path, grace_s))
        except ApiError as error:
            if error.status != 404:
                raise


class PodWatch(threading.Thread):
    """
    All pods as the API server tells them, from the start of the watch.

    `check` is called with every state of every pod, and all pods by name as they are then; what it
    returns as text is kept in `violations`. wait() sleeps until the pods are as wanted.

    With `may_be_cut` it goes on when the API server was away; states in between are not seen then.
    """

    CUT_MAX_S = 30

    def __init__(self, api, check):
        super().__init__(daemon=True, name="pod watch")
        self.api = api
        self.check = check
        self.pods = {}
        self.violations = []
        self.seen_bound = set()  # uids
        self.changed = threading.Condition()
        self.stopping = False
        self.failure = None
        self.may_be_cut = False
        self.list()
        self.connection = api.connect(timeout_s=None)
        self.start()

    def list(self):
        listed = self.api.get(PODS)
        with self.changed:
            self.version = listed["metadata"]["resourceVersion"]
            self.pods.clear()
            for pod in listed["items"]:
                self.note("ADDED", pod)
            self.version = listed["metadata"]["resourceVersion"]
            self.changed.notify_all()

    def run(self):
        try:
            while not self.stopping:
                try:
                    self.follow()
                except (OSError, ValueError, AttributeError, http.client.HTTPException):
                    if self.stopping or not self.may_be_cut:
                        raise
                    self.list_when_possible()
        except (OSError, ValueError, AttributeError, ApiError,
                http.client.HTTPException) as error:
            with self.changed:
                self.failure = error
                self.changed.notify_all()

    def list_when_possible(self):
        self.connection.close()
        deadline = time.monotonic() + self.CUT_MAX_S
        while not self.stopping:
            try:
                self.list()
                return
            except (OSError, ApiError, http.client.HTTPException):
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.1)

    def follow(self):
        """
        Take in events until the API server ends the watch, as it does with slow readers. The next
        one goes on at the same version, so that no state of a pod is missed.
        """
        path = "%s?watch=1&resourceVersion=%s&timeoutSeconds=3600" % (PODS, self.version)
        self.connection.request("GET", path, headers=self.api.headers())
        with self.connection.getresponse() as response:
            for line in response:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise ValueError("watch: %s" % event["object"])
                with self.changed:
                    self.note(event["type"], event["object"])
                    self.changed.notify_all()
        self.connection.close()

    def note(self, kind, pod):
        name = pod["metadata"]["name"]
        self.version = pod["metadata"]["resourceVersion"]
        if kind == "DELETED":
            self.pods.pop(name, None)
            return
        self.pods[name] = pod
        if pod["spec"].get("nodeName"):
            self.seen_bound.add(pod["metadata"]["uid"])
        problem = self.check(pod, self.pods)
        if problem:
            self.violations.append("%s: %s" % (name, problem))

    def wait(self, what, is_true, timeout_s=30):
        """Until is_true(pods by name); what it returned. AssertionError when it takes too long."""
        deadline = time.monotonic() + timeout_s
        with self.changed:
            while True:
                result = is_true(self.pods)
                if result:
                    return result
                left_s = deadline - time.monotonic()
                if self.failure or left_s <= 0:
                    reason = self.failure or "not within %d s" % timeout_s
                    raise AssertionError("%s: %s\n%s" % (what, reason, describe(self.pods)))
                self.changed.wait(left_s)

    def stop(self):
        self.stopping = True
        deadline = time.monotonic() + 5
        # A test that was over at once stops a watch that is not connected yet.
        while self.is_alive() and time.monotonic() < deadline:
            with contextlib.suppress(OSError, AttributeError):
                self.connection.sock.shutdown(2)
            self.join(0.1)
        with contextlib.suppress(OSError):
            self.connection.close()


def condition(pod, kind="PodScheduled"):
    """One condition of a pod, or an empty dict."""
    for one in pod.get("status", {}).get("conditions", []):
        if one["type"] == kind:
            return one
    return {}


def describe(pods):
    """The unbound pods with their reasons, a few lines for a failed test."""
    waiting = [(name, pod) for name, pod in sorted(pods.items())
               if not pod["spec"].get("nodeName")]
    lines = ["%d pods, %d not bound" % (len(pods), len(waiting))]
    for name, pod in waiting[:8]:
        lines.append("  %s: %s" % (name, condition(pod).get("message", "no condition yet")))
    return "\n".join(lines)
