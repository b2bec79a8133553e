/* SPDX-License-Identifier: Apache-2.0 */
/* extender_routes - calls of kube-scheduler and the API server: from HTTP to the use-cases and
 * back. */
#include "daemon_inside.h"
#include "topofit/clock.h"
#include "topofit/mem.h"

#define ANSWER_BYTES_MAX (512u << 20)
#define JSON_TYPE "application/json"

typedef int (*answer_fn)(struct extender *extender, const char *bytes, size_t length,
                         struct moment now, struct buf *out, struct error *err);

/* A body that is no request of the protocol. */
static void refuse(struct daemon *daemon, const struct http_request *request,
                   const struct error *err)
{
    unsigned status = err->code == ERR_LIMIT ? 413 : err->code == ERR_BUSY ? 503 : 400;

    log_event(daemon->log, LOG_LEVEL_WARN, "extender call refused", log_text("path", request->path),
              log_text("error", err->text));
    http_problem(request->call, status, "the request cannot be answered", err->text);
}

static void answer_now(struct daemon *daemon, const struct http_request *request, answer_fn answer)
{
    AUTO(buf_clear) struct buf body = buf_with_max(ANSWER_BYTES_MAX);
    struct extender extender = daemon_extender(daemon);
    struct error err = {0};
    size_t length;

    if (answer(&extender, request->body, request->body_length, clock_now(), &body, &err) < 0) {
        refuse(daemon, request, &err);
        return;
    }
    length = body.length;
    if (body.overflowed)
        http_problem(request->call, 500, "answer too big", "the answer exceeds its limit");
    else
        http_answer_steal(request->call, 200, JSON_TYPE, buf_steal(&body), length);
}

static void handle_filter(void *ctx, const struct http_request *request)
{
    answer_now(ctx, request, extender_filter);
}

static void handle_prioritize(void *ctx, const struct http_request *request)
{
    answer_now(ctx, request, extender_prioritize);
}

static void handle_preempt(void *ctx, const struct http_request *request)
{
    answer_now(ctx, request, extender_preempt);
}

static void handle_webhook(void *ctx, const struct http_request *request)
{
    struct daemon *daemon = ctx;

    if (daemon_extender(daemon).options.answer_reviews)
        answer_now(daemon, request, extender_admit);
    else
        http_problem(request->call, 404, "no webhook", "webhook.enabled is false");
}

static void on_bound(void *ctx, const char *body, size_t length)
{
    http_answer(ctx, 200, JSON_TYPE, body, length);
}

static void handle_bind(void *ctx, const struct http_request *request)
{
    struct daemon *daemon = ctx;
    struct extender extender = daemon_extender(daemon);
    struct error err = {0};

    if (extender_bind(&extender, request->body, request->body_length, clock_now(), on_bound,
                      request->call, &err) < 0)
        refuse(daemon, request, &err);
}

const struct http_route extender_routes[] = {
    {.method = "POST", .path = "/filter", .any_prefix = true, .handle = handle_filter},
    {.method = "POST", .path = "/prioritize", .any_prefix = true, .handle = handle_prioritize},
    {.method = "POST", .path = "/preempt", .any_prefix = true, .handle = handle_preempt},
    {.method = "POST", .path = "/bind", .any_prefix = true, .handle = handle_bind},
    {.method = "POST", .path = "/webhook", .any_prefix = true, .handle = handle_webhook},
};
const size_t extender_route_count = ARRAY_LEN(extender_routes);

/* Who may ask for reviews only shall reach nothing else. */
const struct http_route webhook_routes[] = {
    {.method = "POST", .path = "/webhook", .any_prefix = true, .handle = handle_webhook},
};
const size_t webhook_route_count = ARRAY_LEN(webhook_routes);
