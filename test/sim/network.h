/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network - the way between the replicas and the API server, and what may happen on it.
 *
 * What TCP and the server keep to in all this: bytes of one stream stay in order; a request that
 * did not arrive within 5 s, or the replica_network_ms() of one with a time limit, never does,
 * whether its sender is still there or not; the server works on a request for no longer than its
 * `timeout` says, counted from its arrival, and at most for a minute.
 */
#ifndef TOPOFIT_SIM_NETWORK_H
#define TOPOFIT_SIM_NETWORK_H

#include "world.h"

/* A request as a replica wants it sent. Strings are copied. */
struct wire_request {
    uint64_t wish; /* names it to the replica */
    const char *method, *path, *content_type, *body;
    size_t body_length;
    uint64_t timeout_ms; /* 0: the replica minds the time */
};

struct network *network_new(struct world *world);
void network_free(struct network *network);

/* in_ms: it leaves the replica that much later; 0 but for one planted mistake. */
void network_send(struct network *network, size_t replica, uint64_t in_ms,
                  const struct wire_request *request);
void network_cancel(struct network *network, size_t replica, uint64_t wish);

/* The replica is gone, and its connections with it. What it sent may still arrive. */
void network_abandon(struct network *network, size_t replica);

/*
 * For a while, what a replica sends does not arrive, what the server answers does not, or what
 * watches tell does not. TCP delivers it afterwards, unless it has given up.
 */
struct outage {
    uint64_t requests_ms, answers_ms, watches_ms;
    unsigned parts; /* of 10,000 requests and answers are concerned; of watches all */
};
void network_cut(struct network *network, size_t replica, const struct outage *outage);

/* Its watches alone tell nothing for a while. */
void network_deafen(struct network *network, size_t replica, uint64_t for_ms);

/* Its watches end with an error after which it has to list. */
void network_fail_watches(struct network *network, size_t replica);

/* The API server is down from now on, or up again. */
void network_set_server(struct network *network, bool is_up);

/* The state of the API server has changed: watches have something to tell. */
void network_on_change(struct network *network);

/* A Binding was executed for a replica; the checker may want to know which. */
uint64_t network_bindings(const struct network *network);

#endif
