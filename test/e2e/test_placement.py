# SPDX-License-Identifier: Apache-2.0
"""Which devices pods get, one after the other, on machines wired like real ones."""

import contextlib
import csv
import itertools
import json
import os
import random
import unittest

import pods
import wirings
from cluster_case import ClusterCase

SIZES = (1, 2, 3, 4, 8)


def gpuallocator_best(free, count):
    """The set of best pair score on a DGX-1V by go-gpuallocator's points, from its table."""
    mask = "%x" % sum(1 << position for position in free)
    path = os.path.join(wirings.DATA, "gpuallocator", "expected-dgx1v.csv")
    with open(path) as file:
        for row in csv.DictReader(file):
            if (row["avail_mask_hex"], row["size"]) == (mask, str(count)):
                return tuple(map(int, row["opt_set_max_left"].split("-")))
    raise LookupError("no row for %s of %s" % (count, mask))


class PlacementCase(ClusterCase):
    """One node, pods placed singly, so that what is free at each moment is known."""

    def use_node(self, wiring):
        self.wiring = wiring
        self.node = wiring.name
        self.number = 0
        self.add_nodes(wirings.wired_node(self.node, wiring))

    @contextlib.contextmanager
    def machine(self, wiring):
        """One machine, of which nothing is left for the next."""
        self.watch.wait("nothing is left of the one before", lambda states: not states)
        try:
            self.use_node(wiring)
            yield
        finally:
            self.wipe_pods()
            self.wipe_nodes()

    def free(self):
        used = self.capacity.uses(self.states().values())
        return frozenset(position for position in range(self.wiring.size)
                         if wirings.device_id(self.node, position) not in used)

    def place_whole(self, count):
        """Place a pod of `count` whole GPUs and judge its set. Its positions."""
        free = self.free()
        self.number += 1
        state = self.place(pods.pod("whole-%d-%d" % (self.number, count), pods.limits(count),
                                    node=self.node))
        chosen = pods.positions(state)
        self.assertEqual(len(chosen), count)
        self.assertLessEqual(set(chosen), free, "a device was given twice")
        self.assert_best(chosen, free)
        return chosen

    def assert_best(self, chosen, free):
        what = "%s, free %s, chosen %s" % (self.wiring.name, sorted(free), chosen)
        if len(chosen) == 1:
            self.assertEqual(self.wiring.groups_left(free - set(chosen)),
                             self.wiring.least_damage(free), what)
        else:
            self.assertEqual(self.wiring.quality(chosen),
                             self.wiring.best_quality(free, len(chosen)), what)

    def clear(self):
        self.delete_pods(self.states())
        self.wait_ledger_equals_records()

    def place_at_random(self, steps, seed):
        """Come and go: pods of random sizes, random ones deleted, each placement judged."""
        choice = random.Random(seed)
        for _ in range(steps):
            fitting = [count for count in SIZES if count <= len(self.free())]
            if fitting and choice.random() < 0.65:
                self.place_whole(choice.choice(fitting))
            elif self.states():
                self.delete_pods([choice.choice(sorted(self.states()))])
                self.wait_ledger_equals_records()


class WholeDevices(PlacementCase):

    def test_every_size_gets_the_best_set_of_an_idle_machine(self):
        for wiring in wirings.ALL:
            with self.subTest(wiring.name), self.machine(wiring):
                for count in SIZES:
                    self.place_whole(count)
                    self.clear()

    def test_every_size_gets_the_best_of_what_is_free_while_pods_come_and_go(self):
        for wiring in wirings.ALL:
            with self.subTest(wiring.name), self.machine(wiring):
                self.place_at_random(steps=16, seed=wiring.name)
                self.assert_rightly_booked(self.states())

    def test_two_single_gpus_and_a_pair_leave_a_whole_quad_of_the_hybrid_cube_mesh(self):
        self.use_node(wirings.DGX_1V)
        for count in (1, 1, 2):
            self.place_whole(count)
        quad = self.place_whole(4)
        self.assertIn(quad, ((0, 1, 2, 3), (4, 5, 6, 7)))

    def test_single_gpus_take_the_second_of_a_bridge_pair_before_the_first_of_another(self):
        self.use_node(wirings.A40_PAIRS)
        singles = [self.place_whole(1)[0] for _ in range(4)]
        self.assertEqual([position // 2 for position in singles[::2]],
                         [position // 2 for position in singles[1::2]])

    def test_idle_hybrid_cube_mesh_gives_as_many_nvlinks_as_the_gpuallocator_table(self):
        self.use_node(wirings.DGX_1V)
        for count in SIZES:
            with self.subTest(count=count):
                chosen = self.place_whole(count)
                best = gpuallocator_best(range(8), count)
                self.assertEqual(self.wiring.nvlinks(chosen), self.wiring.nvlinks(best))
            self.clear()

    def test_partly_used_hybrid_cube_mesh_is_never_worse_than_the_gpuallocator_table(self):
        self.use_node(wirings.DGX_1V)
        for sizes in ((1, 3, 2, 2), (2, 2, 3, 1), (3, 4, 1), (1, 2, 2, 3)):
            for count in sizes:
                free = self.free()
                chosen = self.place_whole(count)
                self.assertLessEqual(self.wiring.quality(chosen),
                                     self.wiring.quality(gpuallocator_best(free, count)))
            self.clear()

    def test_record_tells_the_worst_tier_of_the_set(self):
        self.use_node(wirings.A40_PAIRS)
        for count, tier in ((2, 0), (4, 1), (8, 2)):
            with self.subTest(count=count):
                self.place_whole(count)
                state = next(iter(self.states().values()))
                self.assertEqual(pods.record(state)["tier"], tier)
            self.clear()

    def test_node_of_unknown_wiring_still_gives_disjoint_devices(self):
        self.add_nodes(wirings.unwired_node("unwired", wirings.PCIE))
        for number, count in enumerate((1, 2, 3, 2)):
            self.place(pods.pod("p%d" % number, pods.limits(count)))
        self.assertEqual(len(self.capacity.uses(self.states().values())), 8)
        self.assert_rightly_booked(self.states())

    def test_node_without_inventory_gets_no_pod_while_another_node_does(self):
        self.add_nodes(wirings.bare_node("a-bare", 8), wirings.wired_node("wired", wirings.PCIE))
        state = self.place(pods.pod("p", pods.limits(2)))
        self.assertEqual(state["spec"]["nodeName"], "wired")


class Fractions(PlacementCase):

    FORMS = {
        "memory": pods.limits(1, memory=4000),
        "memory-with-unit": pods.limits(1, memory="4Gi"),
        "percent": pods.limits(1, percent=20),
        "percent-and-cores": pods.limits(1, percent=30, cores=30),
    }

    def test_every_spelling_of_a_fraction_is_booked_as_asked_on_every_wiring(self):
        nodes = [wirings.wired_node(wiring.name, wiring) for wiring in wirings.ALL]
        nodes.append(wirings.unwired_node("unwired", wirings.PCIE))
        self.add_nodes(*nodes)
        for node in nodes:
            name = node["metadata"]["name"]
            for form, amounts in self.FORMS.items():
                self.place(pods.pod("%s-%s" % (name, form), amounts, node=name))
        self.assert_rightly_booked(self.states())
        self.wait_ledger_equals_records()

    def test_fractions_fill_a_gpu_before_they_open_another(self):
        self.use_node(wirings.DGX_1V)
        for number in range(8):
            self.place(pods.pod("quarter-%d" % number, pods.limits(1, percent=25, cores=25)))
            self.assertEqual(len(self.free()), 8 - (number // 4 + 1))

    def test_fractions_of_two_gpus_get_the_best_pair(self):
        self.use_node(wirings.A40_PAIRS)
        for number in range(4):
            state = self.place(pods.pod("two-%d" % number, pods.limits(2, percent=40)))
            self.assertEqual(self.wiring.worst_tier(pods.positions(state)), 0)
        self.assert_rightly_booked(self.states())

    def test_whole_gpus_keep_off_shared_ones(self):
        self.use_node(wirings.DGX_1V)
        shared = pods.positions(self.place(pods.pod("share", pods.limits(1, memory=1000))))
        chosen = self.place_whole(4)
        self.assertNotIn(shared[0], chosen)
        self.assert_best(chosen, frozenset(range(8)) - set(shared))

    def test_no_more_pods_share_a_gpu_than_it_has_slots(self):
        self.add_nodes(wirings.wired_node("small", wirings.PCIE, slots=2))
        for number in range(5):
            self.place(pods.pod("p%d" % number, pods.limits(1, memory=1000)))
        self.assert_rightly_booked(self.states())


class Containers(PlacementCase):

    def test_containers_side_by_side_get_different_devices(self):
        self.use_node(wirings.PCIE)
        state = self.place(pods.pod("two", None, containers=[
            pods.container("left", pods.limits(2)), pods.container("none", {}),
            pods.container("right", pods.limits(3))]))
        left, right = pods.positions(state, "left"), pods.positions(state, "right")
        self.assertEqual((len(left), len(right)), (2, 3))
        self.assertFalse(set(left) & set(right))

    def test_init_container_shares_the_devices_of_the_apps(self):
        self.use_node(wirings.PCIE)
        state = self.place(pods.pod(
            "init", None, initContainers=[pods.container("prepare", pods.limits(8))],
            containers=[pods.container("main", pods.limits(8))]))
        self.assertEqual(pods.positions(state, "prepare"), pods.positions(state, "main"))
        self.assert_rightly_booked(self.states())


class Judge(unittest.TestCase):
    """The judge itself, against what is known of these machines."""

    def test_nvlink_sums_agree_with_the_published_pair_scores(self):
        with open(os.path.join(wirings.DATA, "gpuallocator", "topologies.json")) as file:
            scores = json.load(file)["pair_score"]["dgx1v"]
        for a, b in itertools.combinations(range(8), 2):
            self.assertEqual(wirings.DGX_1V.nvlinks((a, b)), scores[a][b] // 100)

    def test_best_pairs_and_quads_are_those_of_the_data_sheets(self):
        self.assertEqual(wirings.DGX_1V.best_quality(range(8), 2), (0, -100, -100))
        self.assertEqual(wirings.DGX_1V.groups_left(range(8)), (2, 4))
        self.assertEqual(wirings.A40_PAIRS.groups_left({0, 1, 2, 4, 6}), (0, 1))
        self.assertEqual(wirings.PCIE.worst_tier((0, 1, 2, 3)), 1)


if __name__ == "__main__":
    unittest.main()
