/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builders - nodes, requests and records for tests in a few words each.
 *
 * Devices are called "GPU-0", "GPU-1" ... by index. Containers are called "c0", "c1" ... by
 * position. Everything returned is the caller's.
 */
#ifndef TOPOFIT_TEST_BUILDERS_H
#define TOPOFIT_TEST_BUILDERS_H

#include "topofit/device_class.h"
#include "topofit/grant.h"
#include "topofit/map.h"
#include "topofit/node.h"
#include "topofit/request.h"

/* The class of all devices built here (resources as in classes/nvidia.yaml), and its table. */
extern const struct device_class test_class;
extern const struct class_table test_classes;

/* The hash key of tests. */
extern const struct hash_key test_key;

/* n devices of 100 cores without topology. */
struct node *node_plain(const char *name, unsigned n, uint64_t memory_mib, uint16_t slots);

/* As many devices as the matrix in test/data/topologies has, of 81920 MiB, 100 cores, 10 slots. */
struct node *node_wired(const char *name, const char *matrix);
struct node *node_8gpu_nvswitch(const char *name);
struct node *node_8gpu_pairs(const char *name); /* bridges 0-1 2-3 4-5 6-7, sockets 0-3 4-7 */

/* Nobody on any device. */
struct node_use use_none(const struct node *node);

/* One more tenant on a device. */
void use_take(struct node_use *use, const struct node *node, unsigned position, uint64_t memory_mib,
              uint16_t cores, enum isolation_mode mode);

/* What a container wants: of each of `count` devices mib, or percent, or all when both are 0. */
struct wish {
    enum container_kind kind;
    unsigned count; /* 0 = a container without devices */
    uint64_t mib, percent;
    uint16_t cores;
};

/* Append a container and what it wants to an initialised request. */
void request_wish(struct request *request, struct wish wish);

/* A request of one app container. */
struct request request_of(struct wish wish);

/* Append a line to the last container of an allocation. */
void record_line(struct allocation *allocation, const char *id, uint64_t memory_mib, uint16_t cores,
                 enum isolation_mode mode);

/* --- chance: a state that starts as a seed ---------------------------------------------------- */

unsigned chance_below(uint64_t *state, unsigned limit);
bool chance_one_in(uint64_t *state, unsigned n);

/* A request of 1..containers_max containers whose amounts suit devices of 1000..4000 MiB. */
void chance_request(uint64_t *state, unsigned containers_max, struct request *out);

/* A node of 1..devices_max such devices, some unhealthy or cordoned, with any wiring. */
struct node *chance_node(uint64_t *state, const char *name, unsigned devices_max);

#endif
