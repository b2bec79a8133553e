/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_rule - in which sets devices of a kind are given out, and who may share one.
 *
 * Data of a class: a vendor whose rule is of one of these kinds needs no code. A class may have
 * several rules; the first whose condition a node meets counts there. Without one the peer graph
 * alone decides. source: docs/reference/classes.md, docs/concepts/sets.md
 */
#ifndef TOPOFIT_SET_RULE_H
#define TOPOFIT_SET_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "topofit/device_class.h"

enum set_kind {
    SET_PEERS = 0, /* any set */
    SET_RUNS,      /* devices whose indices follow one another */
    SET_WINGS,     /* devices of one wing, else one of the listed crossings */
    SET_ZONES,     /* preferably devices of one zone */
    SET_MODULES,   /* whole modules; a single device where a module is broken already */
};

/* Which zone comes first of those that hold the set. */
enum zone_order {
    ZONES_SMALLEST = 0, /* that has the fewest candidates */
    ZONES_LARGEST,
};

/* A set across wings. */
struct set_crossing {
    struct class_numbers devices; /* by index, ascending */
};

struct set_crossings {
    struct set_crossing *items;
    size_t count;
};

struct set_rule {
    /* Condition: all NULL is always met. */
    char *label;    /* label of the node, or NULL ... */
    char *contains; /* ... whose value has this text in it, case aside; NULL: any value */
    char *product;  /* words of the product of the node's first device of the class, or NULL */

    enum set_kind kind;
    struct class_numbers counts;    /* devices that may be asked for at once; empty: any number */
    bool is_aligned;                /* runs: the first index is a multiple of the count */
    bool wraps;                     /* runs: the last index is followed by the first */
    uint32_t width;                 /* wings, modules: devices of one, by index; at least 1 */
    struct set_crossings crossings; /* wings */
    enum zone_order zone_order;     /* zones */
    bool whole_only;                /* zones: asks for less than all cores take any devices */

    bool same_devices;    /* all containers of a pod have the same devices */
    bool one_tenant;      /* nobody joins a device, whatever its tenant takes of it */
    bool equal_slices;    /* all slices of a device have the same memory */
    bool match_service;   /* service and application of the tenants must match (service.h) */
    uint32_t handles_max; /* of a node: its devices, and the slices they are split into; 0: any */
};

struct node;

/* The rule for a class on a node; never NULL. Borrowed. class may be NULL. */
const struct set_rule *set_rule_for(const struct device_class *class, const struct node *node);

/* What is wrong with a rule, or NULL. Static text. A class file with such a rule is refused. */
const char *set_rule_problem(const struct set_rule *rule);

#endif
