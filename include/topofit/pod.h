/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod - what is kept of a pod. Immutable once built, reference counted atomically.
 */
#ifndef TOPOFIT_POD_H
#define TOPOFIT_POD_H

#include <stdbool.h>
#include <stdint.h>

#include "topofit/grant.h"
#include "topofit/host.h"
#include "topofit/request.h"

struct pod {
    unsigned references;
    const char *namespace, *name, *uid; /* in `identity` */
    const char *full_name;              /* "namespace/name", the same */
    char *node;                         /* "" until bound */
    char *nominated; /* node that kube-scheduler has chosen for it, with evictions; NULL: none */
    bool finished;   /* phase Succeeded or Failed: holds nothing any more */
    bool deleting;   /* a deletion time is set; holds its devices until it is gone */
    bool init_done;
    /*
     * Its node's agent has given it its devices, or has failed to: it runs or ran, or its bind
     * phase says so. No lock on the node is held for it any more.
     */
    bool handed_out;
    bool gated; /* has scheduling gates: cannot be bound */
    int priority;
    struct host_amounts host; /* what it takes of its node besides devices */
    uint64_t started_s;       /* when it started, since 1970; 0: not known */
    struct request request;
    bool has_record; /* `record` was there and readable */
    struct allocation record;
    char *record_problem; /* why the record cannot be read, or NULL */
    char identity[];
};

/* An empty pod with one reference. */
struct pod *pod_new(const char *namespace, const char *name, const char *uid);
struct pod *pod_ref(struct pod *pod);
void pod_unref(struct pod *pod);
void pod_unref_pointer(struct pod **pod);

/* Does it hold devices: bound to a node and not finished? */
bool pod_holds_devices(const struct pod *pod);

/* Does it wait, in earnest, for devices of a node that it is nominated to? */
bool pod_waits_nominated(const struct pod *pod);

/* A copy of a pod that is bound to a node, without a record; one reference for the caller. */
struct pod *pod_bound(const struct pod *pod, const char *node);

/*
 * What is to be remembered of a pod whose request has a problem: who it is, and the problem. One
 * reference for the caller.
 */
struct pod *pod_unserved(const struct pod *pod);

/* How much memory it takes. */
size_t pod_bytes(const struct pod *pod);

/* Is all that is kept of them the same? What is wrong with a record is not compared, only that. */
bool pod_equal(const struct pod *a, const struct pod *b);

/* Do two versions of a pod carry the same record (or the same lack of one)? */
bool pod_same_record(const struct pod *a, const struct pod *b);

#endif
