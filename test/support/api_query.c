/* SPDX-License-Identifier: Apache-2.0 */
/* api_query - what a request to the API model asks: parameters, selectors, continue tokens. */
#include "support/api_model_inside.h"

#include "topofit/base64.h"
#include "topofit/mem.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- parameters ------------------------------------------------------------------------------ */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void api_unescape(char *text)
{
    char *out = text;

    for (; *text != '\0'; text++) {
        if (*text == '%' && hex_value(text[1]) >= 0 && hex_value(text[2]) >= 0) {
            *out++ = (char)(hex_value(text[1]) * 16 + hex_value(text[2]));
            text += 2;
        } else {
            *out++ = *text == '+' ? ' ' : *text;
        }
    }
    *out = '\0';
}

static void set_parameter(struct api_query *query, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **place;
    } known[] = {
        {"watch", &query->watch},
        {"limit", &query->limit},
        {"continue", &query->token},
        {"resourceVersion", &query->version},
        {"resourceVersionMatch", &query->match},
        {"fieldSelector", &query->fields},
        {"labelSelector", &query->labels},
        {"allowWatchBookmarks", &query->bookmarks},
        {"sendInitialEvents", &query->initial},
        {"timeoutSeconds", &query->timeout},
        {"dryRun", &query->dry_run},
    };

    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (strcmp(known[i].name, name) == 0)
            *known[i].place = value;
    }
}

void api_query_read(struct api_query *query, const char *text)
{
    char *rest, *pair;

    *query = (struct api_query){.text = xstrdup(text)};
    rest = query->text;
    while ((pair = strsep(&rest, "&")) != NULL) {
        char *value = strchr(pair, '=');

        if (value == NULL)
            continue;
        *value++ = '\0';
        api_unescape(value);
        if (value[0] != '\0')
            set_parameter(query, pair, value);
    }
}

void api_query_clear(struct api_query *query)
{
    free(query->text);
    *query = (struct api_query){0};
}

bool api_query_is_set(const char *value)
{
    return value != NULL && (strcmp(value, "1") == 0 || strcmp(value, "true") == 0);
}

bool api_path_is_watch(const char *path)
{
    const char *question = strchr(path, '?');
    struct api_query query;
    bool answer;

    api_query_read(&query, question != NULL ? question + 1 : "");
    answer = api_query_is_set(query.watch);
    api_query_clear(&query);
    return answer;
}

bool api_version_read(const char *text, uint64_t *out)
{
    char *end;

    *out = strtoull(text, &end, 10);
    return isdigit((unsigned char)text[0]) && *end == '\0';
}

/* --- selectors ------------------------------------------------------------------------------- */

static const struct {
    const char *label;
    enum api_field field;
    bool of_pods;
} FIELDS[] = {
    {"metadata.name", FIELD_NAME, false},     {"metadata.namespace", FIELD_NAMESPACE, false},
    {"spec.nodeName", FIELD_NODE_NAME, true}, {"spec.schedulerName", FIELD_SCHEDULER, true},
    {"status.phase", FIELD_PHASE, true},
};

static bool add_term(struct api_selector *out, enum api_kind kind, const char *label, bool is_not,
                     char *value)
{
    for (size_t i = 0; i < ARRAY_LEN(FIELDS); i++) {
        if (strcmp(FIELDS[i].label, label) != 0 || (FIELDS[i].of_pods && kind != API_POD))
            continue;
        out->terms[out->count].field = FIELDS[i].field;
        out->terms[out->count].is_not = is_not;
        out->terms[out->count++].value = value;
        return true;
    }
    return false;
}

/* "a!=b", "a=b" or "a==b" */
static bool read_term(struct api_selector *out, enum api_kind kind, char *term,
                      struct model_answer *answer)
{
    char *sign = strchr(term, '=');
    bool is_not = sign != NULL && sign > term && sign[-1] == '!';

    if (sign == NULL || out->count == API_TERMS_MAX) {
        api_refuse_bad(answer, "invalid selector: '%s'; can't understand '%s'", term, term);
        return false;
    }
    sign[is_not ? -1 : 0] = '\0';
    sign += sign[1] == '=' ? 2 : 1;
    if (add_term(out, kind, term, is_not, sign))
        return true;
    api_refuse_bad(answer, "field label not supported: %s", term);
    return false;
}

bool api_selector_read(struct api_selector *out, enum api_kind kind, const char *text,
                       struct model_answer *answer)
{
    char *rest, *term;

    out->text = xstrdup(text != NULL ? text : "");
    rest = out->text;
    while ((term = strsep(&rest, ",")) != NULL) {
        if (term[0] != '\0' && !read_term(out, kind, term, answer))
            return false;
    }
    return true;
}

void api_selector_clear(struct api_selector *selector)
{
    free(selector->text);
    free(selector->namespace);
    *selector = (struct api_selector){0};
}

static const char *field_of(const struct api_object *object, enum api_field field)
{
    switch (field) {
    case FIELD_NAME:
        return object->name;
    case FIELD_NAMESPACE:
        return object->namespace;
    case FIELD_NODE_NAME:
        return object->node_name;
    case FIELD_SCHEDULER:
        return object->scheduler_name;
    case FIELD_PHASE:
        return object->phase;
    }
    return "";
}

bool api_selector_takes(const struct api_selector *selector, const struct api_object *object)
{
    if (selector->namespace != NULL && strcmp(selector->namespace, object->namespace) != 0)
        return false;
    for (size_t i = 0; i < selector->count; i++) {
        const char *is = field_of(object, selector->terms[i].field);

        if ((strcmp(is, selector->terms[i].value) == 0) == selector->terms[i].is_not)
            return false;
    }
    return true;
}

/* --- continue tokens ------------------------------------------------------------------------- */

static void add_base64(struct buf *out, const unsigned char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    for (size_t i = 0; i < length; i += 3) {
        size_t have = length - i < 3 ? length - i : 3;
        unsigned word = (unsigned)bytes[i] << 16;

        word |= have > 1 ? (unsigned)bytes[i + 1] << 8 : 0;
        word |= have > 2 ? bytes[i + 2] : 0;
        for (size_t digit = 0; digit <= have; digit++)
            buf_add_byte(out, digits[word >> (18 - 6 * digit) & 63]);
    }
}

void api_token_write(struct buf *out, int64_t version, const struct api_object *last)
{
    AUTO_FREE char *json =
        xasprintf("{\"v\":\"meta.k8s.io/v1\",\"rv\":%" PRId64 ",\"start\":\"%s%s%s\\u0000\"}",
                  version, last->namespace, last->namespace[0] != '\0' ? "/" : "", last->name);

    add_base64(out, (const unsigned char *)json, strlen(json));
}

/* Without padding, with '-' and '_': back to what base64_decode knows. */
static json_t *decode(const char *text)
{
    AUTO_FREE char *padded = xasprintf("%s%.*s", text, (int)((4 - strlen(text) % 4) % 4), "===");
    AUTO_FREE char *bytes = NULL;
    struct error err = {0};
    size_t length;

    for (char *c = padded; *c != '\0'; c++)
        *c = *c == '-' ? '+' : *c == '_' ? '/' : *c;
    if (base64_decode(padded, &bytes, &length, &err) < 0)
        return NULL;
    return json_loadb(bytes, length, JSON_ALLOW_NUL, NULL);
}

bool api_token_read(struct api_token *out, const char *text)
{
    json_t *json = decode(text);
    const char *start = json_string_value(json_object_get(json, "start"));
    const char *slash;

    if (start == NULL || !json_is_integer(json_object_get(json, "rv"))) {
        json_decref(json);
        return false;
    }
    start += start[0] == '/' ? 1 : 0;
    slash = strchr(start, '/');
    out->version = json_integer_value(json_object_get(json, "rv"));
    out->namespace = slash != NULL ? xstrndup(start, (size_t)(slash - start)) : xstrdup("");
    out->name = xstrdup(slash != NULL ? slash + 1 : start);
    json_decref(json);
    return true;
}

void api_token_clear(struct api_token *token)
{
    free(token->namespace);
    free(token->name);
    *token = (struct api_token){0};
}
