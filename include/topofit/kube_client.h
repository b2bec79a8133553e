/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_client - HTTP calls to one API server, many at a time, in one thread.
 *
 * Built on libcurl's multi interface. HTTP/1.1: each call has a connection to itself, kept for the
 * next one, so that a dead or busy connection harms one call only. All functions but
 * kube_client_wakeup belong to the thread that runs kube_client_wait, from within which all
 * callbacks come. on_begin and on_bytes must not call the client; on_end may.
 *
 * Redirects are not followed. A dead peer is found by TCP within about 20 s, within 5 s (or
 * kube_client_set_network_ms) while a request with a time limit is on its way. For loopback
 * addresses no proxy is ever asked.
 *
 * Credentials are renewed as kube_credentials.h says. A call that needs those of an exec plugin
 * waits for it, and meanwhile nothing else does. After a renewal of certificates connections are
 * made anew; calls that are in flight stay on theirs.
 */
#ifndef TOPOFIT_KUBE_CLIENT_H
#define TOPOFIT_KUBE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/api_call.h"
#include "topofit/error.h"
#include "topofit/kubeconfig.h"
#include "topofit/log.h"

struct kube_client;
struct kube_call; /* one request in flight */

struct kube_request {
    /*
     * What is sent; all texts are copied, and the id is the caller's alone.
     *
     * method      NULL: GET without a body, POST with one. HEAD is none of them.
     * timeout_ms  for the whole call; 0: the caller minds the time.
     * body_by_ms  looked at right before the body is written, since a process may be stopped
     *             between any two steps. Such a body is sent once at most: libcurl would send it
     *             again when a connection it used again has died.
     */
    struct api_request api;
    size_t answer_max_bytes; /* a longer answer is a failure; 0: the caller counts */
    void *ctx;
    void (*on_begin)(void *ctx, int status, unsigned retry_after_s); /* at most once */
    void (*on_bytes)(void *ctx, const char *bytes, size_t length);
    /*
     * Exactly once; the call is gone afterwards.
     *
     * failure   NULL when the answer is complete, else why it is not (ERR_TIMEOUT, ERR_IO, ...).
     * was_sent  false only when nothing of the request reached the server, or none of its body.
     */
    void (*on_end)(void *ctx, const struct error *failure, bool was_sent);
};

/*
 * config  borrowed for the client's life.
 * errors  ERR_INVALID when libcurl cannot use the configuration.
 */
struct kube_client *kube_client_new(const struct kube_config *config, struct error *err);

/* Ends all calls in flight with a failure first. NULL is fine. */
void kube_client_free(struct kube_client *client);

/* Where renewals of credentials are told, and why they fail; nowhere at first. */
void kube_client_set_log(struct kube_client *client,
                         void (*log)(void *ctx, enum log_level level, const char *text), void *ctx);

/*
 * How long the network may hold up bytes of a call that has a time limit: what is not acknowledged
 * by then is thrown away with its connection. At first API_NETWORK_MS.
 */
void kube_client_set_network_ms(struct kube_client *client, uint64_t network_ms);

/* Start a call. errors: when there are no credentials; then no callback comes. */
struct kube_call *kube_client_send(struct kube_client *client, const struct kube_request *request,
                                   struct error *err);

/* Drop a call: no callback of it comes any more, on_end included. */
void kube_client_cancel(struct kube_client *client, struct kube_call *call);

/* Move bytes and run callbacks; return when something happened, at the latest after timeout_ms. */
void kube_client_wait(struct kube_client *client, uint64_t timeout_ms);

/* Make kube_client_wait return. From any thread. */
void kube_client_wakeup(struct kube_client *client);

#endif
