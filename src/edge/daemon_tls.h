/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon_tls - the certificates of the daemon's listeners. For the daemon's files only.
 */
#ifndef TOPOFIT_DAEMON_TLS_H
#define TOPOFIT_DAEMON_TLS_H

#include "daemon_inside.h"
#include "topofit/metrics.h"

/* Read the certificates that the configuration names, before the listeners start. */
int daemon_open_tls(struct daemon *daemon, struct error *err);

/* After the listeners have stopped. */
void daemon_close_tls(struct daemon *daemon);

/* When the certificates expire, of the listeners that have one. */
void daemon_write_tls_metrics(struct daemon *daemon, struct metrics_writer *writer);

#endif
