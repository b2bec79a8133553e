/* SPDX-License-Identifier: Apache-2.0 */
/* http_call - one HTTP request to the daemon, without waiting for its answer. */
#include "http_call.h"

#include "topofit/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define ANSWER_MAX (16u << 20)
#define READ_BYTES 16384

struct call {
    struct call *next;
    struct http_calls *calls;
    struct loop_source source;
    struct buf out, in;
    size_t out_at;
    uint64_t late_ms;
    http_on_answer done;
    void *ctx;
    uint64_t tag;
    bool is_over;
};

struct http_calls {
    struct loop *loop;
    struct call *all;
};

struct http_calls *http_calls_new(struct loop *loop)
{
    struct http_calls *calls = xcalloc(1, sizeof *calls);

    calls->loop = loop;
    return calls;
}

static void call_free(struct call *call)
{
    loop_remove(call->calls->loop, &call->source);
    buf_clear(&call->out);
    buf_clear(&call->in);
    free(call);
}

void http_calls_cancel(struct http_calls *calls)
{
    while (calls->all != NULL) {
        struct call *call = calls->all;

        calls->all = call->next;
        call_free(call);
    }
}

void http_calls_free(struct http_calls *calls)
{
    if (calls == NULL)
        return;
    http_calls_cancel(calls);
    free(calls);
}

size_t http_calls_count(const struct http_calls *calls)
{
    size_t count = 0;

    for (const struct call *call = calls->all; call != NULL; call = call->next)
        count++;
    return count;
}

/* The call is freed by the next tick. */
static void end(struct call *call, int status, const char *body)
{
    if (call->is_over)
        return;
    call->is_over = true;
    loop_remove(call->calls->loop, &call->source);
    call->done(call->ctx, call->tag, status, body);
}

/* Complete once the announced length is there. */
static void look_at_answer(struct call *call)
{
    const char *text = buf_text(&call->in);
    const char *head_end = strstr(text, "\r\n\r\n");
    const char *length = strcasestr(text, "\r\nContent-Length:");
    int status = 0;

    if (head_end == NULL || length == NULL || length > head_end ||
        sscanf(text, "HTTP/1.1 %d", &status) != 1)
        return;
    length += strlen("\r\nContent-Length:");
    if (strlen(head_end + 4) >= strtoul(length, NULL, 10))
        end(call, status, head_end + 4);
}

static void on_ready(void *ctx, bool can_read, bool can_write)
{
    struct call *call = ctx;
    char bytes[READ_BYTES];
    ssize_t count;

    if (can_write && call->out_at < call->out.length) {
        count = send(call->source.fd, call->out.data + call->out_at,
                     call->out.length - call->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);
        call->out_at += count > 0 ? (size_t)count : 0;
        loop_want_write(call->calls->loop, &call->source, call->out_at < call->out.length);
    }
    if (!can_read)
        return;
    count = recv(call->source.fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count > 0) {
        buf_add(&call->in, bytes, (size_t)count);
        look_at_answer(call);
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        end(call, 0, "");
    }
}

void http_call(struct http_calls *calls, unsigned port, const char *path, const char *body,
               unsigned timeout_ms, http_on_answer done, void *ctx, uint64_t tag)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct call *call = xcalloc(1, sizeof *call);

    *call = (struct call){.next = calls->all,
                          .calls = calls,
                          .in = buf_with_max(ANSWER_MAX),
                          .out = buf_with_max(ANSWER_MAX),
                          .late_ms = loop_now_ms() + timeout_ms,
                          .done = done,
                          .ctx = ctx,
                          .tag = tag};
    calls->all = call;
    buf_addf(&call->out, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n",
             body != NULL ? "POST" : "GET", path);
    if (body != NULL)
        buf_addf(&call->out, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                 strlen(body));
    buf_add_text(&call->out, "\r\n");
    buf_add_text(&call->out, body != NULL ? body : "");
    call->source =
        (struct loop_source){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                             .ctx = call,
                             .on_ready = on_ready,
                             .wants_write = true};
    if (call->source.fd < 0 ||
        (connect(call->source.fd, (struct sockaddr *)&address, sizeof address) != 0 &&
         errno != EINPROGRESS)) {
        call->late_ms = 0;
        return;
    }
    loop_add(calls->loop, &call->source);
}

uint64_t http_calls_tick(struct http_calls *calls, uint64_t now_ms)
{
    uint64_t due_ms = UINT64_MAX;
    struct call **place = &calls->all;

    for (struct call *call = calls->all; call != NULL; call = call->next) {
        if (now_ms >= call->late_ms)
            end(call, 0, "");
    }
    while (*place != NULL) {
        struct call *call = *place;

        if (!call->is_over) {
            due_ms = call->late_ms < due_ms ? call->late_ms : due_ms;
            place = &call->next;
            continue;
        }
        *place = call->next;
        call_free(call);
    }
    return due_ms;
}
