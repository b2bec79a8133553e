/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_http - an HTTP client for tests that sends exactly the bytes it is given.
 *
 * Every wait ends after RAW_WAIT_MS and fails the test.
 */
#ifndef TOPOFIT_TEST_RAW_HTTP_H
#define TOPOFIT_TEST_RAW_HTTP_H

#include "topofit/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define RAW_WAIT_MS 20000

struct raw_client {
    int fd;
    struct buf in; /* received and not yet taken */
};

struct raw_answer {
    unsigned status;
    char *header; /* status line and fields */
    char *body;
    size_t length;
};

struct raw_client raw_connect(unsigned port);

/* The same from another address of the loopback network: 127.0.0.`host`. */
struct raw_client raw_connect_from(unsigned host, unsigned port);

void raw_close(struct raw_client *client);

/* Close so that the other side gets a reset. */
void raw_abort(struct raw_client *client);

void raw_send(struct raw_client *client, const void *bytes, size_t length);
void raw_send_text(struct raw_client *client, const char *text);

/* Send what the other side is willing to take; false when it has closed. Never fails the test. */
bool raw_try_send(struct raw_client *client, const void *bytes, size_t length);

/* The next answer. wants_body  false for answers to HEAD. Free with raw_answer_clear. */
struct raw_answer raw_receive(struct raw_client *client, bool wants_body);
void raw_answer_clear(struct raw_answer *answer);

/* Send, receive, and check the status. The caller clears the answer. */
struct raw_answer raw_ask(struct raw_client *client, const char *text, unsigned want_status);

/* Does the connection end, by a close or a reset, within wait_ms? What arrives is thrown away. */
bool raw_ends_within(struct raw_client *client, int wait_ms);

/* Wait until the other side sends or closes; false when nothing happens for wait_ms. */
bool raw_is_readable_within(struct raw_client *client, int wait_ms);

#endif
