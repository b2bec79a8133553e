/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease_story - a lease of identity "us" (15 s, 10 s, 2 s) and a made-up time.
 *
 * The test plays the API server: it looks at story->request and says what is answered.
 */
#ifndef TOPOFIT_LEASE_STORY_H
#define TOPOFIT_LEASE_STORY_H

#include "support/test.h"

#include "topofit/lease.h"
#include "topofit/lease_json.h"

#define T0 1000000u
#define UNIX0 1700000000000u
#define RETRY 2000u
#define DEADLINE 10000u
#define DURATION 15000u
#define LEASES_PATH "/apis/coordination.k8s.io/v1/namespaces/gpu/leases"
#define LEASE_PATH LEASES_PATH "/topofit"

struct lease_story {
    struct lease *lease;
    uint64_t now_ms;
    struct api_request request;  /* the last one */
    struct lease_record written; /* what it would write, if anything */
    uint64_t sent_ms;
    unsigned version; /* of the Lease */
};

/* A story that has sent nothing yet. */
struct lease_story *lease_story_new(void);
/* One in which we became the leader at T0, by taking a Lease of nobody. */
struct lease_story *lease_story_leading(void);
/* One in which "they" hold the Lease and we saw so at T0. */
struct lease_story *lease_story_waiting(void);
void lease_story_free(struct lease_story **place);

/* Take the next request, if there is one now. */
bool take_request(struct lease_story *story);
/* Let time pass until something is to be sent, and check the method. */
void wait_for_call(struct lease_story *story, const char *method);
/* The same without any time passing. */
void expect_call(struct lease_story *story, const char *method);

/* What becomes of the last request. */
void answer_with(struct lease_story *story, int status, const char *body);
void answer_status(struct lease_story *story, int status);
void drop(struct lease_story *story, bool was_sent);

/* It was done: a PUT or POST is answered by what it wrote, under a new version. */
void answer_written(struct lease_story *story);
/* A look finds this under story->version. wanted_by: "" for nobody. */
void answer_lease(struct lease_story *story, const char *holder, int duration_s,
                  const char *wanted_by);
/* A look finds what the last write of ours would have written, under a new version. */
void answer_as_written(struct lease_story *story);

bool is_leading(const struct lease_story *story);

#endif
