/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request - what a pod asks for.
 *
 * A pod lists containers; each may ask for devices of one or more classes. Amounts are those of
 * EACH device asked for. Something asked for that could not be read is never dropped to zero: it
 * becomes `problem`, and such a pod is refused with that text until it is corrected.
 */
#ifndef TOPOFIT_REQUEST_H
#define TOPOFIT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/class_selection.h"
#include "topofit/device_class.h"
#include "topofit/isolation_mode.h"
#include "topofit/packing_policy.h"
#include "topofit/partition.h"
#include "topofit/peers.h"
#include "topofit/quota_scope.h"
#include "topofit/service.h"
#include "topofit/word_list.h"

#define REQUEST_CONTAINERS_MAX 64 /* containers of one pod that are looked at */
#define REQUEST_ASKS_MAX 32       /* asks of one pod */

/* When a container runs. source docs/concepts/requests.md#phases */
enum container_kind {
    CONTAINER_APP = 0, /* from start to end, beside the other apps */
    CONTAINER_INIT,    /* alone, before the apps, one after the other */
    CONTAINER_SIDECAR, /* an init container that keeps running (restartPolicy: Always) */
};

/*
 * Does a container run in a phase? A pod has one phase per init container (it, with the sidecars
 * before it) and the main phase (all apps with all sidecars).
 *
 * position  of the container in the pod; init and sidecar containers come first.
 * phase     position of the phase's init container, or PHASE_MAIN.
 * source    docs/concepts/requests.md#phases; kube-scheduler counts resources this way
 */
#define PHASE_MAIN SIZE_MAX
bool container_runs_in(enum container_kind kind, size_t position, size_t phase);

/* Do two containers of a pod, by kind and position, ever run at the same time? */
bool containers_run_together(enum container_kind kind_a, size_t a, enum container_kind kind_b,
                             size_t b);

struct container_request {
    char *name;
    enum container_kind kind;
};

enum __attribute__((packed)) memory_kind {
    MEMORY_WHOLE = 0, /* all memory of the device: no amount was given */
    MEMORY_MIB,
    MEMORY_PERCENT, /* of the device's own memory, rounded up to a MiB */
    MEMORY_PROFILE, /* that of the partition profile asked for */
    MEMORY_NONE,    /* a part of a device, whose memory is not asked for or not counted */
};

/* What one container wants of one class. */
struct ask {
    const struct device_class *class; /* borrowed */
    unsigned container;               /* position in request.containers */
    unsigned count;                   /* devices, at least 1 */
    uint64_t memory; /* MiB or percent of each device, at least 1; for MEMORY_PROFILE the MiB that
                      * the profile's name tells, for counting; else unused */
    uint16_t cores;  /* core units of each device, or percent of its own; 0 = no promise */
    uint16_t slices; /* exactly so many slices of a device that is cut into them; 0 = not asked */
    enum memory_kind memory_kind;
    bool by_cores;      /* the resource of cores was asked for, also where whole devices follow */
    bool cores_percent; /* what `cores` are: only a device knows how many units that is */
    char profile[PARTITION_NAME_MAX]; /* MEMORY_PROFILE: one partition of it, so count is 1 */
};

enum topology_mode { TOPOLOGY_SOFT = 0, TOPOLOGY_HARD, TOPOLOGY_OFF };

/* Demands as the pod states them; `has_` tells stated from left to the configuration. */
struct topology_demand {
    bool has_mode, has_max_tier, has_source;
    enum topology_mode mode;
    enum tier max_tier;
    enum topology_source source;
};

/* How full a device is, by parts: what each counts. All 0: not stated. */
#define DEVICE_WEIGHT_MAX 1000000
struct device_weights {
    uint32_t slots, cores, memory;
};

struct request {
    struct container_request *containers; /* in pod order: init and sidecar first, then apps */
    size_t container_count;
    struct ask *asks; /* in container order */
    size_t ask_count;
    struct topology_demand topology;
    enum packing_policy packing;
    bool has_packing;              /* packing is stated; else the configuration's counts */
    enum isolation_mode isolation; /* ISOLATION_NONE = not stated */
    enum service service;          /* for devices whose class matches services */
    enum application application;  /* the same */
    struct word_list use_devices, avoid_devices;   /* device ids; an empty list says nothing */
    struct word_list use_products, avoid_products; /* words of product names; the same */
    struct class_selections selections;            /* besides, of single classes */
    bool has_device_order, devices_spread;         /* stated: idle devices first, or used ones */
    struct device_weights weights;                 /* stated: what "used" means there */
    bool wants_idle;                               /* devices that no other pod is on */
    struct quota_traits traits;                    /* which quotas of its namespace count it */
    char *problem; /* why the pod cannot be served as written, or NULL */
};

void request_init(struct request *request);
void request_clear(struct request *request);

/* out is initialised here; the caller clears it. */
void request_copy(const struct request *from, struct request *out);

/* Do they ask for the same, in the same way? Classes are compared by where they are. */
bool request_equal(const struct request *a, const struct request *b);

/* Does the container of that position ask for the same in both? */
bool request_container_equal(const struct request *a, const struct request *b, size_t container);

/* How much memory it takes besides itself. */
size_t request_bytes(const struct request *request);

/* Let go of which devices are wanted: of a request with a problem nothing is decided. */
void request_forget_wishes(struct request *request);

void request_add_container(struct request *request, const char *name, enum container_kind kind);

/* Append an ask. Sets `problem` when there are more than REQUEST_ASKS_MAX. */
void request_add_ask(struct request *request, const struct ask *ask);

/* Note the first thing that could not be read; later ones are ignored. */
void request_set_problem(struct request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Does it name single devices, to have them or not? */
bool request_names_devices(const struct request *request);

/* Does the pod concern us at all: an ask, or something asked that could not be read? */
bool request_wants_devices(const struct request *request);

/*
 * Does the ask take devices whole: no memory amount was given, or the pod's isolation mode is
 * shared (one tenant on a device).
 */
bool ask_is_whole(const struct request *request, const struct ask *ask);

/* MiB that an ask books on a device of memory_mib; at least 1 unless the device has none. */
uint64_t ask_memory_mib(const struct request *request, const struct ask *ask, uint64_t memory_mib);

/*
 * Core units that an ask books on a device: taken whole without a figure, it books all of them. Of
 * percent at least one unit.
 */
uint16_t ask_cores(const struct request *request, const struct ask *ask, uint16_t device_cores);

/*
 * The isolation mode the pod's tenancy has on devices that are not divided: the one it states;
 * else SHARED for whole devices and SOFT for fractions. PARTITIONED for asks of a profile.
 */
enum isolation_mode ask_isolation_mode(const struct request *request, const struct ask *ask);

/* The same on a device that is divided: a partition, unless the pod states another mode. */
enum isolation_mode ask_divided_mode(const struct request *request);

#endif
