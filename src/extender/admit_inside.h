/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admit_inside - a pod while the rules look at it. For the files admit*.c only.
 */
#ifndef TOPOFIT_ADMIT_INSIDE_H
#define TOPOFIT_ADMIT_INSIDE_H

#include "topofit/admit.h"
#include "topofit/request.h"

#include <stddef.h>

struct admission {
    const struct class_table *classes;
    const struct admit_policy *policy;
    const struct admit_quota *quota; /* or NULL */
    const struct request *request;   /* what the pod asks for, as it came */
    bool wants_devices;
    json_t *pod, *spec;  /* ours to edit */
    json_t **containers; /* [container_count] init and sidecar first, as in the request; borrowed */
    size_t container_count; /* more than the request has, when that is cut */
    struct admit_verdict *out;
};

/* What a rule says. */
enum admit_step {
    ADMIT_GO_ON = 0,
    ADMIT_LEAVE, /* the pod stays as it came */
    ADMIT_STOP,  /* refused: by admit_refuse */
};

typedef enum admit_step admit_rule_fn(struct admission *admission, enum admit_rule rule);

/* Refuse the pod; the text says why, and admit adds how to keep us away from a pod. */
enum admit_step admit_refuse(struct admission *admission, enum admit_rule rule, unsigned code,
                             const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Leave the pod as it came. */
enum admit_step admit_leave(struct admission *admission, enum admit_rule rule);

/* Tell whoever made the pod something. */
void admit_warn(struct admission *admission, enum admit_rule rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A rule did something to the pod, and did not refuse it. */
void admit_note(struct admission *admission, enum admit_rule rule);

/* A text member, or "". */
const char *admit_text(const json_t *object, const char *key);

/* A member that is an object or a list; made in its place when it is missing or something else. */
json_t *admit_object(json_t *parent, const char *key);
json_t *admit_list(json_t *parent, const char *key);

/* What a container asks for is written into limits and requests, in the units of the class. */
admit_rule_fn admit_amounts;

/* What says that the pod was given devices is taken away. */
admit_rule_fn admit_records;

/* Environment variables. */
admit_rule_fn admit_deliverable, admit_priority, admit_core_policy, admit_deliver, admit_guard;

#endif
