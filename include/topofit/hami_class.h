/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hami_class - how HAMi spells the facts about one kind of device: group `hami` of a class.
 *
 * Plain data: the dialect (src/dialect/hami*.c) knows the forms, the class says which of them its
 * vendor uses and under which keys. docs/reference/hami.md
 */
#ifndef TOPOFIT_HAMI_CLASS_H
#define TOPOFIT_HAMI_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a node tells its devices. X(identifier, word in class files) */
#define HAMI_FORMS(X) \
    X(NONE, "none")         /* not at all */ \
    X(JSON, "json")         /* a list of objects, as NVIDIA's plugin writes it */ \
    X(CSV, "csv")           /* seven or nine fields a device */ \
    X(METAX, "metax")       /* MetaX's own list */ \
    X(ENFLAME, "enflame")   /* Enflame's own, with slices */ \
    X(CAPACITY, "capacity") /* by no annotation: as many devices as the kubelet counts */

enum hami_form {
#define X(id, word) HAMI_FORM_##id,
    HAMI_FORMS(X)
#undef X
        HAMI_FORM_COUNT
};

/* What else a plugin reads of a pod. `ids` and `indexes` are comma lists over all containers. */
#define HAMI_VALUES(X) \
    X(NONE, "none") /* nothing: takes an extra key of a class away */ \
    X(NODE, "node") \
    X(TIME_S, "seconds")      /* of the Binding, unix time */ \
    X(TIME_NS, "nanoseconds") /* the same */ \
    X(FALSE, "false")         /* the plugin makes it true */ \
    X(IDS, "ids") \
    X(INDEX, "index") /* of the first device */ \
    X(MINOR, "minor") /* the same, as its driver counts them */ \
    X(INDEXES, "indexes") \
    X(CORES_RESOURCE, "coresResource")     /* its name, for pods that ask for it */ \
    X(CORE_INDEXES, "coreIndexes")         /* devices, or cores for pods that ask for cores */ \
    X(DSMLU_PROFILE, "dsmluProfile")       /* index_cores_memory of the first device */ \
    X(METAX_DEVICES, "metaxDevices")       /* JSON: per container uuid, compute, vRam */ \
    X(ASCEND_DEVICES, "ascendDevices")     /* JSON: per device UUID, temp, memory, core */ \
    X(SLICE_CONTAINERS, "sliceContainers") /* JSON: per container request and profile */ \
    X(SLICES, "slices")                    /* slices of the first device */ \
    X(MIG_ALLOCATIONS, "migAllocations")   /* JSON: per partition container, device, placement */

enum hami_value {
#define X(id, word) HAMI_VALUE_##id,
    HAMI_VALUES(X)
#undef X
        HAMI_VALUE_COUNT
};

struct hami_extra {
    char *key;
    enum hami_value value;
};

/* A list of keys of annotations; of the shape of all lists of a class. */
struct hami_keys {
    char **items;
    size_t count;
};

struct hami_extras {
    struct hami_extra *items;
    size_t count;
};

/* Devices that no annotation lists, with ids made of the node's name: "n1-metax-0". */
struct hami_capacity {
    char *unless_annotation;  /* of the node: another class lists the same devices there */
    char *id_word;            /* "metax" */
    char *count_resource;     /* NULL: the class's own */
    uint32_t units;           /* of the resource that are one device; 0 as 1 */
    uint64_t memory_mib;      /* of each device; 0: by memory_resource */
    char *memory_resource;    /* of all devices together */
    uint64_t memory_unit_mib; /* of a number of it; 0 as 1 */
    char *cores_resource;     /* of all devices together; NULL: the class's cores */
    uint32_t slots;           /* tenants of a device; 0: as many as it has cores */
    bool numa_halves;         /* the second half of the devices is on NUMA node 1 */
};

struct hami_class {
    char *word; /* "NVIDIA", "Metax-SGPU"; NULL: HAMi does not know the class */
    enum hami_form form;
    char *register_key;    /* NULL with form capacity */
    char *handshake_key;   /* NULL: the plugin has none */
    char *scores_key;      /* pairs of devices; NULL: none */
    char *to_allocate_key; /* NULL: the plugin reads only the extra keys */
    char *allocated_key;   /* what a pod has; NULL only without a word */
    bool writes_product;   /* records call devices by their product instead of `word` */
    struct hami_keys use_types, avoid_types, use_ids, avoid_ids;
    char *numa_bind_key;
    char *mode_key;
    char *service_key, *application_key;
    struct hami_extras extras;
    struct hami_capacity capacity;
};

/* The words of class files. Static storage. */
const char *hami_form_name(enum hami_form form);
const char *hami_value_name(enum hami_value value);

#endif
