/* SPDX-License-Identifier: Apache-2.0 */
/* connection - one client of the hostile server: its requests, and how it is answered. */
#include "connection.h"

#include "topofit/mem.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define BYTES_MAX (64u << 20)
#define OUT_ENOUGH (64u << 10)
#define READ_BYTES 16384
#define BOOKMARK_GAP_MS 20

/* --- life ------------------------------------------------------------------------------------ */

static void on_ready(void *ctx, bool can_read, bool can_write);

struct connection *connection_new(struct server *server, int fd)
{
    struct connection *c = xcalloc(1, sizeof *c);

    c->server = server;
    c->source = (struct loop_source){.fd = fd, .ctx = c, .on_ready = on_ready};
    c->in = c->out = c->content = buf_with_max(BYTES_MAX);
    c->due_ms = UINT64_MAX;
    loop_add(server_loop(server), &c->source);
    return c;
}

static void end_exchange(struct connection *c)
{
    free(c->method);
    free(c->path);
    free(c->type);
    free(c->body);
    c->method = c->path = c->type = c->body = NULL;
    api_watch_free(c->watch);
    c->watch = NULL;
    c->fault = (struct fault){0};
    c->is_stream = c->is_complete = c->waits_to_send = false;
    buf_reset(&c->content);
    c->content_at = 0;
    c->counted = 0;
    c->due_ms = c->heals_ms = UINT64_MAX;
    c->stage = STAGE_READING;
}

static void die(struct connection *c)
{
    loop_remove(server_loop(c->server), &c->source);
    end_exchange(c);
    c->stage = STAGE_DEAD;
}

void connection_free(struct connection *c)
{
    die(c);
    server_forget_connection(c->server, c);
    buf_clear(&c->in);
    buf_clear(&c->out);
    buf_clear(&c->content);
    free(c);
}

void connection_reset(struct connection *c)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};

    if (c->source.fd >= 0)
        setsockopt(c->source.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    die(c);
}

bool connection_is_stream(const struct connection *c)
{
    return c->stage == STAGE_SENDING && c->watch != NULL;
}

/* --- sending --------------------------------------------------------------------------------- */

static void flush(struct connection *c)
{
    while (c->source.fd >= 0 && c->out_at < c->out.length) {
        ssize_t sent = send(c->source.fd, c->out.data + c->out_at, c->out.length - c->out_at,
                            MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (sent < 0) {
            die(c);
            return;
        }
        c->out_at += (size_t)sent;
    }
    if (c->out_at == c->out.length) {
        buf_reset(&c->out);
        c->out_at = 0;
    }
    loop_want_write(server_loop(c->server), &c->source, c->out.length > 0);
}

static void wait_then(struct connection *c, unsigned wait_ms, enum connection_end end)
{
    c->stage = STAGE_WAITING;
    c->end = end;
    c->due_ms = wait_ms > 0 ? loop_now_ms() + wait_ms : UINT64_MAX;
}

static void add_header(struct connection *c, int status, bool is_text, unsigned retry_after_s,
                       const size_t *length)
{
    buf_addf(&c->out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n", status,
             status < 400 ? "OK" : "Refused", is_text ? "text/plain" : "application/json");
    if (retry_after_s > 0)
        buf_addf(&c->out, "Retry-After: %u\r\n", retry_after_s);
    if (length != NULL)
        buf_addf(&c->out, "Content-Length: %zu\r\n\r\n", *length);
    else
        buf_add_text(&c->out, "Transfer-Encoding: chunked\r\n\r\n");
}

/* The content is complete, as far as the client can see. */
static void finish(struct connection *c)
{
    if (c->is_stream)
        buf_add_text(&c->out, "0\r\n\r\n");
    else if (c->content_at < c->content.length)
        c->end = END_CLOSES;
    c->stage = STAGE_FLUSHING;
}

void connection_end_stream(struct connection *c)
{
    finish(c);
}

/* --- pieces of content ----------------------------------------------------------------------- */

static bool has_limit(const struct connection *c)
{
    return c->fault.action == FAULT_STALL || c->fault.action == FAULT_CUT ||
           c->fault.action == FAULT_BREAK || c->fault.action == FAULT_RESET;
}

/* The fault has let through what it lets through. */
static void reach_limit(struct connection *c)
{
    c->end = c->fault.action == FAULT_RESET ? END_RESETS : END_CLOSES;
    if (c->fault.action == FAULT_STALL) {
        flush(c);
        if (c->stage != STAGE_DEAD)
            wait_then(c, c->fault.numbers[1], END_RESETS);
    } else if (c->fault.action == FAULT_CUT && c->is_stream) {
        c->end = END_KEEPS;
        finish(c);
    } else {
        c->stage = STAGE_FLUSHING;
    }
}

/* Up to the middle of the first character of several bytes, if there is one. */
static size_t split_length(const char *bytes, size_t length)
{
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)bytes[i] & 0xc0) == 0x80)
            return i;
    }
    return length;
}

static size_t piece_length(const struct connection *c)
{
    size_t length = c->content.length - c->content_at;

    if (has_limit(c) && length > c->fault.numbers[0] - c->counted)
        length = (size_t)(c->fault.numbers[0] - c->counted);
    if (c->fault.action == FAULT_BYTEWISE && length > 1)
        length = 1;
    if (c->fault.action == FAULT_DRIP && length > c->fault.numbers[0])
        length = c->fault.numbers[0];
    if (c->fault.action == FAULT_SPLIT)
        length = split_length(c->content.data + c->content_at, length);
    return length;
}

static void add_piece(struct connection *c, size_t length)
{
    if (c->is_stream)
        buf_addf(&c->out, "%zx\r\n", length);
    buf_add(&c->out, c->content.data + c->content_at, length);
    if (c->is_stream)
        buf_add_text(&c->out, "\r\n");
    c->content_at += length;
    c->counted += length;
    if (c->content_at == c->content.length) {
        buf_reset(&c->content);
        c->content_at = 0;
    }
}

/* More content from the watch. return false when there is none now. */
static bool refill(struct connection *c, uint64_t now_ms)
{
    if (c->watch == NULL)
        c->is_complete = true;
    if (c->is_complete)
        return false;
    if (c->fault.action == FAULT_BOOKMARKS) {
        if (now_ms < c->due_ms)
            return false;
        c->due_ms = now_ms + BOOKMARK_GAP_MS;
        return api_watch_bookmark(c->watch, &c->content) ||
               api_watch_next(c->watch, now_ms, &c->content) == API_WATCH_EVENT;
    }
    switch (api_watch_next(c->watch, now_ms, &c->content)) {
    case API_WATCH_EVENT:
        return true;
    case API_WATCH_ENDS:
        c->is_complete = true;
        return false;
    case API_WATCH_WAITS:
        return false;
    }
    return false;
}

static bool is_pausing(const struct connection *c, uint64_t now_ms)
{
    return c->out.length - c->out_at >= OUT_ENOUGH ||
           (c->fault.action == FAULT_DRIP && now_ms < c->due_ms);
}

static void pump(struct connection *c, uint64_t now_ms)
{
    while (c->stage == STAGE_SENDING && !is_pausing(c, now_ms)) {
        if (has_limit(c) && c->counted >= c->fault.numbers[0]) {
            reach_limit(c);
        } else if (c->content_at < c->content.length || refill(c, now_ms)) {
            add_piece(c, piece_length(c));
            if (c->fault.action == FAULT_DRIP)
                c->due_ms = now_ms + c->fault.numbers[1];
            if (c->fault.action == FAULT_BYTEWISE || c->fault.action == FAULT_SPLIT)
                flush(c);
        } else if (c->is_complete) {
            finish(c);
        } else {
            return;
        }
    }
}

/* --- answering ------------------------------------------------------------------------------- */

static void begin_sending(struct connection *c, struct model_answer *answer, unsigned retry_after_s)
{
    c->watch = answer->watch;
    answer->watch = NULL;
    c->is_stream = c->watch != NULL;
    c->stage = STAGE_SENDING;
    c->end = END_KEEPS;
    add_header(c, answer->status, answer->is_text, retry_after_s,
               c->is_stream ? NULL : &answer->body.length);
    buf_reset(&c->content);
    buf_add(&c->content, buf_text(&answer->body), answer->body.length);
}

void connection_take_answer(struct connection *c, struct model_answer *answer)
{
    begin_sending(c, answer, 0);
}

static const char *reason_of(unsigned code)
{
    static const struct {
        unsigned code;
        const char *reason;
    } reasons[] = {
        {400, "BadRequest"},    {401, "Unauthorized"},
        {403, "Forbidden"},     {404, "NotFound"},
        {409, "Conflict"},      {410, "Expired"},
        {422, "Invalid"},       {429, "TooManyRequests"},
        {500, "InternalError"}, {503, "ServiceUnavailable"},
        {504, "Timeout"},
    };

    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (reasons[i].code == code)
            return reasons[i].reason;
    }
    return "";
}

static void refuse(struct connection *c, unsigned code, unsigned retry_after_s)
{
    AUTO(model_answer_clear) struct model_answer answer = {0};

    model_answer_fail(&answer, (int)code, reason_of(code), "refused on purpose");
    begin_sending(c, &answer, retry_after_s);
}

static void send_text(struct connection *c, const char *text, bool is_stream)
{
    size_t length = strlen(text);

    add_header(c, 200, false, 0, is_stream ? NULL : &length);
    c->is_stream = is_stream;
    c->stage = STAGE_SENDING;
    c->is_complete = true;
    c->end = END_KEEPS;
    buf_reset(&c->content);
    buf_add_text(&c->content, text);
}

static void say_gone(struct connection *c)
{
    if (fault_verb_of(c->method, c->path) != VERB_WATCH)
        refuse(c, 410, 0);
    else
        send_text(c,
                  "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\","
                  "\"metadata\":{},\"status\":\"Failure\",\"message\":\"too old resource version: "
                  "1 (2)\",\"reason\":\"Expired\",\"code\":410}}\n",
                  true);
}

static void end_at_once(struct connection *c)
{
    if (fault_verb_of(c->method, c->path) != VERB_WATCH)
        wait_then(c, 1, END_CLOSES);
    else
        send_text(c, "", true);
}

static void execute(struct connection *c)
{
    AUTO(model_answer_clear) struct model_answer answer = {0};

    server_execute(c->server, c, &answer);
    if (c->fault.action == FAULT_EXECUTED_RESET) {
        api_watch_free(answer.watch);
        connection_reset(c);
    } else if (c->fault.action == FAULT_EXECUTED_SILENT) {
        api_watch_free(answer.watch);
        wait_then(c, c->fault.numbers[0], END_CLOSES);
    } else if (c->fault.action == FAULT_EXECUTED_STATUS) {
        api_watch_free(answer.watch);
        refuse(c, c->fault.numbers[0], 0);
    } else {
        begin_sending(c, &answer, 0);
    }
    if (c->fault.action == FAULT_DELAY) {
        wait_then(c, c->fault.numbers[0], END_KEEPS);
        c->waits_to_send = true;
    }
    if (c->fault.action == FAULT_BOOKMARKS) {
        c->heals_ms = loop_now_ms() + c->fault.numbers[0];
        c->due_ms = 0;
    }
}

static void answer(struct connection *c)
{
    c->fault = server_choose_fault(c->server, c->method, c->path);
    switch ((int)c->fault.action) {
    case FAULT_STATUS:
        refuse(c, c->fault.numbers[0], c->fault.numbers[1]);
        break;
    case FAULT_GONE:
        say_gone(c);
        break;
    case FAULT_EOF:
        end_at_once(c);
        break;
    case FAULT_SILENT:
        wait_then(c, c->fault.numbers[0], END_CLOSES);
        break;
    case FAULT_LATE:
        wait_then(c, 0, END_KEEPS);
        server_execute_late(c->server, c, loop_now_ms() + c->fault.numbers[0]);
        break;
    case FAULT_GARBAGE:
        send_text(c, "{\"kind\": \xc3\x28 oops", fault_verb_of(c->method, c->path) == VERB_WATCH);
        break;
    case FAULT_COMPACT:
        server_compact(c->server);
        execute(c);
        break;
    default:
        execute(c);
    }
}

/* --- requests -------------------------------------------------------------------------------- */

/* The value of a header field, or NULL. The caller frees it. */
static char *header_value(const char *head, const char *name)
{
    const char *line = strstr(head, "\r\n");

    for (; line != NULL && line[2] != '\r'; line = strstr(line + 2, "\r\n")) {
        const char *field = line + 2;

        if (strncasecmp(field, name, strlen(name)) == 0 && field[strlen(name)] == ':') {
            field += strlen(name) + 1;
            field += strspn(field, " ");
            return xstrndup(field, strcspn(field, "\r"));
        }
    }
    return NULL;
}

/* Take a whole request out of what was received. */
static bool take_request(struct connection *c)
{
    const char *text = buf_text(&c->in);
    const char *head_end = strstr(text, "\r\n\r\n");
    AUTO_FREE char *length_text = NULL;
    size_t head, length;

    if (head_end == NULL)
        return false;
    head = (size_t)(head_end - text) + 4;
    length_text = header_value(text, "Content-Length");
    length = length_text != NULL ? strtoul(length_text, NULL, 10) : 0;
    if (c->in.length < head + length)
        return false;
    c->method = xstrndup(text, strcspn(text, " "));
    c->path =
        text[strlen(c->method)] == ' '
            ? xstrndup(text + strlen(c->method) + 1, strcspn(text + strlen(c->method) + 1, " \r"))
            : xstrdup("/");
    c->type = header_value(text, "Content-Type");
    c->body = xstrndup(text + head, length);
    c->body_length = length;
    buf_drop_front(&c->in, head + length);
    return true;
}

static void receive(struct connection *c)
{
    char bytes[READ_BYTES];
    ssize_t got = recv(c->source.fd, bytes, sizeof bytes, MSG_DONTWAIT);

    if (got > 0)
        buf_add(&c->in, bytes, (size_t)got);
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        die(c);
}

static void on_ready(void *ctx, bool can_read, bool can_write)
{
    struct connection *c = ctx;

    if (can_read)
        receive(c);
    if (can_write && c->stage != STAGE_DEAD)
        flush(c);
}

/* --- what is due ----------------------------------------------------------------------------- */

static void end_wait(struct connection *c)
{
    if (c->waits_to_send) {
        c->stage = STAGE_SENDING;
        c->waits_to_send = false;
        c->due_ms = UINT64_MAX;
    } else if (c->end == END_RESETS) {
        connection_reset(c);
    } else {
        die(c);
    }
}

static void end_flush(struct connection *c)
{
    if (c->end == END_RESETS)
        connection_reset(c);
    else if (c->end == END_CLOSES)
        die(c);
    else
        end_exchange(c);
}

void connection_hurt(struct connection *c, const struct fault *fault)
{
    c->fault = *fault;
    c->counted = 0;
    c->due_ms = 0;
    c->heals_ms = fault->action == FAULT_BOOKMARKS ? loop_now_ms() + fault->numbers[0] : UINT64_MAX;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t connection_tick(struct connection *c, uint64_t now_ms)
{
    if (c->stage == STAGE_SENDING && now_ms >= c->heals_ms)
        connection_hurt(c, &(struct fault){0});
    if (c->stage == STAGE_WAITING && now_ms >= c->due_ms)
        end_wait(c);
    if (c->stage == STAGE_READING && take_request(c))
        answer(c);
    pump(c, now_ms);
    if (c->stage == STAGE_SENDING || c->stage == STAGE_FLUSHING)
        flush(c);
    if (c->stage == STAGE_FLUSHING && c->out.length == 0)
        end_flush(c);
    if (c->stage == STAGE_DEAD)
        return now_ms;
    if (c->stage == STAGE_READING && strstr(buf_text(&c->in), "\r\n\r\n") != NULL)
        return now_ms;
    if (c->stage == STAGE_SENDING && c->watch != NULL)
        return earlier(earlier(c->due_ms > now_ms ? c->due_ms : UINT64_MAX, c->heals_ms),
                       api_watch_due_ms(c->watch));
    return c->stage == STAGE_WAITING || c->stage == STAGE_SENDING ? c->due_ms : UINT64_MAX;
}
