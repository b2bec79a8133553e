/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binder_story - a binder, a made-up time, and how its last job ended.
 *
 * The test plays the API server: it looks at story->path and says what is answered.
 */
#ifndef TOPOFIT_BINDER_STORY_H
#define TOPOFIT_BINDER_STORY_H

#include "support/test.h"

#include "topofit/binder.h"

#define T0 1000000u
#define DEADLINE (T0 + 6000u)
#define STORY_JOBS_MAX 4
#define RECORD "topofit.io/allocation"
#define POD_PATH "/api/v1/namespaces/default/pods/p1"

struct bind_story {
    struct binder *binder;
    uint64_t now_ms;
    struct api_request request; /* the last one */
    char path[512];
    bool is_post;
    unsigned done, settled;
    enum bind_outcome settled_outcome;
    enum bind_outcome outcome;
    char text[ERROR_TEXT_MAX];
};

/* A story whose first Binding, of job_new(), is on its way. */
struct bind_story *bind_story_new(void);
void bind_story_free(struct bind_story **place);

/* A job for pod default/p1 with uid-1 to node n0, with the record "ours". */
struct bind_job *job_new(struct bind_story *story);
void on_done(void *ctx, enum bind_outcome outcome, const char *text);
void on_settled(void *ctx, enum bind_outcome outcome);

/* Take the next request, if there is one now; it is story->request, path and is_post then. */
bool next_request(struct bind_story *story);

/* Let time pass until something is to be sent. return false when the job ended before. */
bool wait_for_request(struct bind_story *story);

/* What becomes of the last request. */
void reply(struct bind_story *story, int status, const char *body);
void lose(struct bind_story *story, bool was_sent);

#define expect_done(story, want_outcome, part) \
    do { \
        assert_int_equal((story)->done, 1); \
        assert_int_equal((story)->outcome, want_outcome); \
        assert_contains((story)->text, part); \
        assert_int_equal(binder_in_flight((story)->binder), binder_settling((story)->binder)); \
    } while (0)

#define STATUS(code, reason) \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\"," \
    "\"message\":\"the message\",\"reason\":\"" reason "\",\"code\":" code "}"
#define POD(uid, meta, spec) \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p1\",\"namespace\":" \
    "\"default\",\"uid\":\"" uid "\",\"resourceVersion\":\"7\"" meta \
    "},\"spec\":{\"containers\":[]" spec "},\"status\":{\"phase\":\"Pending\"}}"
#define NOTED(value) ",\"annotations\":{\"" RECORD "\":\"" value "\"}"
#define ON(node) ",\"nodeName\":\"" node "\""

#endif
