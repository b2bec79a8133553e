/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_server - the pods as an API server holds them, for random histories in tests.
 *
 * Every change makes an event, in order, which the test hands on when it likes. Chance decides what
 * happens to pods besides being bound by us: they are created, bound by others, finished, deleted,
 * created anew under the same name, and their records are lost, broken or copied.
 */
#ifndef TOPOFIT_TEST_POD_SERVER_H
#define TOPOFIT_TEST_POD_SERVER_H

#include "topofit/grant.h"
#include "topofit/pod.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVER_NAMES 12
#define SERVER_NODES 4
#define SERVER_EVENTS_MAX 48
#define SERVER_REQUESTS 12

/* One version of a pod. */
struct pod_version {
    unsigned number; /* in place of the uid: never used twice; 0 = there is no pod */
    unsigned name;
    int node;      /* -1 until bound */
    int nominated; /* -1: to no node */
    bool finished, deleting, init_done;
    bool by_us; /* bound by pod_server_bind() */
    const struct request *request;
    const struct allocation *record; /* NULL when there is none */
    bool record_broken;              /* there is one, and it cannot be read */
};

struct pod_event {
    struct pod_version pod;
    bool deleted;
};

struct pod_server {
    uint64_t chance;
    struct pod_version pods[SERVER_NAMES];
    struct pod_event events[SERVER_EVENTS_MAX]; /* not handed on yet, oldest first */
    size_t event_count;
    unsigned last_number;
    struct request requests[SERVER_REQUESTS];
    struct allocation **records; /* all that were ever written */
    size_t record_count, record_capacity;
};

void pod_server_init(struct pod_server *server, uint64_t seed);
void pod_server_clear(struct pod_server *server);

/* Something happens to some pod. Nothing does while SERVER_EVENTS_MAX events wait. */
void pod_server_step(struct pod_server *server);

/* A Binding as the API server takes it. return false when it is refused (409, 404). */
bool pod_server_bind(struct pod_server *server, unsigned name, unsigned number, int node,
                     const struct allocation *record);

/* Is the pod there, bound by a Binding with this very record? */
bool pod_server_is_bound_by(const struct pod_server *server, unsigned name, unsigned number,
                            int node, const struct allocation *record);

/* Hand on the oldest event; false when there is none. */
bool pod_server_take_event(struct pod_server *server, struct pod_event *out);

/* A copy of a record that lives as long as the server. */
const struct allocation *pod_server_keep(struct pod_server *server,
                                         const struct allocation *record);

/* "n0" ... and "uid-17"; static storage, overwritten by the eighth next call. */
const char *node_name_of(int node);
const char *uid_of(unsigned number);

/* The pod as the program gets it; one reference for the caller. */
struct pod *pod_of(const struct pod_version *version);

#endif
