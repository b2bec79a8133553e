/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class_nodes - nodes and requests of any class, and masks in a few words, for tests of set rules
 * and partitions.
 */
#ifndef TOPOFIT_TEST_CLASS_NODES_H
#define TOPOFIT_TEST_CLASS_NODES_H

#include "topofit/grant.h"
#include "topofit/node.h"
#include "topofit/partition.h"
#include "topofit/request.h"

/* n devices of a class with indices 0..n-1, its core units, and no topology. */
struct node *node_of_class(const struct device_class *class, unsigned n, uint64_t memory_mib,
                           uint16_t slots);

/* Divide all devices of a node. The table's reference is taken over. */
void node_divide(struct node *node, struct partition_table *steal_table);

/* The table of a division of a class. */
struct partition_table *table_of(const struct device_class *class, const char *product);

/* One app container that asks for devices of a class, whole when mib is 0. */
struct request request_of_class(const struct device_class *class, unsigned count, uint64_t mib,
                                uint16_t cores);

/* Append a container that asks for partitions of a profile, or, with mib, by memory. */
void request_profile(struct request *request, const struct device_class *class,
                     enum container_kind kind, const char *profile, uint64_t mib);

/* Positions as digits: "0145". */
device_mask mask_from(const char *digits);

/* A whole tenant on each device of a mask. */
void use_whole(struct node_use *use, const struct node *node, device_mask devices);

#endif
