# SPDX-License-Identifier: Apache-2.0
"""
The daemon is killed with -9 at every step of a bind, which gdb finds, and another one goes on.

Each daemon is the successor of the one killed before it. Whatever was under way: no device is
booked twice at any time, no pod is lost, and each is bound once, with one record.
"""

import os
import shutil
import unittest

import pods
import wirings
from cluster_case import ClusterCase
from daemon import SHORT_LEASE

PODS_A_POINT = 3
KILLED_IN_S = 30
BINDING = '$_regex(request->api.path, ".*/binding.*")'

# What happens: the functions to come by, one after the other; the last one is not entered.
POINTS = {
    "a bind call arrives": ["extender_bind"],
    "the devices are about to be booked": ["cluster_reserve"],
    "the devices are booked": ["kube_loop_submit_bind"],
    "the loop takes the Binding over": ["binder_submit"],
    "the request is about to be made": ["kube_client_send if " + BINDING],
    "the body is about to be written": ["on_body"],
    "the body was written": ["on_body", "curl_multi_poll"],
    "the answer has arrived": ["binder_on_answer"],
    "the pod is bound, the ledger does not know": ["cluster_confirm"],
    "the ledger knows, the caller does not": ["tell_assigned"],
    "the lease is about to be renewed": ["binder_on_answer", "lease_next_request"],
    "the lease was renewed": ["binder_on_answer", "lease_on_answer"],
}


def debugger(hit, steps):
    """gdb that kills what it runs when it comes by the last step, the first one the n-th time."""
    commands = ["set confirm off", "set pagination off", "set debuginfod enabled off",
                "handle all nostop noprint pass",
                "break " + steps[0], "ignore 1 %d" % (hit - 1), "run"]
    for step in steps[1:]:
        commands += ["delete", "tbreak " + step, "continue"]
    commands.append("kill")
    return ["gdb", "-q", "-nx", "-batch"] + \
        [part for command in commands for part in ("-ex", command)] + ["--args"]


@unittest.skipUnless(shutil.which("gdb"), "gdb is missing: nobody to stop the daemon in a function")
class KilledAtEveryStep(ClusterCase):

    CONFIG = SHORT_LEASE
    HITS = range(1, 1 + int(os.environ.get("E2E_KILL_HITS", "1")))

    def create_more(self):
        self.number += PODS_A_POINT
        kinds = [pods.limits(1), pods.limits(2), pods.limits(1, percent=25, cores=25)]
        self.create(*[pods.pod("p%03d" % number, kinds[number % len(kinds)])
                      for number in range(self.number - PODS_A_POINT, self.number)])

    def kill_at(self, hit, steps):
        self.topofit.run(under=debugger(hit, steps))
        self.topofit.wait_leads_or_ended()
        self.create_more()
        self.topofit.wait_ended(KILLED_IN_S)
        self.assertIn(" killed]", self.topofit.service.log_tail(3))
        self.topofit.forget()
        self.assert_rightly_booked(self.states())

    def test_nothing_is_booked_twice_and_every_pod_is_bound_once(self):
        self.number = 0
        self.add_nodes(*[wirings.wired_node("node-%d" % number, wirings.ALL[number % 4])
                         for number in range(12)])
        self.topofit.stop()
        for hit in self.HITS:
            for what, steps in POINTS.items():
                with self.subTest(what, hit=hit):
                    self.kill_at(hit, steps)
            self.topofit.start()
            states = self.wait_all_bound(PODS_A_POINT * len(POINTS))
            self.assert_rightly_booked(states)
            self.wait_ledger_equals_records()
            self.assertEqual(self.topofit.differences(), [])
            self.topofit.stop()
            self.delete_pods(states)


if __name__ == "__main__":
    unittest.main()
