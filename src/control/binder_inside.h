/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binder_inside - one Binding under way, and the steps that its answers lead to. For the binder's
 * two files only: binder.c sends and waits, binder_answer.c judges what was answered.
 */
#ifndef TOPOFIT_BINDER_INSIDE_H
#define TOPOFIT_BINDER_INSIDE_H

#include "topofit/backoff.h"
#include "topofit/binder.h"
#include "topofit/buf.h"
#include "topofit/jitter.h"

enum step { POST_WANTED = 0, POST_SENT, GET_WANTED, GET_SENT };

struct attempt {
    struct bind_job *job;
    uint64_t id; /* of the request in flight or the last one */
    enum step step;
    uint64_t send_at_ms; /* POST_WANTED, GET_WANTED */
    unsigned posts;
    bool in_doubt;       /* a Binding was sent, and how the server took it is not known */
    bool is_unexplained; /* an answer left open how the pod stands, and no look has told since */
    bool last_was_lost;
    bool is_outdated; /* planned before a time in which others could bind */
    bool is_settling; /* the job is done and unclear; only looks go on */
    uint64_t late_ms; /* from then on the last Binding is executed or never will be */
    struct backoff backoff;
    struct buf body;
    char problem[ERROR_TEXT_MAX]; /* the last thing that went wrong */
};

struct binder {
    struct attempt *attempts; /* order of submission */
    size_t attempt_count;
    size_t settling_count; /* of these */
    size_t jobs_max;       /* not done; as many may be settling beside them */
    uint64_t last_id;
    uint64_t permitted_until_ms;
    struct jitter jitter;
    struct buf path;
    struct binder_counters counters;
};

/* The job has ended. The attempt is gone afterwards: its place is taken by those behind it. */
void binder_finish(struct binder *binder, struct attempt *attempt, enum bind_outcome outcome,
                   const char *text);
void binder_finish_failed(struct binder *binder, struct attempt *attempt, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Remember what went wrong last, for the text of a job that ends. */
void binder_note_problem(struct attempt *attempt, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Wait, then take `step`; the attempt is gone afterwards if that was the last try. */
void binder_try_again(struct binder *binder, struct attempt *attempt, enum step step,
                      uint64_t retry_after_s, uint64_t now_ms);

/* Find out how things stand, at once the first time. */
void binder_look(struct binder *binder, struct attempt *attempt, uint64_t now_ms);

/* What a complete answer to a POST or a GET means for the attempt. */
void binder_take_post_answer(struct binder *binder, struct attempt *attempt,
                             const struct api_answer *answer, uint64_t now_ms);
void binder_take_get_answer(struct binder *binder, struct attempt *attempt,
                            const struct api_answer *answer, uint64_t now_ms);

#endif
