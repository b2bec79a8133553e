/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes on a connection: the server answers or closes, and a good request afterwards, on a
 * connection of its own, is still served.
 */
#include "topofit/http.h"
#include "topofit/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GOOD "GET /ok HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

#define GOOD_TRIES_MAX 100

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void answer(void *ctx, const struct http_request *request)
{
    const char *value = http_query(request, "q");

    (void)ctx;
    if (value == NULL)
        value = request->rest;
    if (request->body_length > 0)
        http_answer(request->call, 200, "text/plain", request->body, request->body_length);
    else
        http_answer(request->call, 200, "text/plain", value, strlen(value));
}

static const struct http_route routes[] = {
    {.method = "GET", .path = "/ok", .handle = answer},
    {.method = "POST", .path = "/f", .any_prefix = true, .handle = answer},
    {.method = "GET", .path = "/d/", .is_prefix = true, .handle = answer},
};

static struct http_server *server_once(void)
{
    static struct http_server *server;
    struct http_options options = {.listen = "127.0.0.1:0",
                                   .routes = routes,
                                   .route_count = ARRAY_LEN(routes),
                                   .threads = 1,
                                   .connections_max = 64,
                                   .body_max_bytes = 4096,
                                   .request_timeout_ms = 40,
                                   .idle_timeout_ms = 1000};
    struct error err = {0};

    if (server == NULL)
        server = http_start(&options, &err);
    if (server == NULL)
        abort();
    return server;
}

/* A connection; others on the machine may have used up the ports for a while. */
static int connect_to(const struct sockaddr_in *address)
{
    for (;;) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) == 0)
            return fd;
        if (fd < 0 || errno != EADDRNOTAVAIL)
            abort();
        close(fd);
        poll(NULL, 0, 10);
    }
}

/* Send, say that nothing more comes, and read to the end. return the bytes read, cut to size - 1.
 */
static size_t exchange(const void *bytes, size_t length, char *out, size_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((in_port_t)http_port(server_once())),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct linger none = {.l_onoff = 1};
    int fd = connect_to(&address);
    size_t total = 0;
    ssize_t got;

    /* No port stays in TIME_WAIT: thousands of runs a second would use them up. */
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    if (send(fd, bytes, length, MSG_NOSIGNAL) >= 0)
        shutdown(fd, SHUT_WR);
    while ((got = recv(fd, out + total, size - 1 - total, 0)) > 0)
        total += (size_t)got;
    out[total] = '\0';
    close(fd);
    return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char out[65536];

    if (length > 32768)
        return 0;
    exchange(bytes, length, out, sizeof out);
    /* Requests have 40 ms here: on a busy machine a good one may be cut, but not again and again.
     */
    for (unsigned tries = 0; tries < GOOD_TRIES_MAX; tries++) {
        exchange(GOOD, strlen(GOOD), out, sizeof out);
        if (strstr(out, " 200 ") != NULL)
            return 0;
    }
    abort();
}
