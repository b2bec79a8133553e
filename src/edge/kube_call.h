/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_call - one request between the client's files. Private to kube_client.
 *
 * kube_client.c owns it, kube_call_setup.c tells libcurl what is wanted, kube_call_failure.c says
 * why it did not work.
 */
#ifndef TOPOFIT_EDGE_KUBE_CALL_H
#define TOPOFIT_EDGE_KUBE_CALL_H

#include "kube_sockets.h"
#include "topofit/buf.h"
#include "topofit/kube_client.h"
#include "topofit/kube_credentials.h"

#include <curl/curl.h>

struct kube_address {
    char *host; /* as in the URL: IPv6 in brackets; owned */
    unsigned port;
    const char *path; /* what follows, borrowed from the URL */
};

struct kube_client {
    const struct kube_config *config;
    CURLM *multi;
    struct kube_call *calls; /* all in flight */
    struct kube_address address;
    struct curl_slist *connect_to; /* NULL: where the URL says */
    char *proxy;                   /* of kube_proxy_choose() */
    struct kube_credentials *credentials;
    unsigned
        network_ms; /* unacknowledged bytes of a call with a time limit end a connection then */
    struct kube_sockets sockets; /* of all connections, idle ones too */
    bool something_happened;     /* a callback ran since the last wait began */
};

struct kube_call {
    struct kube_call *next, *previous;
    struct kube_client *client;
    struct kube_request request; /* its texts are gone once the call is set up */
    CURL *easy;
    struct curl_slist *headers;
    bool is_waiting;            /* for credentials: libcurl has not got it yet */
    uint64_t deadline_ms;       /* of the whole call; UINT64_MAX: none */
    unsigned credential_number; /* what it was sent with */
    size_t answer_bytes;
    bool was_sent;        /* or is about to be: the connection is there */
    struct buf late_body; /* of a request with body_by_ms: written as late as can be */
    size_t body_done;
    bool has_begun, too_long, too_late;
    char why[CURL_ERROR_SIZE];
};

/* Where a URL like https://host:port/path leads; a plain address, checked before. */
void kube_address_split(const char *url, unsigned default_port, struct kube_address *out);

/*
 * The proxy on the way to a server, as libcurl takes it: "" none, NULL what the environment says.
 * The caller frees it.
 */
char *kube_proxy_choose(const struct kube_config *config, const struct kube_address *server);

/* All that is known from the beginning. */
void kube_call_set_up(struct kube_call *call);

/* What the credentials say now. */
void kube_call_set_credentials(struct kube_call *call);

/* err  why the call ended with that code, which is not CURLE_OK. */
void kube_call_describe(const struct kube_call *call, CURLcode code, struct error *err);

#endif
