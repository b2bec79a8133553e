/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease - which of several topofits may bind: leader election on a coordination.k8s.io Lease.
 *
 * A state machine without I/O: it is told what was answered and what time it is (monotonic ms,
 * never going back), and says which requests it wants sent; at most one is in flight. Not
 * thread-safe.
 *
 * The promise: at most one holder believes in its lease at a time, as long as clocks run at nearly
 * the same rate and nobody deletes or edits the Lease by hand. Times of other machines are never
 * compared: a record counts as renewed when it changed, at the local monotonic time we saw it. Our
 * own term is counted from when the request was SENT that the server confirmed, plus the renew
 * deadline; others wait a whole duration, the one that stands in the record.
 *
 * source  client-go tools/leaderelection
 */
#ifndef TOPOFIT_LEASE_H
#define TOPOFIT_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "topofit/api_call.h"
#include "topofit/error.h"
#include "topofit/moment.h"

/* The longest duration; a record that claims more is not believed. */
#define LEASE_DURATION_MAX_MS 600000u

#define LEASE_IDENTITY_MAX 256 /* bytes */

struct lease_options { /* strings are copied */
    const char *namespace, *name;
    const char *identity;       /* unique to this process, not only to this machine */
    uint64_t duration_ms;       /* others wait so long after the last change before they take it */
    uint64_t renew_deadline_ms; /* we stop believing so long after the last confirmed renewal */
    uint64_t retry_ms;          /* between two attempts; renew_deadline_ms > 1.2 * retry_ms */
    uint64_t seed;
};

/*
 * errors  ERR_INVALID for times that do not fit together: duration > renew deadline > 1.2 retry, by
 * LEASE_MARGIN_MIN_MS, retry > 0, duration <= LEASE_DURATION_MAX_MS; and for a name, namespace or
 * identity that cannot be one.
 */
int lease_check_options(const struct lease_options *options, struct error *err);

/*
 * How much longer others wait than we believe: what was begun in our term has that long to end. At
 * least LEASE_MARGIN_MIN_MS.
 */
uint64_t lease_margin_ms(const struct lease_options *options);
#define LEASE_MARGIN_MIN_MS 100u

/* The options must have passed lease_check_options(). */
struct lease *lease_new(const struct lease_options *options);
void lease_free(struct lease *lease);

/* As those of the binder. Whoever calls one of them looks at lease_held_until_ms() afterwards. */
bool lease_next_request(struct lease *lease, struct moment now, struct api_request *out);
uint64_t lease_next_due_ms(const struct lease *lease);
void lease_on_answer(struct lease *lease, uint64_t id, const struct api_answer *answer,
                     uint64_t now_ms);
void lease_on_loss(struct lease *lease, uint64_t id, bool was_sent, const char *why,
                   uint64_t now_ms);

/* Until when (monotonic ms) we may act as the leader; 0 when we are not. May lie in the past. */
uint64_t lease_held_until_ms(const struct lease *lease);

/*
 * Is nothing known yet, because the first round of requests has not come to an end? Once it has,
 * with whatever result, this stays false.
 */
bool lease_is_undecided(const struct lease *lease);

/*
 * Does the server keep no Leases: it refuses to make one, or says it has made one and has none?
 * Then nobody can be elected. False again as soon as there is one.
 */
bool lease_is_unsupported(const struct lease *lease);

/* The number of our present or last term, counted from 1; 0: we never led. */
uint64_t lease_term(const struct lease *lease);

/*
 * We were asked to do the leader's work while another leads: ask it to hand over. It does so when
 * it has been asked for nothing for a while, see lease_note_work(). Remembered for LEASE_WANT_MS
 * only; asking again is cheap.
 */
void lease_want(struct lease *lease, uint64_t now_ms);
#define LEASE_WANT_MS 5000u

/*
 * We do the leader's work now, or have just done: no handing over to others for LEASE_WORK_MS. To
 * be called again and again while such work is under way: a lease that is handed over is taken at
 * once by the other.
 */
void lease_note_work(struct lease *lease, uint64_t now_ms);
#define LEASE_WORK_MS 5000u

/*
 * Give the lease up if we hold it, and take none any more. To be called when all guarded work has
 * ended. Over when lease_is_resigned(): also when the server could not be told (others then wait
 * for the lease to run out). Goes on in lease_next_request() like everything else.
 */
void lease_resign(struct lease *lease, uint64_t now_ms);
bool lease_is_resigned(const struct lease *lease);

/* For metrics and people. */
struct lease_counters {
    uint64_t acquired, lost; /* times we became and stopped being the leader */
    uint64_t handed_over;    /* of the lost: because another asked for it */
    uint64_t errors;         /* requests lost or refused (a conflict is no error) */
};
const struct lease_counters *lease_counters(const struct lease *lease);

/*
 * Who leads as far as we know, "" when nobody; and what is wrong, "" when all is well. Borrowed,
 * until the next call of the machine.
 */
const char *lease_holder(const struct lease *lease);
const char *lease_problem(const struct lease *lease);

#endif
