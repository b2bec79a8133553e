/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon_inside - the parts of a running daemon. For the daemon's files only.
 */
#ifndef TOPOFIT_DAEMON_INSIDE_H
#define TOPOFIT_DAEMON_INSIDE_H

#include "topofit/class.h"
#include "topofit/daemon.h"
#include "topofit/embedded.h"
#include "topofit/extender.h"
#include "topofit/http.h"
#include "topofit/http_budget.h"
#include "topofit/intake.h"
#include "topofit/kube_loop.h"
#include "topofit/metrics.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct daemon {
    struct config *config;
    pthread_mutex_t reload_lock; /* what a reload changes: `config`, `extender.options` */
    struct log *log;
    struct class_table classes;
    struct hash_key key; /* of all maps that the network fills */
    struct cluster *cluster;
    struct history *history;
    struct gputopo_memo *memo;
    struct waste_memo *waste_memo;
    struct metrics *metrics;
    struct recall *recall;
    struct extender extender;
    struct embedded_port embedded; /* embedded mode */
    struct intake *intake;         /* with an API server */
    struct kube_loop *loop;
    /* NULL: that port is not encrypted. The webhook's always is. */
    struct tls_server *extender_tls, *admin_tls, *webhook_tls;
    struct http_budget extender_budget, admin_budget, webhook_budget;
    struct http_server *extender_server, *admin_server;
    struct http_server *webhook_server; /* NULL: no port of its own */
    bool stopping;                      /* atomic */
};

/* The extender with the options of this moment; good for one call. */
struct extender daemon_extender(struct daemon *daemon);

/* What each listener serves; static tables. */
extern const struct http_route extender_routes[];
extern const size_t extender_route_count;
extern const struct http_route webhook_routes[];
extern const size_t webhook_route_count;
extern const struct http_route admin_routes[];
extern const size_t admin_route_count;

#endif
