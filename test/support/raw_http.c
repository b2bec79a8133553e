/* SPDX-License-Identifier: Apache-2.0 */
/* raw_http - an HTTP client for tests that sends exactly the bytes it is given. */
#include "support/raw_http.h"

#include "support/test.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MAX_BYTES (64 << 20)

struct raw_client raw_connect(unsigned port)
{
    return raw_connect_from(1, port);
}

struct raw_client raw_connect_from(unsigned host, unsigned port)
{
    const struct sockaddr_in own = {.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl((INADDR_LOOPBACK & ~0xffu) | host)};
    struct raw_client client = {.in = buf_with_max(ANSWER_MAX_BYTES)};
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((in_port_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;

    client.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client.fd < 0 ||
        (host != 1 && bind(client.fd, (const struct sockaddr *)&own, sizeof own) != 0) ||
        connect(client.fd, (struct sockaddr *)&address, sizeof address) != 0)
        fail_msg("cannot connect to port %u: %s", port, strerror(errno));
    setsockopt(client.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return client;
}

void raw_close(struct raw_client *client)
{
    close(client->fd);
    buf_clear(&client->in);
}

void raw_abort(struct raw_client *client)
{
    struct linger none = {.l_onoff = 1, .l_linger = 0};

    setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    raw_close(client);
}

bool raw_try_send(struct raw_client *client, const void *bytes, size_t length)
{
    const char *at = bytes;

    while (length > 0) {
        ssize_t sent = send(client->fd, at, length, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        length -= (size_t)sent;
    }
    return true;
}

void raw_send(struct raw_client *client, const void *bytes, size_t length)
{
    if (!raw_try_send(client, bytes, length))
        fail_msg("cannot send: %s", strerror(errno));
}

void raw_send_text(struct raw_client *client, const char *text)
{
    raw_send(client, text, strlen(text));
}

bool raw_is_readable_within(struct raw_client *client, int wait_ms)
{
    struct pollfd wanted = {.fd = client->fd, .events = POLLIN};

    return poll(&wanted, 1, wait_ms) > 0;
}

/* Read some more; false at the end of the connection. */
static bool fill(struct raw_client *client)
{
    char bytes[65536];
    ssize_t got;

    if (!raw_is_readable_within(client, RAW_WAIT_MS))
        fail_msg("no answer within %d ms", RAW_WAIT_MS);
    got = recv(client->fd, bytes, sizeof bytes, 0);
    if (got <= 0)
        return false;
    buf_add(&client->in, bytes, (size_t)got);
    return true;
}

static void must_fill(struct raw_client *client)
{
    if (!fill(client))
        fail_msg("the connection ended inside an answer: \"%s\"", buf_text(&client->in));
}

static size_t stated_length(const char *header)
{
    const char *at = strcasestr(header, "\r\nContent-Length:");

    if (at == NULL)
        fail_msg("an answer without Content-Length: %s", header);
    return strtoul(at + strlen("\r\nContent-Length:"), NULL, 10);
}

struct raw_answer raw_receive(struct raw_client *client, bool wants_body)
{
    struct raw_answer answer = {0};
    const char *end;
    size_t header_length;

    while ((end = strstr(buf_text(&client->in), "\r\n\r\n")) == NULL)
        must_fill(client);
    header_length = (size_t)(end - buf_text(&client->in)) + 4;
    answer.header = xstrndup(buf_text(&client->in), header_length);
    if (sscanf(answer.header, "HTTP/1.%*u %u", &answer.status) != 1)
        fail_msg("no status line: %s", answer.header);
    answer.length = wants_body ? stated_length(answer.header) : 0;
    while (client->in.length < header_length + answer.length)
        must_fill(client);
    answer.body = xmalloc(answer.length + 1);
    memcpy(answer.body, client->in.data + header_length, answer.length);
    answer.body[answer.length] = '\0';
    buf_drop_front(&client->in, header_length + answer.length);
    return answer;
}

void raw_answer_clear(struct raw_answer *answer)
{
    free(answer->header);
    free(answer->body);
    *answer = (struct raw_answer){0};
}

struct raw_answer raw_ask(struct raw_client *client, const char *text, unsigned want_status)
{
    struct raw_answer answer;

    raw_send_text(client, text);
    answer = raw_receive(client, true);
    if (answer.status != want_status)
        fail_msg("status %u, not %u: %s", answer.status, want_status, answer.body);
    return answer;
}

static long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool raw_ends_within(struct raw_client *client, int wait_ms)
{
    long until = now_ms() + wait_ms;

    for (long left = wait_ms; left > 0; left = until - now_ms()) {
        char bytes[4096];

        if (!raw_is_readable_within(client, (int)left))
            return false;
        if (recv(client->fd, bytes, sizeof bytes, 0) <= 0)
            return true;
    }
    return false;
}
