/* SPDX-License-Identifier: Apache-2.0 */
/* timed_client - one kept HTTP connection that times its calls. */
#include "timed_client.h"

#include "topofit/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_BYTES_MAX (64u << 20)

static void give_up(const char *what)
{
    fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

struct timed_client timed_client_connect(unsigned port)
{
    struct timed_client client = {.capacity = ANSWER_BYTES_MAX};
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((in_port_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;

    client.bytes = xmalloc(client.capacity);
    client.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client.fd < 0 || connect(client.fd, (struct sockaddr *)&address, sizeof address) != 0)
        give_up("cannot connect");
    setsockopt(client.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return client;
}

void timed_client_close(struct timed_client *client)
{
    close(client->fd);
    free(client->bytes);
    *client = (struct timed_client){.fd = -1};
}

double timed_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void send_all(int fd, struct iovec parts[2])
{
    size_t at = 0;

    while (at < 2) {
        ssize_t sent = writev(fd, &parts[at], (int)(2 - at));

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            give_up("cannot send");
        while (at < 2 && (size_t)sent >= parts[at].iov_len) {
            sent -= (ssize_t)parts[at].iov_len;
            at++;
        }
        if (at < 2) {
            parts[at].iov_base = (char *)parts[at].iov_base + sent;
            parts[at].iov_len -= (size_t)sent;
        }
    }
}

/* The length of the header, once it is complete; sets what the whole answer comes to. */
static size_t find_header(struct timed_client *client, size_t got)
{
    const char *end = memmem(client->bytes, got, "\r\n\r\n", 4);
    const char *length;

    if (end == NULL)
        return 0;
    if (strncmp(client->bytes, "HTTP/1.1 200", 12) != 0) {
        fprintf(stderr, "bench: %.*s\n", (int)(got < 2000 ? got : 2000), client->bytes);
        exit(1);
    }
    length = strcasestr(client->bytes, "\r\nContent-Length:");
    if (length == NULL || length > end)
        give_up("an answer without Content-Length");
    client->body = end + 4;
    client->body_length = strtoul(length + strlen("\r\nContent-Length:"), NULL, 10);
    return (size_t)(client->body - client->bytes);
}

static void receive(struct timed_client *client)
{
    size_t got = 0, header = 0;

    while (header == 0 || got < header + client->body_length) {
        ssize_t more = recv(client->fd, client->bytes + got, client->capacity - got - 1, 0);

        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            give_up("no whole answer");
        got += (size_t)more;
        client->bytes[got] = '\0';
        if (header == 0)
            header = find_header(client, got);
    }
}

double timed_client_post(struct timed_client *client, const char *path, const char *body,
                         size_t length)
{
    char header[512];
    int header_length = snprintf(header, sizeof header,
                                 "POST %s HTTP/1.1\r\nHost: bench\r\nUser-Agent: "
                                 "Go-http-client/1.1\r\nContent-Length: %zu\r\nContent-Type: "
                                 "application/json\r\nAccept-Encoding: gzip\r\n\r\n",
                                 path, length);
    struct iovec parts[2] = {{header, (size_t)header_length}, {(void *)body, length}};
    double begin = timed_now_ns();

    send_all(client->fd, parts);
    receive(client);
    return (timed_now_ns() - begin) / 1e3;
}
