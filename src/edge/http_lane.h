/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_lane - a thread that handles what takes long, one call after the other, so that the server's
 * threads go on with what does not. Private to http.
 */
#ifndef TOPOFIT_EDGE_HTTP_LANE_H
#define TOPOFIT_EDGE_HTTP_LANE_H

#include "http_call.h"
#include "topofit/error.h"

#include <stdbool.h>

#define HTTP_LANE_CALLS_MAX 8 /* that wait; the one being handled not counted */

struct http_lane;

/* ctx  passed to handlers. errors: ERR_IO when the thread cannot be started. */
struct http_lane *http_lane_start(void *ctx, struct error *err);

/* No call may be left. NULL is fine. */
void http_lane_stop(struct http_lane *lane);

/* Hand a call over to its route's handler. return false when too many wait. */
bool http_lane_add(struct http_lane *lane, struct http_call *call);

#endif
