/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server - an api_model over plain HTTP on the loopback address, with faults.
 *
 * Faults are rules: each takes a number of requests that fit its target, the oldest rule first.
 * Open streams can be hurt as well. Everything happens in server_tick and in the loop's callbacks.
 */
#ifndef TOPOFIT_CHAOS_SERVER_H
#define TOPOFIT_CHAOS_SERVER_H

#include "fault.h"
#include "loop.h"
#include "support/api_model.h"

struct server;

struct server_options {
    struct loop *loop; /* borrowed, as the model */
    struct api_model *model;
    void *ctx;
    void (*on_request)(void *ctx, const char *method, const char *path,
                       const struct fault *fault); /* or NULL */
    /* What the model said, whatever is made of it; body of a stream is "". Or NULL. */
    void (*on_executed)(void *ctx, const char *method, const char *path, int status,
                        const char *body);
    void (*before_compact)(void *ctx); /* or NULL */
};

/* errors: ERR_IO. */
struct server *server_new(const struct server_options *options, struct error *err);
void server_free(struct server *server);
unsigned server_port(const struct server *server);

/* Do what is due; return when to be asked again at the latest. Ask after each turn of the loop. */
uint64_t server_tick(struct server *server, uint64_t now_ms);

/* The next `count` requests that fit. */
void server_add_fault(struct server *server, unsigned count, const struct fault_target *target,
                      const struct fault *fault);
/* Streams that are open now; counting bytes from here. */
void server_hurt_streams(struct server *server, const struct fault_target *target,
                         const struct fault *fault);
/* Forget all rules, and heal what is slow, stalled or held back. */
void server_clear_faults(struct server *server);

void server_end_streams(struct server *server);      /* a clean end of all of them */
void server_drop_connections(struct server *server); /* all are reset */
void server_forget_late(struct server *server);      /* what is to be executed later never is */

/* Forget older versions, after whoever must look at them first. */
void server_compact(struct server *server);

size_t server_stream_count(const struct server *server);
size_t server_late_count(const struct server *server);
uint64_t server_request_count(const struct server *server);

#endif
