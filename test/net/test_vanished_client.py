# SPDX-License-Identifier: Apache-2.0
"""Clients of the extender's port whose machine is gone."""

import json
import socket
import unittest

import pods
import wirings
from link import run
from net_case import NetCase

PLACES = 16
REQUEST_TIMEOUT_S = 2


class VanishedClient(NetCase):

    EXTENDER = """\
  connectionsMax: %d
  requestTimeout: %ds
""" % (PLACES, REQUEST_TIMEOUT_S)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.address = cls.link.our_address[:-1] + "3"
        run("ip", "address", "add", cls.address + "/24", "dev", cls.link.device)

    def connect(self):
        client = socket.create_connection((self.topofit.host, self.plane.extender_port), 10,
                                          (self.address, 0))
        self.addCleanup(client.close)
        return client

    def send_half(self):
        self.connect().sendall(b"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n"
                               b"\r\n{\"Pod\":")

    def test_others_are_answered_while_clients_have_vanished_in_their_requests(self):
        self.add_nodes(wirings.wired_node("node", wirings.HGX_H100))
        for _ in range(3):
            self.send_half()
        self.link.swallow_peer(self.address)
        for _ in range(10):
            answer, took_s = self.filter(pods.pod("p", pods.limits(1)))
            self.assertEqual(answer["NodeNames"], ["node"])
            self.assertLess(took_s, 0.5)

    def test_clients_that_have_vanished_in_their_requests_give_their_places_back(self):
        self.add_nodes(wirings.wired_node("node", wirings.HGX_H100))
        for _ in range(PLACES + 4):
            self.send_half()
        self.link.swallow_peer(self.address)
        answer, took_s = self.filter(pods.pod("p", pods.limits(1)))
        self.assertEqual(answer["NodeNames"], ["node"])
        self.assertLess(took_s, REQUEST_TIMEOUT_S + 1.5)
        print("a place after %.1f s" % took_s, flush=True)

    def test_a_bind_whose_client_has_vanished_is_seen_through(self):
        self.add_nodes(wirings.wired_node("node", wirings.HGX_H100))
        self.create_by_hand("p")
        body = json.dumps({"PodName": "p", "PodNamespace": "default", "Node": "node",
                           "PodUID": self.states()["p"]["metadata"]["uid"]})
        client = self.connect()
        client.sendall(("POST /bind HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" %
                        (len(body), body)).encode())
        self.link.swallow_peer(self.address)
        self.wait_bound("p")
        self.assert_in_order()


if __name__ == "__main__":
    unittest.main()
