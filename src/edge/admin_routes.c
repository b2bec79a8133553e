/* SPDX-License-Identifier: Apache-2.0 */
/* admin_routes - health, metrics, configuration and debug, for people and monitoring. */
#include "daemon_inside.h"
#include "daemon_metrics.h"
#include "topofit/clock.h"
#include "topofit/mem.h"
#include "topofit/views.h"

#include <curl/curl.h>
#include <jansson.h>
#include <microhttpd.h>

#include <stdlib.h>
#include <string.h>

#define TEXT_TYPE "text/plain; charset=utf-8"
#define JSON_TYPE "application/json"

static void answer(const struct http_request *request, unsigned status, const char *type,
                   const struct buf *body)
{
    http_answer(request->call, status, type, buf_text(body), body->length);
}

/* --- health ---------------------------------------------------------------------------------- */

/* One line of a health answer. */
struct check {
    const char *name;
    bool ok;
    const char *problem;
};

static void answer_checks(const struct http_request *request, const struct check *checks,
                          size_t count)
{
    bool verbose = http_query(request, "verbose") != NULL;
    AUTO(buf_clear) struct buf body = buf_with_max(4096);
    bool ok = true;

    for (size_t i = 0; i < count; i++)
        ok = ok && checks[i].ok;
    for (size_t i = 0; i < count && (verbose || !ok); i++) {
        if (checks[i].ok)
            buf_addf(&body, "[+]%s ok\n", checks[i].name);
        else
            buf_addf(&body, "[-]%s failed: %s\n", checks[i].name, checks[i].problem);
    }
    buf_add_text(&body, ok ? "ok\n" : "not ready\n");
    answer(request, ok ? 200 : 503, TEXT_TYPE, &body);
}

/* Does the thread that talks to the API server still come round? A restart helps if not. */
static bool is_turning(struct daemon *daemon)
{
    struct kube_loop_status status;

    if (daemon->loop == NULL)
        return true;
    kube_loop_status(daemon->loop, &status);
    return !kube_loop_is_stuck(&status, clock_monotonic_ms());
}

static void handle_livez(void *ctx, const struct http_request *request)
{
    const struct check checks[] = {
        {"ping", true, ""},
        {"loop", is_turning(ctx), "the thread that talks to the API server is stuck"},
    };

    answer_checks(request, checks, ARRAY_LEN(checks));
}

/* Why nodes or pods are not listed, as the API server or the network has it; "" when unknown. */
static void read_list_problem(struct daemon *daemon, char *text, size_t size)
{
    struct kube_loop_status status;
    const char *problem;

    text[0] = '\0';
    if (daemon->loop == NULL)
        return;
    kube_loop_status(daemon->loop, &status);
    problem = status.controller.nodes.problem[0] != '\0' ? status.controller.nodes.problem
                                                         : status.controller.pods.problem;
    if (problem[0] != '\0')
        snprintf(text, size, ": %s", problem);
}

static void handle_readyz(void *ctx, const struct http_request *request)
{
    struct daemon *daemon = ctx;
    char why[ERROR_TEXT_MAX + 2], text[sizeof why + 64];

    read_list_problem(daemon, why, sizeof why);
    snprintf(text, sizeof text, "nodes and pods have not been listed completely yet%s", why);

    const struct check checks[] = {
        {"cache-sync", cluster_is_synced(daemon->cluster), text},
        {"shutdown", !__atomic_load_n(&daemon->stopping, __ATOMIC_RELAXED), "stopping"},
    };

    answer_checks(request, checks, ARRAY_LEN(checks));
}

/* --- what runs ------------------------------------------------------------------------------- */

static void handle_metrics(void *ctx, const struct http_request *request)
{
    struct daemon *daemon = ctx;
    AUTO(buf_clear) struct buf body = buf_with_max(VIEW_BYTES_MAX);

    daemon_render_metrics(daemon, &body);
    answer(request, 200, METRICS_CONTENT_TYPE, &body);
}

static void handle_version(void *ctx, const struct http_request *request)
{
    AUTO(buf_clear) struct buf body = buf_with_max(4096);

    (void)ctx;
    buf_addf(&body,
             "{\"version\": \"%s\", \"compiler\": \"%s\", \"libs\": {\"microhttpd\": \"%s\", "
             "\"curl\": \"%s\", \"jansson\": \"%s\"}}\n",
             TOPOFIT_VERSION, __VERSION__, MHD_get_version(),
             curl_version_info(CURLVERSION_NOW)->version, jansson_version_str());
    answer(request, 200, JSON_TYPE, &body);
}

static void handle_configz(void *ctx, const struct http_request *request)
{
    struct daemon *daemon = ctx;
    AUTO(buf_clear) struct buf body = buf_with_max(64 * 1024);

    pthread_mutex_lock(&daemon->reload_lock);
    config_write_json(daemon->config, &body);
    pthread_mutex_unlock(&daemon->reload_lock);
    answer(request, 200, JSON_TYPE, &body);
}

/* --- debug ----------------------------------------------------------------------------------- */

/* JSON unless ?format=text or Accept: text/plain. return false after refusing another format. */
static bool read_format(const struct http_request *request, enum view_format *out)
{
    const char *format = http_query(request, "format");
    const char *accepted = http_header(request, "Accept");

    *out = VIEW_JSON;
    if (format == NULL && accepted != NULL && strncmp(accepted, "text/plain", 10) == 0)
        *out = VIEW_TEXT;
    if (format == NULL || strcmp(format, "json") == 0)
        return true;
    *out = VIEW_TEXT;
    if (strcmp(format, "text") == 0)
        return true;
    http_problem(request->call, 400, "unknown format", "format is json or text");
    return false;
}

static void answer_view(const struct http_request *request, enum view_format format,
                        const struct buf *body)
{
    if (body->overflowed)
        http_problem(request->call, 500, "answer too big", "the answer exceeds its limit");
    else
        answer(request, 200, format == VIEW_TEXT ? TEXT_TYPE : JSON_TYPE, body);
}

static void handle_nodes(void *ctx, const struct http_request *request)
{
    struct extender extender = daemon_extender(ctx);
    AUTO(buf_clear) struct buf body = buf_with_max(VIEW_BYTES_MAX);
    enum view_format format;

    if (!read_format(request, &format))
        return;
    view_nodes(&extender, clock_now(), format, &body);
    answer_view(request, format, &body);
}

static void handle_pods(void *ctx, const struct http_request *request)
{
    struct extender extender = daemon_extender(ctx);
    AUTO(buf_clear) struct buf body = buf_with_max(VIEW_BYTES_MAX);
    enum view_format format;

    if (!read_format(request, &format))
        return;
    view_pods(&extender, clock_now(), format, &body);
    answer_view(request, format, &body);
}

static void handle_mix(void *ctx, const struct http_request *request)
{
    struct extender extender = daemon_extender(ctx);
    AUTO(buf_clear) struct buf body = buf_with_max(VIEW_BYTES_MAX);
    enum view_format format;

    if (!read_format(request, &format))
        return;
    view_mix(&extender, clock_now(), format, &body);
    answer_view(request, format, &body);
}

static void handle_quota(void *ctx, const struct http_request *request)
{
    struct extender extender = daemon_extender(ctx);
    AUTO(buf_clear) struct buf body = buf_with_max(VIEW_BYTES_MAX);
    enum view_format format;

    if (!read_format(request, &format))
        return;
    view_quota(&extender, clock_now(), format, &body);
    answer_view(request, format, &body);
}

static void handle_node(void *ctx, const struct http_request *request)
{
    struct extender extender = daemon_extender(ctx);
    AUTO(buf_clear) struct buf body = buf_with_max(VIEW_BYTES_MAX);
    enum view_format format;
    struct error err = {0};

    if (!read_format(request, &format))
        return;
    if (view_node(&extender, request->rest, clock_now(), format, &body, &err) < 0)
        http_problem(request->call, 404, "no such node", err.text);
    else
        answer_view(request, format, &body);
}

static void handle_pod(void *ctx, const struct http_request *request)
{
    struct extender extender = daemon_extender(ctx);
    AUTO(buf_clear) struct buf body = buf_with_max(VIEW_BYTES_MAX);
    const char *slash = strchr(request->rest, '/');
    AUTO_FREE char *namespace = NULL;
    enum view_format format;
    struct error err = {0};

    if (!read_format(request, &format))
        return;
    if (slash == NULL) {
        http_problem(request->call, 404, "no such pod", "the path is /debug/pods/NAMESPACE/NAME");
        return;
    }
    namespace = xstrndup(request->rest, (size_t)(slash - request->rest));
    if (view_pod(&extender, namespace, slash + 1, clock_now(), format, &body, &err) < 0)
        http_problem(request->call, 404, "no such pod", err.text);
    else
        answer_view(request, format, &body);
}

/* --- comparing with the API server ------------------------------------------------------------ */

static void write_differences(const struct reconciler_report *report, struct buf *out)
{
    for (size_t i = 0; i < report->difference_count && i < RECONCILER_DIFFERENCES_MAX; i++) {
        buf_add_text(out, i > 0 ? ",\n    " : "\n    ");
        buf_add_json_string(out, report->differences[i]);
    }
}

/* From the loop's thread. */
static void on_report(void *ctx, const struct reconciler_report *report)
{
    AUTO(buf_clear) struct buf body = buf_with_max(64 * 1024);
    char when[MOMENT_TEXT_BYTES];

    if (report == NULL || report->problem[0] != '\0') {
        http_problem(ctx, 503, "not compared",
                     report != NULL ? report->problem
                                    : "no comparison was possible in time: are the watches open?");
        return;
    }
    moment_write(report->unix_ms, 0, when);
    buf_addf(&body,
             "{\n  \"kind\": \"CacheDiff\",\n  \"apiVersion\": \"debug.topofit.io/v1\",\n"
             "  \"generatedAt\": \"%s\",\n  \"nodes\": %zu,\n  \"pods\": %zu,\n"
             "  \"differenceCount\": %zu,\n  \"differences\": [",
             when, report->nodes, report->pods, report->difference_count);
    write_differences(report, &body);
    buf_add_text(&body, report->difference_count > 0 ? "\n  ]\n}\n" : "]\n}\n");
    http_answer(ctx, 200, JSON_TYPE, buf_text(&body), body.length);
}

static void handle_cache_diff(void *ctx, const struct http_request *request)
{
    struct daemon *daemon = ctx;
    struct error err = {0};

    if (daemon->loop == NULL)
        http_problem(request->call, 404, "nothing to compare with",
                     "embedded mode has no API server");
    else if (kube_loop_reconcile(daemon->loop, on_report, request->call, &err) < 0)
        http_problem(request->call, 503, "not compared", err.text);
}

static void handle_index(void *ctx, const struct http_request *request)
{
    AUTO(buf_clear) struct buf body = buf_with_max(8192);

    (void)ctx;
    for (size_t i = 0; i < admin_route_count; i++)
        buf_addf(&body, "%s%s\n", admin_routes[i].path, admin_routes[i].is_prefix ? "..." : "");
    buf_add_text(&body,
                 "\n?format=text prints tables: curl -s 'ADDRESS/debug/nodes?format=text'\n");
    answer(request, 200, TEXT_TYPE, &body);
}

const struct http_route admin_routes[] = {
    {.method = "GET", .path = "/livez", .handle = handle_livez},
    {.method = "GET", .path = "/readyz", .handle = handle_readyz},
    {.method = "GET", .path = "/healthz", .handle = handle_livez},
    {.method = "GET", .path = "/metrics", .handle = handle_metrics},
    {.method = "GET", .path = "/version", .handle = handle_version},
    {.method = "GET", .path = "/configz", .handle = handle_configz},
    {.method = "GET", .path = "/", .handle = handle_index},
    {.method = "GET", .path = "/debug", .handle = handle_index},
    {.method = "GET", .path = "/debug/", .handle = handle_index},
    {.method = "GET", .path = "/debug/nodes", .is_slow = true, .handle = handle_nodes},
    {.method = "GET", .path = "/debug/nodes/", .is_prefix = true, .handle = handle_node},
    {.method = "GET", .path = "/debug/cache/diff", .handle = handle_cache_diff},
    {.method = "GET", .path = "/debug/mix", .handle = handle_mix},
    {.method = "GET", .path = "/debug/quota", .is_slow = true, .handle = handle_quota},
    {.method = "GET", .path = "/debug/pods", .is_slow = true, .handle = handle_pods},
    {.method = "GET", .path = "/debug/pods/", .is_prefix = true, .handle = handle_pod},
};
const size_t admin_route_count = ARRAY_LEN(admin_routes);
