/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binder - writes Bindings and finds out what became of them.
 *
 * A state machine without I/O: it is told what was answered and what time it is (monotonic ms,
 * never going back), and says which requests it wants sent. Any number of its requests may be in
 * flight, one for each job. Not thread-safe.
 *
 * The promise: BIND_BOUND only when the API server said so; BIND_FAILED only when the pod is not
 * bound by this job and cannot become so by a request that was lost on its way; everything else is
 * BIND_UNCLEAR at the job's deadline, and looked after until it is one of the two: a pod that is
 * still unbound when the last Binding cannot be executed any more (BINDER_LATE_MS) is not bound by
 * it.
 * source docs/architecture.md#one-bind-call
 */
#ifndef TOPOFIT_BINDER_H
#define TOPOFIT_BINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/api_call.h"
#include "topofit/bind_job.h"
#include "topofit/error.h"

#define BINDER_BODY_MAX_BYTES \
    (1u << 20) /* of a Binding; the API server takes 256 KiB of annotations */

/*
 * When a Binding is executed or never will be: it is written within its time limit, it arrives
 * within API_NETWORK_MS, and the API server ends it after its time limit again. As much once more
 * is allowed for, and at least BINDER_LATE_MS in all.
 */
#define BINDER_LATE_MS 30000u

/* For metrics and people. */
struct binder_counters {
    uint64_t posts, gets;            /* requests sent */
    uint64_t lost;                   /* requests whose answer did not come or could not be used */
    uint64_t bound, failed, unclear; /* jobs by outcome */
    uint64_t settled;                /* unclear jobs that were found out about later */
};

struct binder;

/*
 * jobs_max  jobs that may be in flight at once; as many may be settled beside them.
 * seed      for the waits between attempts.
 */
struct binder *binder_new(size_t jobs_max, uint64_t seed);

/*
 * Jobs in flight are done first: unclear if one of their Bindings may have been executed. Jobs
 * being settled end as BIND_UNCLEAR.
 */
void binder_free(struct binder *binder);

/* Can these be the names of a pod and a node, and is there a uid? errors ERR_INVALID. */
int binder_check_names(const struct bind_job *job, struct error *err);

/*
 * Take over a job.
 *
 * errors  ERR_BUSY when too many are in flight; ERR_INVALID for names that cannot be; ERR_LIMIT
 *         for annotations beyond BINDER_BODY_MAX_BYTES. The job then stays the caller's.
 */
int binder_submit(struct binder *binder, struct bind_job *steal_job, uint64_t now_ms,
                  struct error *err);

/*
 * Bindings may be sent so that they are written, and their time limit has passed once more, before
 * until_ms; 0: none at present, as from the start UINT64_MAX: always. Jobs that would have to send
 * one without it end, or go on being settled when an earlier one is in doubt. So do, once they
 * would, all that were in flight at a 0: what they book may have been given away meanwhile. Looks
 * at pods need no permission.
 */
void binder_permit(struct binder *binder, uint64_t until_ms);

/*
 * The next request to send; it counts as in flight from now on. Also ends jobs whose deadline has
 * come. return false when there is none at present.
 */
bool binder_next_request(struct binder *binder, uint64_t now_ms, struct api_request *out);

/* When to ask again if no answer comes before; UINT64_MAX when there is nothing to do. */
uint64_t binder_next_due_ms(const struct binder *binder);

/* A complete answer. Ids of jobs that are done already are ignored, here and below. */
void binder_on_answer(struct binder *binder, uint64_t id, const struct api_answer *answer,
                      uint64_t now_ms);

/*
 * No complete answer.
 *
 * was_sent  false only when the request is known not to have reached the server.
 * why       for people.
 */
void binder_on_loss(struct binder *binder, uint64_t id, bool was_sent, const char *why,
                    uint64_t now_ms);

/* Jobs that are not done, and those being settled; and the latter alone. */
size_t binder_in_flight(const struct binder *binder);
size_t binder_settling(const struct binder *binder);

/* Borrowed; changes with every call. */
const struct binder_counters *binder_counters(const struct binder *binder);

#endif
