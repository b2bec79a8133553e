/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world - one seed: an API server, some topofits, a kube-scheduler, people, and what goes wrong.
 *
 * One thread and one clock, which only the agenda moves. Rounds of trouble are followed by calm, in
 * which everything has to come to rest as it should be.
 */
#ifndef TOPOFIT_SIM_WORLD_H
#define TOPOFIT_SIM_WORLD_H

#include "agenda.h"
#include "chance.h"
#include "faults.h"
#include "trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPLICAS_MAX 5

/* Mistakes that are put in on purpose, to see that they are found. */
#define PLANTS(X) \
    X(NONE, "none", "") \
    X(UID_CHECK, "uid-check", "Bindings carry no uid") \
    X(RELEASE_ON_TIMEOUT, "release-on-timeout", "an unclear Binding is taken for a failed one") \
    X(SUCCESS_ON_DOUBT, "success-on-doubt", "an unclear Binding is taken for a success") \
    X(TRUST_FIRST_LIST, "trust-first-list", "lists come from the server's cache, maybe old") \
    X(LATE_WISH, "late-wish", "a process is paused between deciding to send and sending") \
    X(NO_TIME_LIMIT, "no-time-limit", "the server works on Bindings however late they are") \
    X(DROP_DELETE, "drop-delete", "DELETED events are lost now and then")

enum plant {
#define X(name, text, what) PLANT_##name,
    PLANTS(X)
#undef X
};
#define PLANT_KINDS (PLANT_DROP_DELETE + 1)

struct sim_options {
    uint64_t seed;
    uint64_t steps;
    size_t replicas;
    enum plant plant;
    bool traces;
    bool is_patient; /* in calm, kube-scheduler's own five minutes count as waking pods */
};

/* What all replicas are told when they start. */
struct sim_setup {
    uint64_t lease_duration_ms, renew_deadline_ms, retry_ms, bind_timeout_ms;
};

struct api_model;
struct network;
struct replica;
struct scheduler;
struct people;
struct plugins;
struct turnover;
struct checker;

struct world {
    struct sim_options options;
    struct jitter chance;
    struct agenda agenda;
    struct trace trace;
    struct faults faults;
    uint64_t now_ms, steps;
    bool is_calm;
    struct sim_setup setup;

    struct api_model *api;
    struct network *network;
    struct replica *replicas[REPLICAS_MAX];
    struct scheduler *scheduler;
    struct people *people;
    struct plugins *plugins;
    struct turnover *turnover;
    struct checker *checker;

    uint64_t bindings, failovers, rounds;
    char failure[480]; /* "" as long as all is well */
};

struct world *world_new(const struct sim_options *options);
void world_free(struct world *world);

/* Run rounds until the steps are used up. return false when something was found. */
bool world_run(struct world *world);

/* Does it go wrong this time? Counted. */
bool world_fault(struct world *world, enum fault fault);

/* Note what was found; the first one counts. */
void world_fail(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What is due, in virtual time from now. */
void world_plan(struct world *world, uint64_t in_ms, agenda_run run, void *ctx, uint64_t number);

#define TRACE(world, ...) trace_add(&(world)->trace, __VA_ARGS__)

#endif
