/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_call - one HTTP request to the daemon, without waiting for its answer.
 *
 * Each call has a connection to itself. The callback comes exactly once, from the loop or from
 * http_calls_tick, unless http_calls_cancel takes it away.
 */
#ifndef TOPOFIT_CHAOS_HTTP_CALL_H
#define TOPOFIT_CHAOS_HTTP_CALL_H

#include "loop.h"
#include "topofit/buf.h"

#include <stddef.h>

struct http_calls;

struct http_calls *http_calls_new(struct loop *loop);
void http_calls_free(struct http_calls *calls);

/* status 0: no answer (refused, reset, too late). body is borrowed. */
typedef void (*http_on_answer)(void *ctx, uint64_t tag, int status, const char *body);

/* body  of a POST; NULL makes it a GET. */
void http_call(struct http_calls *calls, unsigned port, const char *path, const char *body,
               unsigned timeout_ms, http_on_answer done, void *ctx, uint64_t tag);

/* End what is too late. return when to be asked again. */
uint64_t http_calls_tick(struct http_calls *calls, uint64_t now_ms);

/* Hang up on all of them: no callback comes. */
void http_calls_cancel(struct http_calls *calls);
size_t http_calls_count(const struct http_calls *calls);

#endif
