/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quota - how much of each class the pods of a namespace may hold together, and what one takes.
 *
 * Limits are those of core/v1 ResourceQuota objects, `limits.<resource>`, for the memory and the
 * core resource of a class. What is counted is what pods really get: the memory of each of their
 * devices in MiB, percentages and whole devices resolved, and core units in the same way.
 *
 * Plain data and arithmetic; several objects hold at once, so the smallest limit counts.
 * source: docs/concepts/quota.md
 */
#ifndef TOPOFIT_QUOTA_H
#define TOPOFIT_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/grant.h"
#include "topofit/quota_scope.h"
#include "topofit/request.h"

enum quota_kind { QUOTA_MEMORY = 0, QUOTA_CORES, QUOTA_KINDS };

#define QUOTA_NO_LIMIT UINT64_MAX

/* The resource of a class that is counted, or NULL. Borrowed. */
const char *quota_resource(const struct device_class *class, enum quota_kind kind);

/* An amount (MiB, core units) in the units in which that resource is written, rounded up. */
uint64_t quota_in_units(const struct device_class *class, enum quota_kind kind, uint64_t amount);

/* --- objects --------------------------------------------------------------------------------- */

struct quota_limit {
    const struct device_class *class; /* borrowed */
    enum quota_kind kind;
    uint64_t amount; /* MiB or core units; 0: none may be had */
};

/* One ResourceQuota. Limits of other resources are left out. */
struct quota {
    char *namespace, *name, *uid;
    struct quota_limit *limits;
    size_t limit_count;
    struct quota_scope *scopes; /* it counts the pods that all of them match */
    size_t scope_count;
    char **remarks; /* what of it does not do what it seems to, for people */
    size_t remark_count;
};

struct quota *quota_new(const char *namespace, const char *name, const char *uid);
void quota_free(struct quota *quota); /* NULL is fine */
void quota_free_pointer(struct quota **quota);
void quota_add_limit(struct quota *quota, const struct quota_limit *limit);
void quota_steal_scope(struct quota *quota, struct quota_scope *steal_scope);
void quota_add_remark(struct quota *quota, char *steal_remark);
bool quota_equal(const struct quota *a, const struct quota *b);
bool quota_same_remarks(const struct quota *a, const struct quota *b);

/* Does the object count pods with these traits? */
bool quota_covers(const struct quota *quota, const struct quota_traits *traits);

/* The limit of an object, QUOTA_NO_LIMIT when it sets none. */
uint64_t quota_limit_of(const struct quota *quota, const struct device_class *class,
                        enum quota_kind kind);

/* --- what one pod takes ---------------------------------------------------------------------- */

#define CHARGES_MAX REQUEST_ASKS_MAX

/* What a pod takes of one class, over all its devices. */
struct charge {
    const struct device_class *class; /* borrowed */
    uint64_t amounts[QUOTA_KINDS];    /* MiB, core units */
};

/*
 * What a pod with this record is charged, class by class: the most of its phases (each init
 * container with the sidecars before it; then all apps with all sidecars), summed over devices.
 * Unlike what is booked on one device this does not depend on which device a container got.
 *
 * request    of the pod: tells the classes of the record's devices.
 * init_done  the init containers have ended: only the last phase counts.
 * out        [CHARGES_MAX]
 * return     how many are written.
 */
size_t charges_of_record(const struct request *request, const struct allocation *record,
                         bool init_done, struct charge *out);

/* How big the devices of a class are. */
struct device_size {
    uint64_t memory_mib;
    uint16_t cores;
    bool no_profiles; /* partitions by name count as nothing: they may have less than it says */
};
typedef struct device_size (*device_size_of)(const void *ctx, const struct device_class *class);

/*
 * The same for a pod that has no devices yet, or none that are known, if all devices it gets are
 * of the size that size_of tells. What is asked for in MiB does not depend on that.
 */
size_t charges_of_request(const struct request *request, bool init_done, device_size_of size_of,
                          const void *ctx, struct charge *out);

/* --- what is left for one pod ---------------------------------------------------------------- */

/* One class that the pod asks for, in its namespace. */
struct quota_line {
    const struct device_class *class;
    uint64_t limits[QUOTA_KINDS]; /* of the object that leaves least, or QUOTA_NO_LIMIT */
    uint64_t used[QUOTA_KINDS];   /* by other pods that it counts; may be more than the limit */
    bool is_scoped[QUOTA_KINDS];  /* an object that limits it does not count all pods */
};

/* Classes without a limit are left out. */
struct quota_room {
    size_t count;
    struct quota_line lines[CHARGES_MAX];
};

/* The line of a class, or NULL: no limit. */
const struct quota_line *quota_room_line(const struct quota_room *room,
                                         const struct device_class *class);

/* How much may still be taken; QUOTA_NO_LIMIT without a limit. */
uint64_t quota_left(const struct quota_line *line, enum quota_kind kind);

/* The first charge of which there is not so much left, or NULL; the kind goes to *out_kind. */
const struct charge *quota_first_over(const struct quota_room *room, const struct charge *charges,
                                      size_t count, enum quota_kind *out_kind);

/*
 * A pod with these charges is gone: less is used.
 *
 * is_alike  it has the traits of the pod whose room it is. One that has not may count elsewhere
 *           than where it matters: nothing is given back then of what is scoped.
 */
void quota_room_give_back(struct quota_room *room, const struct charge *charges, size_t count,
                          bool is_alike);

/* Why a pod is refused. */
struct quota_shortage {
    const struct device_class *class; /* NULL: there is none */
    enum quota_kind kind;
    uint64_t wanted, used, limit;
};

/* "limits.nvidia.com/gpumem of the namespace: 2001 wanted, 8000 of 10000 used", cut to fit. */
void quota_shortage_describe(const struct quota_shortage *shortage, char *text, size_t size);

#endif
