/* SPDX-License-Identifier: Apache-2.0 */
/* replica - one topofit: the production code of a daemon, without its sockets and threads. */
#ifndef TOPOFIT_SIM_REPLICA_H
#define TOPOFIT_SIM_REPLICA_H

#include "topofit/buf.h"
#include "topofit/cluster.h"
#include "topofit/error.h"
#include "world.h"

enum verb { VERB_FILTER = 0, VERB_PRIORITIZE, VERB_BIND };

/* Choose the configuration with which replicas start from now on; all are to have the same. */
void replica_configure(struct world *world);

struct replica *replica_new(struct world *world, size_t index);
void replica_free(struct replica *replica);

/* Begin a process with a new identity. */
void replica_start(struct replica *replica);
/* kill -9. */
void replica_crash(struct replica *replica);
/* SIGTERM; the process ends by itself. */
void replica_stop(struct replica *replica);
void replica_pause(struct replica *replica, uint64_t for_ms);

/* How long the network may hold back what it has sent. */
uint64_t replica_network_ms(const struct replica *replica);

/* Does it take Bindings, as far as its callers know? */
bool replica_may_bind(const struct replica *replica);

bool replica_is_alive(const struct replica *replica);
/* Until when (world's time) it does nothing; 0 when it is not paused. */
uint64_t replica_paused_until_ms(const struct replica *replica);
void replica_resume(struct replica *replica);
void replica_jump_clock(struct replica *replica);
void replica_reconcile(struct replica *replica);

/* What arrives for a wish; ignored by a process that never had it. See controller_on_*(). */
void replica_on_begin(struct replica *replica, uint64_t wish, int status, unsigned retry_after_s);
void replica_on_bytes(struct replica *replica, uint64_t wish, const char *bytes, size_t length);
void replica_on_end(struct replica *replica, uint64_t wish, const struct error *failure,
                    bool was_sent);
/* Let it do all that it wants now. */
void replica_drive(struct replica *replica);

/*
 * A question of kube-scheduler. The answer goes to scheduler_on_answer() with `question`, at once
 * or later, or never.
 */
void replica_ask(struct replica *replica, enum verb verb, const char *body, size_t length,
                 uint64_t question);

/* Would a pod be kept on one of these nodes? Leaves no trace. The body is that of a filter call. */
bool replica_would_keep(struct replica *replica, const char *body, size_t length);

struct replica_state {
    bool leads, may_bind;
    bool watches;      /* both watches are open */
    uint64_t acquired; /* times it came to lead */
    uint64_t differences, comparisons;
    size_t events_waiting, binds_in_flight;
    char problem[480];
};
void replica_read_state(const struct replica *replica, struct replica_state *out);
struct cluster *replica_cluster(const struct replica *replica);
/* The first difference that the last comparison found, or "". */
const char *replica_difference(const struct replica *replica);

#endif
