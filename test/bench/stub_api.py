# SPDX-License-Identifier: Apache-2.0
"""
An API server that does no work: it has the bytes of two lists, as a real server wrote them, and
sends them as a list or as a stream. Its watches stay silent until lose_positions() ends them all
with 410, so that whoever follows them lists again.
"""

import json
import socketserver
import threading

KINDS = {"nodes": "Node", "pods": "Pod"}
EXPIRED = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
           "message": "too old resource version", "reason": "Expired", "code": 410}


def line(kind, about):
    return json.dumps({"type": kind, "object": about}, separators=(",", ":")).encode() + b"\n"


class Copy:
    """One kind of objects, ready to be sent."""

    def __init__(self, resource, body):
        listed = json.loads(body)
        type_of = {"kind": KINDS[resource], "apiVersion": "v1"}
        items = [dict(type_of, **item) for item in listed["items"]]
        self.list = body
        self.added = b"".join(line("ADDED", item) for item in items)
        self.complete = line("BOOKMARK", dict(type_of, metadata={
            "resourceVersion": listed["metadata"]["resourceVersion"],
            "annotations": {"k8s.io/initial-events-end": "true"}}))
        # A watch that showed something is followed by a new list at once.
        self.lost = line("MODIFIED", items[0]) + line("ERROR", EXPIRED)


class Handler(socketserver.StreamRequestHandler):

    def handle(self):
        words = self.rfile.readline().split()
        while self.rfile.readline().strip():
            pass
        path = words[1].decode() if len(words) > 1 else ""
        copy = self.server.copies.get(path.partition("?")[0].rpartition("/")[2])
        try:
            self.answer(path, copy)
        except OSError:
            pass  # the client has gone

    def answer(self, path, copy):
        if copy is None:
            self.head("404 Not Found", b"Content-Length: 0\r\n")
        elif "watch=1" in path:
            self.head("200 OK", b"")
            lost = self.server.lost  # of now: positions given later are lost later
            if "sendInitialEvents=true" in path:
                self.wfile.write(copy.added)
                self.wfile.write(copy.complete)
            lost.wait()
            self.wfile.write(copy.lost)
        else:
            self.head("200 OK", b"Content-Length: %d\r\n" % len(copy.list))
            self.wfile.write(copy.list)

    def head(self, status, fields):
        self.wfile.write(b"HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
                         b"Connection: close\r\n%s\r\n" % (status.encode(), fields))


class StubApi(socketserver.ThreadingTCPServer):
    """Serves from its construction to stop(). `lists`: {"nodes": bytes, "pods": bytes}."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port, lists):
        self.copies = {resource: Copy(resource, body) for resource, body in lists.items()}
        self.lost = threading.Event()
        super().__init__(("127.0.0.1", port), Handler)
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def lose_positions(self):
        lost, self.lost = self.lost, threading.Event()
        lost.set()

    def stop(self):
        self.shutdown()
        self.lose_positions()
        self.server_close()
