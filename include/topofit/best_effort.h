/* SPDX-License-Identifier: Apache-2.0 */
/*
 * best_effort - the devices that NVIDIA's device plugin would choose: a baseline to compare with.
 *
 * Pure but for memory. A device plugin of Kubernetes chooses among the free devices of a node with
 * the best-effort policy of go-gpuallocator: split all of them into sets of the size asked for,
 * take the split with the highest sum of pair points, and of its sets the one with the most.
 * The library tries every split; this finds the same one (the first best in its order) by
 * remembering what the rest of a split is worth.
 * source: github.com/NVIDIA/go-gpuallocator, gpuallocator/besteffort_policy.go
 */
#ifndef TOPOFIT_BEST_EFFORT_H
#define TOPOFIT_BEST_EFFORT_H

#include <stdint.h>

#include "topofit/peers.h"

/* Free devices that are looked at; the library would take days for many more. */
#define BEST_EFFORT_DEVICES_MAX 16

/* Points of each pair of devices, symmetric. */
struct pair_points {
    uint16_t of[DEVICE_MAX][DEVICE_MAX];
};

/*
 * The points of a machine's pairs as the library counts them: 10 to 60 for the PCIe class, 100 for
 * each NVLink. A matrix shows one of the two: beside NVLinks the class is taken from the NUMA
 * nodes. Links of other vendors count as one NVLink.
 */
void best_effort_points(const struct peer_graph *graph, struct pair_points *out);

/*
 * The set that the policy chooses. Beyond BEST_EFFORT_DEVICES_MAX free devices: the first ones.
 *
 * return  `size` of the devices in `free`; 0 when there are fewer, and for size 0.
 */
device_mask best_effort_choose(const struct pair_points *points, device_mask free, unsigned size);

#endif
