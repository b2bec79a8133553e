/* SPDX-License-Identifier: Apache-2.0 */
/* api_model - a kube-apiserver in memory: where a request goes. */
#include "support/api_model_inside.h"

#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

static const char VERSION_TEXT[] =
    "{\n  \"major\": \"1\",\n  \"minor\": \"37\",\n  \"gitVersion\": \"v1.37.2\",\n"
    "  \"platform\": \"linux/amd64\"\n}";

/* --- paths ----------------------------------------------------------------------------------- */

/* The next segment of a path, unescaped; "" at its end. */
static const char *next_segment(char **rest)
{
    char *segment = *rest != NULL ? strsep(rest, "/") : NULL;

    if (segment == NULL)
        return "";
    api_unescape(segment);
    return segment;
}

static bool find_kind(const char *prefix, const char *plural, enum api_kind *out)
{
    for (unsigned i = 0; i < API_KINDS; i++) {
        if (strcmp(api_resources[i].prefix, prefix) == 0 &&
            strcmp(api_resources[i].plural, plural) == 0) {
            *out = (enum api_kind)i;
            return true;
        }
    }
    return false;
}

/* "/api/v1/", "/apis/coordination.k8s.io/v1/" ...; NULL for what is no group of ours. */
static const char *find_prefix(const char *path)
{
    for (size_t i = 0; i < API_KINDS; i++) {
        if (strncmp(path, api_resources[i].prefix, strlen(api_resources[i].prefix)) == 0)
            return api_resources[i].prefix;
    }
    return NULL;
}

/* path  of the resource, cut to pieces. false when there is no such resource. */
static bool read_path(const char *prefix, char *path, struct api_target *out)
{
    char *rest = path;
    const char *word = next_segment(&rest);

    out->namespace = "";
    if (strcmp(word, "namespaces") == 0) {
        out->namespace = next_segment(&rest);
        word = next_segment(&rest);
    }
    if (!find_kind(prefix, word, &out->kind))
        return false;
    out->name = next_segment(&rest);
    out->subresource = next_segment(&rest);
    return rest == NULL && (api_resources[out->kind].has_namespace || out->namespace[0] == '\0');
}

/* --- methods --------------------------------------------------------------------------------- */

static void get_one(struct api_model *model, const struct api_target *target,
                    struct model_answer *out)
{
    const struct api_object *object =
        api_model_find(model, target->kind, target->namespace, target->name);

    if (object != NULL)
        model_answer_object(out, 200, object);
    else
        api_refuse_missing(out, target->kind, target->name);
}

static void get_many(struct api_model *model, const struct api_target *target,
                     struct model_answer *out)
{
    if (api_query_is_set(target->query->watch))
        api_watch_open(model, target, out);
    else
        api_list(model, target, out);
}

static bool is_of(const struct api_target *target, bool has_name, const char *subresource)
{
    bool is_complete = !api_resources[target->kind].has_namespace || target->namespace[0] != '\0';

    return (target->name[0] != '\0') == has_name && (is_complete || !has_name) &&
           strcmp(target->subresource, subresource) == 0;
}

typedef void (*api_handler)(struct api_model *, const struct api_target *, struct model_answer *);

static api_handler find_handler(const struct api_target *target)
{
    const struct {
        const char *method;
        bool has_name;
        const char *subresource;
        unsigned kinds; /* bits */
        api_handler handler;
    } routes[] = {
        {"GET", true, "", ~0u, get_one},
        {"GET", false, "", ~0u, get_many},
        {"POST", true, "binding", 1u << API_POD, api_bind},
        {"POST", false, "", 1u << API_LEASE | 1u << API_EVENT, api_post},
        {"PUT", true, "", 1u << API_LEASE, api_put},
        {"PATCH", true, "", ~(1u << API_POD), api_patch},
    };

    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        if (strcmp(routes[i].method, target->request->method) == 0 &&
            (routes[i].kinds >> target->kind & 1) != 0 &&
            is_of(target, routes[i].has_name, routes[i].subresource))
            return routes[i].handler;
    }
    return NULL;
}

static void answer_resource(struct api_model *model, const char *prefix, char *path,
                            struct api_target *target, struct model_answer *out)
{
    static const struct api_refusal no_resource = {
        .code = 404, .reason = "NotFound", .has_details = true};
    static const struct api_refusal no_method = {
        .code = 405, .reason = "MethodNotAllowed", .has_details = true};
    api_handler handler;

    if (!read_path(prefix, path + strlen(prefix), target)) {
        api_refuse(out, &no_resource, "the server could not find the requested resource");
        return;
    }
    handler = find_handler(target);
    if (handler == NULL)
        api_refuse(out, &no_method,
                   "the server does not allow this method on the requested resource");
    else
        handler(model, target, out);
}

static void answer_text(struct model_answer *out, int status, const char *text)
{
    out->status = status;
    out->is_text = true;
    buf_add_text(&out->body, text);
}

static void answer_other(const char *path, struct model_answer *out)
{
    static const char *const health[] = {"/healthz", "/readyz", "/livez"};

    for (size_t i = 0; i < ARRAY_LEN(health); i++) {
        if (strcmp(path, health[i]) == 0) {
            answer_text(out, 200, "ok");
            return;
        }
    }
    answer_text(out, strcmp(path, "/version") == 0 ? 200 : 404,
                strcmp(path, "/version") == 0 ? VERSION_TEXT : "404 page not found\n");
    out->is_text = out->status == 404;
}

void api_model_answer(struct api_model *model, const struct model_request *request, uint64_t now_ms,
                      struct model_answer *out)
{
    AUTO_FREE char *path = xstrdup(request->path);
    char *question = strchr(path, '?');
    AUTO(api_query_clear) struct api_query query = {0};
    struct api_target target = {.request = request, .query = &query};
    const char *prefix;

    api_model_at(model, now_ms);
    if (out->body.max == 0)
        out->body = buf_with_max(API_BYTES_MAX);
    buf_reset(&out->body);
    out->watch = NULL;
    out->is_text = false;
    if (question != NULL)
        *question++ = '\0';
    api_query_read(&query, question != NULL ? question : "");
    prefix = find_prefix(path);
    if (prefix != NULL)
        answer_resource(model, prefix, path, &target, out);
    else
        answer_other(path, out);
}
