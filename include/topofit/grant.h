/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grant - what pods hold: the record of one pod, and the sums on one node.
 *
 * An allocation is what the pod's record says: per container the devices and amounts. Containers
 * that never run together share devices, so what the pod books on a device at a time is less than
 * the sum of its lines; allocation_grants() does that arithmetic, in this one place.
 */
#ifndef TOPOFIT_GRANT_H
#define TOPOFIT_GRANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/isolation_mode.h"
#include "topofit/node.h"
#include "topofit/partition.h"
#include "topofit/request.h"
#include "topofit/service.h"

/* One line of a record: a container on a device. */
struct allocated_device {
    char *id;
    uint64_t memory_mib;
    uint16_t cores;
    uint16_t slots;
    enum isolation_mode mode;
    enum service service;
    enum application application;
    struct partition_placement partition; /* with ISOLATION_PARTITIONED */
    uint32_t core_mask; /* which cores it has, where that is known (core_choice.h); else 0 */
};

struct allocated_container {
    char *name;
    enum container_kind kind;
    struct allocated_device *devices; /* empty for a container without devices */
    size_t device_count;
};

struct allocation {
    char *node;
    char *pod_uid;                          /* whose record it is; "" when it does not say */
    struct allocated_container *containers; /* all containers of the pod, in order */
    size_t container_count;
    enum tier tier; /* worst tier inside a container's set; TIER_INTERCONNECT for single devices */
    bool degraded;  /* the set search hit a limit */
};

void allocation_init(struct allocation *allocation);
void allocation_clear(struct allocation *allocation);
void allocation_copy(const struct allocation *from, struct allocation *out);
/* How much memory it takes besides itself. */
size_t allocation_bytes(const struct allocation *allocation);
bool allocation_equal(const struct allocation *a, const struct allocation *b);
struct allocated_container *allocation_add_container(struct allocation *allocation,
                                                     const char *name, enum container_kind kind);
struct allocated_device *allocation_add_device(struct allocated_container *container,
                                               const char *id);

/* One pod's holding on one device, over all its containers. */
struct grant {
    const char *id; /* borrowed from the allocation */
    uint64_t memory_mib;
    uint16_t cores;
    uint16_t slots;
    enum isolation_mode mode;
    enum service service;
    enum application application;
    struct partition_use partitions; /* of all its phases: they stay where they are */
    uint32_t core_mask;              /* of all its phases */
    bool is_planned;                 /* there is no record yet that could say which cores it has */
};

/*
 * What a pod books on each device: the greatest of its phases (each init container with the
 * sidecars started before it; then all apps with all sidecars). Of partitions it books all, each
 * once: containers that never run together may have the same one.
 *
 * init_done  the init containers have ended: only the last phase counts.
 * out        caller's array of `max` grants, in order of first mention.
 * return     how many were written; further devices than `max` are left out.
 * source     docs/concepts/requests.md#phases
 */
size_t allocation_grants(const struct allocation *allocation, bool init_done, struct grant *out,
                         size_t max);

/* A grant whose device is known by its position in the node; -1: the node does not report it. */
struct placed_grant {
    int position;
    struct grant grant;
};

/* What is in use on one device, summed over pods. */
struct device_use {
    uint64_t memory_mib;
    uint32_t cores;
    uint16_t slots;           /* tenants */
    bool exclusive;           /* a tenant holds all cores, or perhaps any: nobody may join */
    bool conflicted;          /* its records exceed it or mix modes: no new tenant until cured */
    enum isolation_mode mode; /* of its tenants; ISOLATION_NONE when idle */
    uint8_t service;          /* enum service of its tenants */
    uint8_t online, offline;  /* tenants of these applications, at most 255 */
    struct partition_use partitions;
    uint32_t core_mask; /* cores that are known to be taken */
};

/*
 * What is in use on one node. One that is kept with its node has room for its own devices only, so
 * it is copied with node_use_copy(), never by assignment.
 */
struct node_use {
    unsigned device_count; /* equals the node's */
    uint32_t unattributed; /* devices taken by pods whose record cannot tell which */
    struct device_use devices[DEVICE_MAX];
};

/* Bytes of the use of so many devices. */
#define NODE_USE_SIZE(device_count) \
    (offsetof(struct node_use, devices) + (device_count) * sizeof(struct device_use))

void node_use_copy(const struct node_use *from, struct node_use *out);

/* What a device is to people: the first of these that is true counts. */
enum device_state {
    DEVICE_CONFLICTED = 0,
    DEVICE_UNHEALTHY,
    DEVICE_CORDONED,
    DEVICE_IN_USE,
    DEVICE_IDLE,
};
#define DEVICE_STATE_COUNT 5

enum device_state device_state(const struct device *device, const struct device_use *use);

/* "conflicted", "unhealthy", "cordoned", "in use", "idle". Static storage. */
const char *device_state_name(enum device_state state);

/*
 * Add one grant to the sums of its device, keeping `mode`, `exclusive` and `conflicted` right. A
 * grant on a device that the node does not report counts as unattributed: fail closed. Sums beyond
 * the device are kept as they are and mark it conflicted: both records are true. Of a divided one
 * memory and cores end at what it has: only its partitions count.
 */
void node_use_add(struct node_use *use, const struct node *node, const struct grant *grant);

/* The same for who knows the position of the grant's device in the node, or -1. */
void node_use_add_at(struct node_use *use, const struct node *node, int position,
                     const struct grant *grant);

/*
 * Of two sums over a node, at different times say, what neither leaves free: the greater of each
 * amount. Where their modes differ nobody may join.
 */
void node_use_join(struct node_use *use, const struct node_use *other);

#endif
