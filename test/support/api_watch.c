/* SPDX-License-Identifier: Apache-2.0 */
/* api_watch - watches of the API model: cursors into the log of changes. */
#include "support/api_model_inside.h"

#include "topofit/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BOOKMARK_STANDARD_MS 60000u
#define TIMEOUT_STANDARD_S 1800u
#define LAST_BOOKMARK_MS 2000u /* one comes that long before the end */

struct api_watch {
    struct api_model *model;
    enum api_kind kind;
    struct api_selector selector;
    struct api_object **initial; /* to be told as ADDED first */
    size_t initial_count, initial_next;
    uint64_t initial_version;
    uint64_t next;      /* number of the change to look at */
    uint64_t after;     /* changes up to this version are not told */
    uint64_t told;      /* the position of who has read all lines so far */
    char *failure;      /* an ERROR event to be told, then the end */
    bool has_failed;    /* it was told */
    bool owes_end_mark; /* the bookmark behind the initial events */
    bool wants_bookmarks;
    uint64_t bookmark_at_ms, end_at_ms;
};

/* --- opening --------------------------------------------------------------------------------- */

static bool check_options(const struct api_model *model, const struct api_query *query,
                          struct model_answer *out)
{
    bool has_match = query->match != NULL;

    if (api_query_is_set(query->initial) && model->options.refuses_watch_list) {
        api_refuse_options(out, "sendInitialEvents", "FieldValueForbidden",
                           "Forbidden: sendInitialEvents is forbidden for watch unless the "
                           "WatchList feature gate is enabled");
    } else if (query->initial != NULL && !has_match) {
        api_refuse_options(out, "resourceVersionMatch", "FieldValueForbidden",
                           "Forbidden: sendInitialEvents requires setting resourceVersionMatch "
                           "to NotOlderThan");
    } else if (query->initial == NULL && has_match) {
        api_refuse_options(out, "resourceVersionMatch", "FieldValueForbidden",
                           "Forbidden: resourceVersionMatch is forbidden for watch unless "
                           "sendInitialEvents is provided");
    } else if (query->labels != NULL) {
        api_refuse_bad(out, "this model knows no label selectors");
    } else {
        return true;
    }
    return false;
}

static bool read_version(const struct api_query *query, uint64_t *version, struct model_answer *out)
{
    struct api_refusal refusal = {.code = 500};

    *version = 0;
    if (query->version == NULL || api_version_read(query->version, version))
        return true;
    api_refuse(out, &refusal,
               "resourceVersion: Invalid value: \"%s\": strconv.ParseUint: parsing \"%s\": "
               "invalid syntax",
               query->version, query->version);
    return false;
}

static bool read_timeout(const struct api_query *query, uint64_t *timeout_s,
                         struct model_answer *out)
{
    *timeout_s = TIMEOUT_STANDARD_S;
    if (query->timeout == NULL || api_version_read(query->timeout, timeout_s))
        return true;
    api_refuse_bad(out, "strconv.ParseInt: parsing \"%s\": invalid syntax", query->timeout);
    return false;
}

static uint64_t bookmark_gap_ms(const struct api_model *model)
{
    return model->options.bookmark_ms > 0 ? model->options.bookmark_ms : BOOKMARK_STANDARD_MS;
}

/* All that is there comes first, then the changes since. */
static void begin_with_state(struct api_watch *watch, uint64_t version)
{
    struct api_model *model = watch->model;
    size_t count, kept = 0;

    watch->initial = api_store_state(model, watch->kind, version, &count);
    for (size_t i = 0; i < count; i++) {
        if (api_selector_takes(&watch->selector, watch->initial[i]))
            watch->initial[kept++] = watch->initial[i];
        else
            api_object_unref(watch->initial[i]);
    }
    watch->initial_count = kept;
    watch->initial_version = watch->after = watch->told = version;
    watch->next = api_store_behind(model, watch->kind, version);
}

static void fail(struct api_watch *watch, const struct api_refusal *refusal, const char *message)
{
    struct buf status = buf_with_max(API_BYTES_MAX);

    api_status_write(&status, refusal, message);
    watch->failure = buf_steal(&status);
}

static void fail_too_old(struct api_watch *watch, uint64_t version)
{
    AUTO_FREE char *message = xasprintf("too old resource version: %" PRIu64 " (%" PRIu64 ")",
                                        version, watch->model->stores[watch->kind].oldest);

    fail(watch, &(struct api_refusal){.code = 410, .reason = "Expired"}, message);
}

static void fail_too_large(struct api_watch *watch, uint64_t version)
{
    AUTO_FREE char *message =
        xasprintf("Timeout: Too large resource version: %" PRIu64 ", current: %" PRIu64, version,
                  watch->model->version);
    struct api_refusal refusal;

    api_too_large(&refusal);
    fail(watch, &refusal, message);
}

static void find_start(struct api_watch *watch, const struct api_query *query, uint64_t version)
{
    struct api_model *model = watch->model;

    if (api_query_is_set(query->initial)) {
        if (version > model->version)
            fail_too_large(watch, version);
        else
            begin_with_state(watch, model->version);
        watch->owes_end_mark = watch->wants_bookmarks;
    } else if (version == 0 && query->initial == NULL) {
        begin_with_state(watch, query->version != NULL ? api_zero_version(model, watch->kind)
                                                       : model->version);
    } else if (version != 0 && version < model->stores[watch->kind].oldest) {
        fail_too_old(watch, version);
    } else {
        watch->after = watch->told = version != 0 ? version : model->version;
        watch->next = api_store_behind(model, watch->kind, watch->after);
    }
}

/* Some servers say 410 before the stream begins. */
static bool turns_into_status(struct api_watch *watch, struct model_answer *out)
{
    if (watch->failure == NULL || !watch->model->options.too_old_is_status)
        return false;
    out->status = strstr(watch->failure, "\"code\":410") != NULL ? 410 : 504;
    buf_add_text(&out->body, watch->failure);
    api_watch_free(watch);
    return true;
}

void api_watch_open(struct api_model *model, const struct api_target *target,
                    struct model_answer *out)
{
    const struct api_query *query = target->query;
    uint64_t version, timeout_s;
    struct api_watch *watch;

    if (!check_options(model, query, out) || !read_version(query, &version, out) ||
        !read_timeout(query, &timeout_s, out))
        return;
    watch = xcalloc(1, sizeof *watch);
    if (!api_selector_read(&watch->selector, target->kind, query->fields, out)) {
        api_watch_free(watch);
        return;
    }
    if (target->namespace[0] != '\0')
        watch->selector.namespace = xstrdup(target->namespace);
    watch->model = model;
    watch->kind = target->kind;
    watch->wants_bookmarks = api_query_is_set(query->bookmarks);
    watch->end_at_ms = model->now_ms + timeout_s * 1000;
    watch->bookmark_at_ms = model->now_ms + bookmark_gap_ms(model);
    find_start(watch, query, version);
    if (turns_into_status(watch, out))
        return;
    out->status = 200;
    out->watch = watch;
}

void api_watch_free(struct api_watch *watch)
{
    if (watch == NULL)
        return;
    for (size_t i = watch->initial_next; i < watch->initial_count; i++)
        api_object_unref(watch->initial[i]);
    free(watch->initial);
    free(watch->failure);
    api_selector_clear(&watch->selector);
    free(watch);
}

/* --- telling --------------------------------------------------------------------------------- */

/* version 0: the object's own. */
static enum api_watch_step tell(struct buf *out, const char *type, const struct api_object *object,
                                uint64_t version)
{
    buf_addf(out, "{\"type\":\"%s\",\"object\":", type);
    if (version == 0)
        buf_add(out, object->json, object->length);
    else
        api_object_add_json_at(object, version, out);
    buf_add_text(out, "}\n");
    return API_WATCH_EVENT;
}

static enum api_watch_step tell_failure(struct api_watch *watch, struct buf *out)
{
    buf_addf(out, "{\"type\":\"ERROR\",\"object\":%s}\n", watch->failure);
    watch->has_failed = true;
    return API_WATCH_EVENT;
}

static enum api_watch_step tell_bookmark(struct api_watch *watch, uint64_t version,
                                         bool is_end_mark, struct buf *out)
{
    static const char *const rest[API_KINDS] = {
        [API_NODE] =
            "\"spec\":{},\"status\":{\"daemonEndpoints\":{\"kubeletEndpoint\":{\"Port\":0}}}",
        [API_POD] = "\"spec\":{\"containers\":null},\"status\":{}",
        [API_LEASE] = "\"spec\":{}",
        [API_QUOTA] = "\"spec\":{},\"status\":{}",
        [API_EVENT] = "\"eventTime\":null,\"regarding\":{},\"deprecatedSource\":{}",
    };
    const struct api_resource *resource = &api_resources[watch->kind];

    watch->told = version;
    buf_addf(out,
             "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s\","
             "\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"%s},%s}}\n",
             resource->kind, resource->group_version, version,
             is_end_mark ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "",
             rest[watch->kind]);
    return API_WATCH_EVENT;
}

/* A change, as one sees it who sees only what the selector takes. */
static enum api_watch_step tell_change(struct api_watch *watch, const struct api_change *change,
                                       struct buf *out)
{
    bool was = change->before != NULL && api_selector_takes(&watch->selector, change->before);
    bool is = !change->is_deletion && api_selector_takes(&watch->selector, change->after);

    if (was && is)
        return tell(out, "MODIFIED", change->after, 0);
    if (is)
        return tell(out, "ADDED", change->after, 0);
    if (was && change->is_deletion)
        return tell(out, "DELETED", change->after, 0);
    if (was)
        return tell(out, "DELETED", change->before, change->version);
    return API_WATCH_WAITS;
}

static enum api_watch_step tell_initial(struct api_watch *watch, struct buf *out)
{
    struct api_object *object = watch->initial[watch->initial_next++];
    enum api_watch_step step = tell(out, "ADDED", object, 0);

    api_object_unref(object);
    return step;
}

static enum api_watch_step tell_news(struct api_watch *watch, struct buf *out)
{
    const struct api_store *store = &watch->model->stores[watch->kind];

    if (watch->next < store->first && watch->next < store->end)
        return API_WATCH_ENDS;
    while (watch->next < store->end) {
        const struct api_change *change =
            api_model_change(watch->model, watch->kind, watch->next++);

        if (change->version <= watch->after)
            continue;
        watch->told = change->version;
        if (tell_change(watch, change, out) == API_WATCH_EVENT)
            return API_WATCH_EVENT;
    }
    return API_WATCH_WAITS;
}

static bool is_bookmark_due(const struct api_watch *watch, uint64_t now_ms)
{
    return watch->wants_bookmarks && watch->after <= watch->model->version &&
           now_ms >= watch->bookmark_at_ms;
}

static void plan_bookmark(struct api_watch *watch, uint64_t now_ms)
{
    uint64_t last_ms =
        watch->end_at_ms > LAST_BOOKMARK_MS ? watch->end_at_ms - LAST_BOOKMARK_MS : 0;
    uint64_t next_ms = now_ms + bookmark_gap_ms(watch->model);

    watch->bookmark_at_ms = now_ms < last_ms && last_ms < next_ms ? last_ms : next_ms;
}

enum api_watch_step api_watch_next(struct api_watch *watch, uint64_t now_ms, struct buf *out)
{
    enum api_watch_step step;

    if (out->max == 0)
        *out = buf_with_max(API_BYTES_MAX);
    buf_reset(out);
    if (watch->failure != NULL)
        return watch->has_failed ? API_WATCH_ENDS : tell_failure(watch, out);
    if (watch->initial_next < watch->initial_count)
        return tell_initial(watch, out);
    if (watch->owes_end_mark) {
        watch->owes_end_mark = false;
        return tell_bookmark(watch, watch->initial_version, true, out);
    }
    step = tell_news(watch, out);
    if (step != API_WATCH_WAITS)
        return step;
    if (now_ms >= watch->end_at_ms)
        return API_WATCH_ENDS;
    if (!is_bookmark_due(watch, now_ms))
        return API_WATCH_WAITS;
    plan_bookmark(watch, now_ms);
    return tell_bookmark(watch, watch->model->version, false, out);
}

bool api_watch_bookmark(struct api_watch *watch, struct buf *out)
{
    buf_reset(out);
    if (watch->failure != NULL || watch->initial_next < watch->initial_count ||
        watch->owes_end_mark || !watch->wants_bookmarks)
        return false;
    tell_bookmark(watch, watch->told, false, out);
    return true;
}

uint64_t api_watch_due_ms(const struct api_watch *watch)
{
    bool is_bookmark_first = watch->wants_bookmarks && watch->bookmark_at_ms < watch->end_at_ms;

    return is_bookmark_first ? watch->bookmark_at_ms : watch->end_at_ms;
}

bool api_watch_has_news(const struct api_watch *watch)
{
    return watch->failure != NULL || watch->initial_next < watch->initial_count ||
           watch->owes_end_mark || watch->next < watch->model->stores[watch->kind].end;
}

enum api_kind api_watch_kind(const struct api_watch *watch)
{
    return watch->kind;
}
