/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admit - what becomes of a pod that is being created: left alone, edited, or refused.
 *
 * Pure but for the quota that it is handed: a pod, classes and a policy in, an edited pod or a
 * refusal out. The rules stand in one table, in the order in which they are asked;
 * docs/reference/webhook.md explains each. Invariants: an edit never changes what a pod asks for,
 * and an edited pod is not edited again.
 */
#ifndef TOPOFIT_ADMIT_H
#define TOPOFIT_ADMIT_H

#include <stdbool.h>

#include <jansson.h>

#include "topofit/device_class.h"
#include "topofit/error.h"
#include "topofit/request.h"

/* X(identifier, name) in the order in which they are asked. */
#define ADMIT_RULES(X) \
    X(RECORDS, "records") \
    X(OPTED_OUT, "opted-out") \
    X(MIRROR, "mirror") \
    X(OTHER_SCHEDULER, "other-scheduler") \
    X(UNMANAGED, "unmanaged") \
    X(REQUEST, "request") \
    X(PRIVILEGED, "privileged") \
    X(NODE_NAME, "node-name") \
    X(QUOTA, "quota") \
    X(DELIVERABLE, "deliverable") \
    X(SCHEDULER, "scheduler") \
    X(AMOUNTS, "amounts") \
    X(RUNTIME_CLASS, "runtime-class") \
    X(PRIORITY, "priority") \
    X(CORE_POLICY, "core-policy") \
    X(DELIVERY, "delivery") \
    X(VISIBLE_DEVICES, "visible-devices")

enum admit_rule {
#define X(id, name) ADMIT_##id,
    ADMIT_RULES(X)
#undef X
        ADMIT_RULE_COUNT
};

/* Static storage. */
const char *admit_rule_name(enum admit_rule rule);

/* Whose pods are ours, beside those that name our scheduler. */
enum admit_takes_over {
    TAKES_OVER_DEFAULT = 0, /* those that name none, or default-scheduler */
    TAKES_OVER_ANY,
    TAKES_OVER_NONE,
};

/* What becomes of a pod that asks for devices and has a privileged container. */
enum admit_privileged {
    PRIVILEGED_DENY = 0,
    PRIVILEGED_IGNORE, /* it is left to the default scheduler */
    PRIVILEGED_WARN,   /* as others, with a warning */
};

/* How the devices get into a container. */
enum admit_delivery {
    DELIVERY_NONE = 0,     /* something on the node sees to it */
    DELIVERY_DOWNWARD_API, /* a variable has them from the pod's annotation */
};

enum admit_core_policy { CORE_POLICY_DEFAULT = 0, CORE_POLICY_FORCE, CORE_POLICY_DISABLE };

/* All texts borrowed, never NULL. */
struct admit_policy {
    const char *scheduler_name;     /* "": the name is left as it is */
    const char *runtime_class_name; /* "": none is set */
    const char *guarded_classes;    /* comma list of classes whose devices nobody sees unasked */
    char *const *resources;         /* [resource_count] those about which topofit is asked */
    size_t resource_count;          /* 0: those of all classes */
    enum admit_takes_over takes_over;
    enum admit_privileged privileged;
    enum admit_delivery delivery;
    enum admit_core_policy core_policy;
};

/* Who knows what the pod's namespace may still have. */
struct admit_quota {
    void *ctx;
    /*
     * Can no pod with this request be placed now, for the quota of its namespace?
     *
     * request  with asks, without a problem.
     * text     [size] receives why, and what to do. May be called from several threads.
     */
    bool (*refuses)(void *ctx, const struct request *request, char *text, size_t size);
};

enum admit_end { ADMIT_UNCHANGED = 0, ADMIT_PATCHED, ADMIT_REFUSED };
#define ADMIT_END_COUNT 3

struct admit_verdict {
    enum admit_end end;
    unsigned acted;     /* bit r: rule r decided, edited or warned */
    json_t *pod;        /* PATCHED: the pod as it should be; owned */
    json_t *warnings;   /* texts for whoever made the pod; owned */
    unsigned code;      /* REFUSED: as in HTTP */
    const char *reason; /* REFUSED: a CamelCase word in static storage */
    char *message;      /* REFUSED: why, and what to do; owned */
};

/*
 * Judge a pod.
 *
 * pod     borrowed, not changed.
 * quota   NULL: nobody counts.
 * out     the caller clears it.
 * errors  ERR_INVALID, ERR_LIMIT: it has not the form of a Pod.
 */
int admit(const json_t *pod, const struct class_table *classes, const struct admit_policy *policy,
          const struct admit_quota *quota, struct admit_verdict *out, struct error *err);
void admit_verdict_clear(struct admit_verdict *verdict);

#endif
