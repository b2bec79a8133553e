/* SPDX-License-Identifier: Apache-2.0 */
/* api_list - lists of the API model, in pages and at versions. */
#include "support/api_model_inside.h"

#include "topofit/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What a list is of. */
struct listing {
    struct api_selector selector;
    struct api_token token; /* namespace is NULL without one */
    uint64_t version;
    size_t limit; /* 0 = all */
};

static void listing_clear(struct listing *listing)
{
    api_selector_clear(&listing->selector);
    api_token_clear(&listing->token);
}

uint64_t api_zero_version(const struct api_model *model, enum api_kind kind)
{
    uint64_t lag = model->options.zero_lag;
    uint64_t lagging = lag < model->version ? model->version - lag : 0;
    uint64_t oldest = model->stores[kind].oldest;

    return lagging > oldest ? lagging : oldest;
}

static void refuse_too_large(const struct api_model *model, const char *version,
                             struct model_answer *out)
{
    struct api_refusal refusal;

    api_too_large(&refusal);
    api_refuse(out, &refusal, "Timeout: Too large resource version: %s, current: %" PRIu64, version,
               model->version);
}

void api_too_large(struct api_refusal *out)
{
    *out = (struct api_refusal){.code = 504,
                                .reason = "Timeout",
                                .cause_reason = "ResourceVersionTooLarge",
                                .cause_message = "Too large resource version",
                                .retry_after_s = 1};
}

/* The options fit each other? */
static bool check_match(const struct api_query *query, struct model_answer *out)
{
    const char *match = query->match != NULL ? query->match : "";
    bool is_exact = strcmp(match, "Exact") == 0;
    AUTO_FREE char *unknown = NULL;

    if (api_query_is_set(query->initial)) {
        api_refuse_options(out, "sendInitialEvents", "FieldValueForbidden",
                           "Forbidden: sendInitialEvents is forbidden for list");
    } else if (match[0] != '\0' && query->version == NULL) {
        api_refuse_options(
            out, "resourceVersionMatch", "FieldValueForbidden",
            "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided");
    } else if (is_exact && strcmp(query->version, "0") == 0) {
        api_refuse_options(out, "resourceVersionMatch", "FieldValueForbidden",
                           "Forbidden: resourceVersionMatch \"exact\" is forbidden for "
                           "resourceVersion \"0\"");
    } else if (match[0] != '\0' && !is_exact && strcmp(match, "NotOlderThan") != 0) {
        unknown = xasprintf("Unsupported value: \"%s\": supported values: \"Exact\", "
                            "\"NotOlderThan\", \"\"",
                            match);
        api_refuse_options(out, "resourceVersionMatch", "FieldValueNotSupported", unknown);
    } else {
        return true;
    }
    return false;
}

static bool read_limit(struct listing *listing, const struct api_query *query, size_t page_max,
                       struct model_answer *out)
{
    uint64_t limit = 0;

    if (query->limit != NULL && !api_version_read(query->limit, &limit)) {
        api_refuse_bad(out, "strconv.ParseInt: parsing \"%s\": invalid syntax", query->limit);
        return false;
    }
    listing->limit = (size_t)limit;
    if (page_max > 0 && listing->limit > page_max)
        listing->limit = page_max;
    return true;
}

/* The next page of a list that began at a version. */
static bool go_on(const struct api_model *model, const struct api_target *target,
                  struct listing *listing, struct model_answer *out)
{
    if (target->query->version != NULL && strcmp(target->query->version, "0") != 0) {
        api_refuse_bad(out, "specifying resource version is not allowed when using continue");
        return false;
    }
    if (!api_token_read(&listing->token, target->query->token)) {
        api_refuse_bad(out, "invalid continue token: continue key is not valid");
        return false;
    }
    listing->version =
        listing->token.version < 0 ? model->version : (uint64_t)listing->token.version;
    return true;
}

static bool choose_version(const struct api_model *model, const struct api_target *target,
                           struct listing *listing, struct model_answer *out)
{
    const struct api_query *query = target->query;
    uint64_t version = 0;

    listing->version = model->version;
    if (query->token != NULL)
        return go_on(model, target, listing, out);
    if (query->version == NULL)
        return true;
    if (!api_version_read(query->version, &version)) {
        api_refuse_bad(out,
                       "invalid resource version: resourceVersion: Invalid value: \"%s\": "
                       "strconv.ParseUint: parsing \"%s\": invalid syntax",
                       query->version, query->version);
        return false;
    }
    if (version > model->version) {
        refuse_too_large(model, query->version, out);
        return false;
    }
    if (version == 0) {
        listing->version = api_zero_version(model, target->kind);
        listing->limit = 0; /* the watch cache knows no pages */
    } else if (query->match != NULL && strcmp(query->match, "Exact") == 0) {
        listing->version = version;
    }
    return true;
}

/* Old pages can be had no more; the answer offers to go on with what is there now. */
static void refuse_old_page(const struct listing *listing, struct model_answer *out)
{
    struct api_refusal refusal = {.code = 410, .reason = "Expired"};
    struct buf token = buf_with_max(API_BYTES_MAX);
    struct api_object key = {.namespace = listing->token.namespace, .name = listing->token.name};

    api_token_write(&token, -1, &key);
    refusal.token = buf_text(&token);
    api_refuse(out, &refusal, "%s",
               "The provided continue parameter is too old to display a consistent list result. "
               "You can start a new list without the continue parameter, or use the continue "
               "token in this response to retrieve the remainder of the results. Continuing with "
               "the provided token results in an inconsistent list - objects that were created, "
               "modified, or deleted between the time the first chunk was returned and now may "
               "show up in the list.");
    buf_clear(&token);
}

static bool is_forgotten(const struct api_model *model, const struct api_target *target,
                         const struct listing *listing, struct model_answer *out)
{
    struct api_refusal refusal = {.code = 410, .reason = "Expired"};

    if (listing->version >= model->stores[target->kind].oldest)
        return false;
    if (listing->token.namespace != NULL)
        refuse_old_page(listing, out);
    else
        api_refuse(out, &refusal, "%s", "The resourceVersion for the provided list is too old.");
    return true;
}

static void add_head(struct buf *out, const struct api_target *target,
                     const struct listing *listing, const struct api_object *last, size_t remaining)
{
    const struct api_resource *resource = &api_resources[target->kind];

    buf_addf(out,
             "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":"
             "\"%" PRIu64 "\"",
             resource->kind, resource->group_version, listing->version);
    if (last != NULL) {
        buf_add_text(out, ",\"continue\":\"");
        api_token_write(out, (int64_t)listing->version, last);
        buf_add_byte(out, '"');
        if (listing->selector.count == 0)
            buf_addf(out, ",\"remainingItemCount\":%zu", remaining);
    }
    buf_add_text(out, "},\"items\":[");
}

/* Items of lists have no kind and apiVersion. */
static void add_item(struct buf *out, const struct api_object *object, bool is_first)
{
    const struct api_resource *resource = &api_resources[object->kind];
    size_t skip = strlen("{\"kind\":\"\",\"apiVersion\":\"\",") + strlen(resource->kind) +
                  strlen(resource->group_version);

    buf_add_text(out, is_first ? "{" : ",{");
    buf_add(out, object->json + skip, object->length - skip);
}

/* Keep only what the list is of. return how many are left. */
static size_t sieve(struct api_object **state, size_t count, const struct listing *listing)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        bool is_behind =
            listing->token.namespace == NULL ||
            api_key_compare(state[i], listing->token.namespace, listing->token.name) > 0;

        if (is_behind && api_selector_takes(&listing->selector, state[i]))
            state[kept++] = state[i];
        else
            api_object_unref(state[i]);
    }
    return kept;
}

static void write_list(const struct api_model *model, const struct api_target *target,
                       const struct listing *listing, struct model_answer *out)
{
    size_t count, page;
    struct api_object **state = api_store_state(model, target->kind, listing->version, &count);
    bool goes_on;

    count = sieve(state, count, listing);
    goes_on = listing->limit > 0 && count > listing->limit;
    page = goes_on ? listing->limit : count;
    add_head(&out->body, target, listing, goes_on ? state[page - 1] : NULL, count - page);
    for (size_t i = 0; i < page; i++)
        add_item(&out->body, state[i], i == 0);
    buf_add_text(&out->body, "]}");
    out->status = 200;
    api_state_free(state, count);
}

void api_list(struct api_model *model, const struct api_target *target, struct model_answer *out)
{
    AUTO(listing_clear) struct listing listing = {0};

    if (target->query->labels != NULL) {
        api_refuse_bad(out, "this model knows no label selectors");
        return;
    }
    if (target->namespace[0] != '\0')
        listing.selector.namespace = xstrdup(target->namespace);
    if (check_match(target->query, out) &&
        api_selector_read(&listing.selector, target->kind, target->query->fields, out) &&
        read_limit(&listing, target->query, model->options.page_max, out) &&
        choose_version(model, target, &listing, out) && !is_forgotten(model, target, &listing, out))
        write_list(model, target, &listing, out);
}
