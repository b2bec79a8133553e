# SPDX-License-Identifier: Apache-2.0
"""The leader is taken away again and again under a stream of pods. The long form: failover.py."""

import sys
import unittest

import controlplane
import failover

COUNT = 6  # each way twice
GAP_MAX_S = 20  # with a lease of 1 s; what is more was not a wait for the lease


class ForcedFailovers(unittest.TestCase):

    def test_other_goes_on_binding_and_nothing_is_booked_twice(self):
        lines = []
        try:
            gaps = failover.run(controlplane.shared(), COUNT, failover.WAYS,
                                failover.LEASES["short"], lines.append)
        finally:
            print("\n".join([""] + lines), file=sys.stderr)
        for way in failover.WAYS:
            self.assertLess(max(gaps[way]), GAP_MAX_S, way)


if __name__ == "__main__":
    unittest.main()
