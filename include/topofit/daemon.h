/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon - everything that `topofit serve` runs, started and stopped in order.
 *
 * Start: cluster, watch loop (or dump), extender listener, webhook listener, admin listener. Stop:
 * readiness off, extender listener (calls in flight are answered), watch loop, admin listener.
 */
#ifndef TOPOFIT_DAEMON_H
#define TOPOFIT_DAEMON_H

#include <stddef.h>

#include "topofit/config.h"
#include "topofit/error.h"
#include "topofit/log.h"

struct daemon;

/*
 * Start everything. Returns once both listeners are open; the lists may still be on their way.
 *
 * config        held against config_check; borrowed until daemon_stop, changed by daemon_reload.
 * cluster_file  a dump for embedded mode, or NULL to talk to the API server.
 * log           borrowed.
 * errors        ERR_INVALID, ERR_NOT_FOUND, ERR_IO: what could not be started, and why.
 */
struct daemon *daemon_start(struct config *config, const char *cluster_file, struct log *log,
                            struct error *err);

/*
 * Take over what may change while running; what may not is logged. The caller keeps `fresh`. From
 * one thread at a time.
 */
void daemon_reload(struct daemon *daemon, const struct config *fresh);

/* The ports that were bound (for ":0"). */
unsigned daemon_extender_port(const struct daemon *daemon);
unsigned daemon_admin_port(const struct daemon *daemon);
/* 0: the webhook has no port of its own. */
unsigned daemon_webhook_port(const struct daemon *daemon);

/* Read the certificates of all listeners again. What is refused is logged; the old ones stay. */
void daemon_reload_tls(struct daemon *daemon);

/* Step through the paths of all listeners, for people; NULL behind the last. */
const char *daemon_endpoint(size_t number);

/* Stop in order and free. NULL is fine. */
void daemon_stop(struct daemon *daemon);

#endif
