# SPDX-License-Identifier: Apache-2.0
"""A connection to the API server that can be held up."""

import contextlib
import socket
import threading


class SlowLink:
    """
    Passes on what comes in at `port` and what is answered.

    While the answers are held, what the server sends is kept and arrives when they are let go:
    whoever is behind the link knows the world as it was.
    """

    def __init__(self, server_port):
        self.server_port = server_port
        self.open = threading.Event()
        self.open.set()
        self.sockets = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.in_background(self.accept)

    @contextlib.contextmanager
    def answers_held(self):
        self.open.clear()
        try:
            yield
        finally:
            self.open.set()

    @staticmethod
    def in_background(do, *arguments):
        threading.Thread(target=do, args=arguments, daemon=True, name="link").start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.server_port))
                self.sockets += [client, server]
                self.in_background(self.pass_on, client, server, None)
                self.in_background(self.pass_on, server, client, self.open)

    @staticmethod
    def pass_on(source, target, gate):
        with contextlib.suppress(OSError):
            while True:
                data = source.recv(65536)
                if gate:
                    gate.wait()
                if not data:
                    break
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def close(self):
        self.open.set()
        for one in [self.listener] + self.sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
