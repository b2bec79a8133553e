/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stand_in - a server in the place of the API server, for tests of its clients.
 *
 * Answers every request alike, with or without TLS, on a port of 127.0.0.1, and remembers the last
 * one. A thread of its own does the work; the functions here may be called from the test's.
 */
#ifndef TOPOFIT_TEST_STAND_IN_H
#define TOPOFIT_TEST_STAND_IN_H

#include <stddef.h>

struct stand_in;

/* What came in last. All owned. */
struct stand_in_request {
    char *method, *path;
    char *headers;       /* "Name: value\n", in the order they came */
    char *body;          /* never NULL */
    char *peer;          /* common name of the client's certificate; "" = none was shown */
    unsigned connection; /* which one it came on, from 1 */
    unsigned number;     /* how many requests came until then, this one included */
};

void stand_in_request_clear(struct stand_in_request *request);

/* PEM texts, borrowed for the life of the server. */
struct stand_in_tls {
    const char *certificate, *key;
    const char *client_ca; /* or NULL: no certificate of the client is asked for */
};

/* tls NULL: plain HTTP. port 0: any. Fails the test when it cannot. */
struct stand_in *stand_in_start(const struct stand_in_tls *tls, unsigned port);
void stand_in_stop(struct stand_in *server);
unsigned stand_in_port(const struct stand_in *server);

/* From the next request on. The text is borrowed for the life of the server. */
void stand_in_answer(struct stand_in *server, unsigned status, const char *text);

/* The same with 307 and a place to go to. */
void stand_in_redirect(struct stand_in *server, const char *location);

/* A copy of the last request; fails the test when there was none. */
void stand_in_last(struct stand_in *server, struct stand_in_request *out);

#endif
