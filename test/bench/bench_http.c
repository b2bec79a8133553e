/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floor: what HTTP alone costs, with handlers that only answer. Extender figures are judged
 * as ratios to these, from the same run.
 */
#include "support/raw_http.h"
#include "support/test.h"

#include "topofit/http.h"

#include <stdlib.h>
#include <time.h>

#define ROUNDS 20000
#define LARGE_ROUNDS 5000
#define CONNECT_ROUNDS 2000
#define LARGE_BYTES (100u * 1024)

static void hello(void *ctx, const struct http_request *request)
{
    (void)ctx;
    http_answer(request->call, 200, "text/plain", "ok", 2);
}

static void echo(void *ctx, const struct http_request *request)
{
    (void)ctx;
    http_answer(request->call, 200, "application/json", request->body, request->body_length);
}

static const struct http_route routes[] = {
    {.method = "GET", .path = "/hello", .handle = hello},
    {.method = "POST", .path = "/echo", .handle = echo},
};

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

/* Ask once. port  0 on a kept connection, else that of a new one. */
static void ask(struct raw_client *client, unsigned port, const struct buf *bytes)
{
    struct raw_answer answer;

    if (port != 0)
        *client = raw_connect(port);
    raw_send(client, bytes->data, bytes->length);
    answer = raw_receive(client, true);
    raw_answer_clear(&answer);
    if (port != 0)
        raw_close(client);
}

static void measure(const char *name, struct raw_client *client, unsigned port,
                    const struct buf *bytes, size_t rounds)
{
    double *took_us = xcalloc(rounds, sizeof *took_us);

    for (size_t i = 0; i < rounds; i++) {
        double begin = now_us();

        ask(client, port, bytes);
        took_us[i] = now_us() - begin;
    }
    qsort(took_us, rounds, sizeof *took_us, compare);
    printf("%-28s p50 %8.1f us   p99 %8.1f us\n", name, took_us[rounds / 2],
           took_us[rounds * 99 / 100]);
    free(took_us);
}

int main(void)
{
    struct http_options options = {.listen = "127.0.0.1:0",
                                   .routes = routes,
                                   .route_count = ARRAY_LEN(routes),
                                   .threads = 2,
                                   .connections_max = 256,
                                   .body_max_bytes = 1u << 20,
                                   .request_timeout_ms = 30000,
                                   .idle_timeout_ms = 120000};
    struct error err = {0};
    struct http_server *server = http_start(&options, &err);
    AUTO(buf_clear) struct buf get = buf_with_max(1024), post = buf_with_max(1u << 20);
    struct raw_client kept, fresh;

    if (server == NULL) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    buf_add_text(&get, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    buf_addf(&post, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %u\r\n\r\n", LARGE_BYTES);
    for (size_t i = 0; i < LARGE_BYTES; i++)
        buf_add_byte(&post, 'x');
    kept = raw_connect(http_port(server));
    measure("GET, kept connection", &kept, 0, &get, ROUNDS);
    measure("POST 100 KiB, kept connection", &kept, 0, &post, LARGE_ROUNDS);
    measure("GET, new connection", &fresh, http_port(server), &get, CONNECT_ROUNDS);
    raw_close(&kept);
    http_stop(server);
    return 0;
}
