/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon_metrics - what the daemon's parts tell the metrics. For the daemon's files only.
 */
#ifndef TOPOFIT_DAEMON_METRICS_H
#define TOPOFIT_DAEMON_METRICS_H

#include "daemon_inside.h"
#include "topofit/metrics.h"

/* The whole answer to GET /metrics. */
void daemon_render_metrics(struct daemon *daemon, struct buf *out);

/* For http_options.on_done of the listeners; ctx is the daemon. */
void daemon_count_extender_request(void *ctx, const char *method, const char *route,
                                   unsigned status, uint64_t duration_us);
void daemon_count_webhook_request(void *ctx, const char *method, const char *route, unsigned status,
                                  uint64_t duration_us);
void daemon_count_admin_request(void *ctx, const char *method, const char *route, unsigned status,
                                uint64_t duration_us);

#endif
