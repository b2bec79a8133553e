/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_job - one Binding to be written, and how that ended.
 *
 * The word between whoever decides a placement and whoever writes it. Plain data.
 */
#ifndef TOPOFIT_BIND_JOB_H
#define TOPOFIT_BIND_JOB_H

#include <stddef.h>
#include <stdint.h>

#include "topofit/device_class.h"

/* How a Binding ended. */
enum bind_outcome {
    BIND_BOUND = 0, /* the pod is known to be bound to that node with that record */
    BIND_FAILED,    /* it is known not to be, nor to become so: the reservation may go */
    BIND_UNCLEAR,   /* nobody knows: the reservation is kept until the pod tells */
};

struct annotation {
    char *key, *value;
};

struct bind_job {
    char *namespace, *name, *uid, *node;
    struct annotation *annotations;
    size_t annotation_count, annotation_capacity;
    /*
     * The annotation that tells this Binding from any other of the pod; its value stays as it is
     * written for the pod's life. NULL: the node alone tells. Borrowed, outlives the job.
     */
    const char *record_key;
    /*
     * What has to be locked on the node before the Binding is sent, for a device plugin that is
     * told in this way whom it serves.
     */
    enum node_lock lock;
    uint64_t deadline_ms; /* monotonic: when the caller stops waiting */
    uint64_t term;        /* of the lead in which its devices were booked; 0: without an election */
    /* Called exactly once; text says why for people, "" when bound, borrowed for the call. */
    void (*done)(void *ctx, enum bind_outcome outcome, const char *text);
    /*
     * Called exactly once after a BIND_UNCLEAR, however much later: bound or failed as it was
     * found out, or BIND_UNCLEAR again when nobody will try to find out any more. May be NULL.
     */
    void (*settled)(void *ctx, enum bind_outcome outcome);
    void *ctx;
};

/* A job without annotations, deadline and callback. The caller sets those. Copies the strings. */
struct bind_job *bind_job_new(const char *namespace, const char *name, const char *uid,
                              const char *node);
void bind_job_add_annotation(struct bind_job *job, const char *key, const char *value);

/* The value of an annotation, or NULL. Borrowed. */
const char *bind_job_annotation(const struct bind_job *job, const char *key);

/* Calls neither `done` nor `settled`; an unclear job lives until `settled` was called. */
void bind_job_free(struct bind_job *job);

#endif
