/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host - CPU and memory of the machine that devices sit in.
 *
 * kube-scheduler itself sees to it that they suffice. They are counted here because a device whose
 * host has no CPU left is as good as taken: ranking wants to know.
 */
#ifndef TOPOFIT_HOST_H
#define TOPOFIT_HOST_H

#include <stdbool.h>
#include <stdint.h>

/* What a host has, what is used of it, or what a pod asks of it. */
struct host_amounts {
    uint64_t cpu_milli;
    uint64_t memory_mib;
};

/* Sums and differences stop at the ends of the range: amounts come from outside. */
struct host_amounts host_add(struct host_amounts a, struct host_amounts b);
struct host_amounts host_subtract(struct host_amounts from, struct host_amounts what);

/* The greater of each. */
struct host_amounts host_max(struct host_amounts a, struct host_amounts b);

bool host_equal(struct host_amounts a, struct host_amounts b);

#endif
