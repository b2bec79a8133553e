/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_class - a kind of device: the names of its resources and their units.
 *
 * Classes are data, one YAML file for each vendor in src/dialect/classes
 * (docs/reference/classes.md). What each field is called there, its limits and what it means stand
 * in the table of class_keys.h. The table of classes is read once at start and immutable
 * afterwards; everybody borrows pointers into it.
 */
#ifndef TOPOFIT_DEVICE_CLASS_H
#define TOPOFIT_DEVICE_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/error.h"
#include "topofit/hami_class.h"

/* Lists of a class file. All lists of a class begin like this: see class_keys.h. */
struct class_texts {
    char **items;
    size_t count;
};

struct class_numbers {
    uint64_t *items;
    size_t count;
};

/* What amounts mean when a container asks for more than one device. */
enum class_several {
    SEVERAL_EACH = 0, /* they are those of each device */
    SEVERAL_WHOLE,    /* the devices are taken whole, whatever the amounts say */
    SEVERAL_CORES,    /* all cores of each device, whatever the amount says */
    SEVERAL_REFUSED,  /* only whole devices may be asked for together */
};

/* A size in which devices are cut; ordered by memory. */
struct class_template {
    char *name; /* as the vendor's tools call it, or NULL */
    uint64_t memory_mib;
    uint16_t cores; /* of the device's own; 0 = not said */
};

struct class_templates {
    struct class_template *items;
    size_t count;
};

/* Which lock on a node its agent wants held from the Binding until it has served the pod. */
enum node_lock {
    NODE_LOCK_NONE = 0, /* none */
    NODE_LOCK_NAMED,    /* one that names the pod */
    NODE_LOCK_BARE,     /* one that names nobody */
};
#define NODE_LOCK_KINDS (NODE_LOCK_BARE + 1)

/* How its devices are given out (set_rule.h). The first whose condition a node meets counts. */
struct set_rule;
struct set_rules {
    struct set_rule *items;
    size_t count;
};

/* How devices of a product are divided (partition.h), for nodes that do not list it themselves. */
struct class_division;
struct class_divisions {
    struct class_division *items;
    size_t count;
};

struct device_class {
    char *name;  /* "nvidia" */
    char *title; /* for people: "NVIDIA GPU" */

    /* Names of resources; NULL: the class has none of that kind. One of count and slices is there.
     */
    char *count_resource;    /* whole numbers of devices */
    char *memory_resource;   /* memory of each device, in units or with a suffix */
    char *percent_resource;  /* memory of each device in percent */
    char *cores_resource;    /* compute of each device in core units */
    char *slices_resource;   /* slices of one device, exactly */
    char *priority_resource; /* of the tenant on its devices; decides nothing here */
    char *profile_resources; /* "nvidia.com/mig-": the name of a partition profile follows */

    struct class_numbers counts_allowed; /* empty: any */
    uint32_t count_multiple_of;          /* counts above one; 1 = any */
    uint32_t one_means;                  /* devices that a count of one takes */
    enum class_several several;

    bool memory_counted;                 /* false: devices have no memory worth telling */
    uint64_t memory_unit_mib;            /* of a number without a suffix */
    uint64_t memory_mib_above;           /* plain numbers above it are MiB; 0: none are */
    uint64_t memory_granule_mib;         /* amounts are rounded up to a multiple of it */
    bool memory_for_all;                 /* the amount is of all devices of the container */
    struct class_numbers memory_allowed; /* MiB; empty: any */
    struct class_templates templates;    /* amounts are rounded up to one; empty: any amount */
    uint64_t memory_capacity_mib;        /* more than the largest template: whole, up to this */

    uint16_t cores;           /* core units of a whole device, unless the inventory says more */
    bool cores_percent;       /* the amount is percent of the device's own core units */
    bool cores_for_all;       /* the amount is of all devices of the container */
    bool cores_addressed;     /* its runtime has a container's cores one by one: core_choice.h */
    bool cores_count_devices; /* cores alone, without a count, say how many devices */
    uint64_t
        cores_of_memory_mib; /* cores follow memory: all of them at so many MiB; 0: they do not */

    uint32_t default_count;      /* devices, when amounts are given and no count */
    uint64_t default_memory_mib; /* when no memory is given; 0: all of the device */
    uint16_t default_cores;      /* when no cores are given; 0: no promise */

    char *free_annotation; /* a pod with this annotation and value is cut in any size: */
    char *free_value;      /* no templates. NULL: there is no such mode */

    enum node_lock lock;

    struct hami_class hami;
    struct class_divisions hami_geometries; /* of devices that do not list their own partitions */
    struct set_rules sets;
    struct class_divisions divisions;

    /* For the webhook: names of environment variables, NULL where there are none. */
    char *visible_variable;     /* which devices a container sees */
    char *no_devices;           /* its value for none; NULL: an empty text */
    bool visible_by_id;         /* it takes ids as inventories have them, in a comma list */
    char *priority_variable;    /* gets the amount of the priority resource */
    char *core_policy_variable; /* whether cores are a limit: "force", "disable" */
    bool needs_runtime_class;   /* the container runtime of the devices is not the node's default */
};

/* What the amount of a resource says. */
enum class_amount {
    AMOUNT_COUNT = 0,
    AMOUNT_MEMORY,
    AMOUNT_PERCENT,
    AMOUNT_CORES,
    AMOUNT_SLICES,
    AMOUNT_KINDS,
};

/* One resource of one class. */
struct class_resource {
    const char *name; /* borrowed from the class */
    uint32_t class;   /* position in the table */
    enum class_amount amount;
};

/* Invariant once indexed: resources are sorted by name, each name once. */
struct class_table {
    struct device_class *items;
    size_t count;
    struct class_resource *resources; /* of all classes; owned */
    size_t resource_count;
};

/* Is the number one of the list? An empty one allows all. */
bool class_numbers_allow(const struct class_numbers *list, uint64_t number);

/* The class of that name, or NULL. Borrowed. */
const struct device_class *class_find(const struct class_table *classes, const char *name);

/* The name nearest to one that no class has, within `limit` edits; NULL: none is. Borrowed. */
const char *class_nearest(const struct class_table *classes, const char *name, unsigned limit);

/* The resource of that name, or NULL when it is none of any class. Borrowed. */
const struct class_resource *class_find_resource(const struct class_table *classes,
                                                 const char *name);

/*
 * Sort the resources of all classes, once all of them are there.
 *
 * errors  ERR_INVALID when two classes, or two amounts of a class, claim the same resource.
 */
int class_table_index(struct class_table *classes, struct error *err);

/* Free what a class owns; the table variant frees all of them. Accept zeroed memory. */
void class_clear(struct device_class *class);
void class_table_clear(struct class_table *classes);

#endif
