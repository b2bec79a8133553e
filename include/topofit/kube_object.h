/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_object - nodes, pods and quotas as Kubernetes writes them, reduced to what is ever looked
 * at.
 *
 * The output of the wire and the input of the dialects: plain strings, nothing interpreted yet.
 * All strings are owned and never NULL ("" when absent).
 */
#ifndef TOPOFIT_KUBE_OBJECT_H
#define TOPOFIT_KUBE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/request.h"

/* Most bytes of labels, annotations and amounts that are kept of one object. */
#define KUBE_TEXT_MAX_BYTES (1u << 20)

/* An ordered list of key and value: labels, annotations, resource amounts. */
struct kube_pairs {
    struct kube_pair {
        char *key;
        char *value;
    } *items;
    size_t count, capacity;
};

/* The value of a key, or NULL. Borrowed. The last one wins when a key is repeated. */
const char *kube_pairs_get(const struct kube_pairs *pairs, const char *key);
/* Append copies of a key and a value. */
void kube_pairs_add(struct kube_pairs *pairs, const char *key, const char *value);
void kube_pairs_clear(struct kube_pairs *pairs);

struct kube_meta {
    char *name, *namespace, *uid, *resource_version;
    struct kube_pairs labels, annotations;
    bool deleting; /* deletionTimestamp is set */
};

struct kube_container {
    char *name;
    enum container_kind kind;
    struct kube_pairs limits, requests;
    bool terminated_ok; /* status: ended with exit code 0 (init containers) */
    bool started;       /* status: running, or has ended */
};

struct kube_pod {
    struct kube_meta meta;
    struct kube_container *containers; /* init containers first, then apps */
    size_t container_count, container_capacity;
    char *node_name;
    char *phase;
    char *nominated_node;
    char *scheduler_name;
    char *priority_class;
    struct kube_pairs requests, limits; /* of the pod as a whole; most pods state none */
    struct kube_pairs overhead;         /* of its runtime class */
    int priority;
    uint64_t started_s; /* status.startTime, since 1970; 0 when absent */
    bool has_deadline;  /* activeDeadlineSeconds */
    bool gated;         /* schedulingGates is not empty */
    /*
     * Something was left out: containers beyond REQUEST_CONTAINERS_MAX, labels, annotations and
     * amounts beyond KUBE_TEXT_MAX_BYTES, or a text with a NUL. Such a pod cannot be served, and
     * what it holds cannot be known.
     */
    bool truncated;
};

struct kube_node {
    struct kube_meta meta;
    struct kube_pairs allocatable;
    bool unschedulable;
    bool truncated; /* as of a pod: labels, annotations or amounts were left out */
};

/* A scope of a quota, in either spelling; "" is not said. */
struct kube_scope {
    char *name, *op;
    char **values;
    size_t value_count;
    bool is_cut; /* it has more than is read */
};

/* A ResourceQuota. */
struct kube_quota {
    struct kube_meta meta;
    struct kube_pairs hard; /* of the spec */
    struct kube_scope *scopes;
    size_t scope_count, scope_capacity;
    bool truncated; /* as of a pod */
};

/* init: an empty object on the caller's storage, every string "". clear: accepts zeroed memory. */
void kube_pod_init(struct kube_pod *pod);
void kube_pod_clear(struct kube_pod *pod);
void kube_node_init(struct kube_node *node);
void kube_node_clear(struct kube_node *node);
void kube_quota_init(struct kube_quota *quota);
void kube_quota_clear(struct kube_quota *quota);
void kube_container_clear(struct kube_container *container);

#endif
