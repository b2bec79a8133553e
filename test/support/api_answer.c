/* SPDX-License-Identifier: Apache-2.0 */
/* api_answer - answers of the API model: Status objects and objects. */
#include "support/api_model_inside.h"

#include "topofit/mem.h"

#include <stdarg.h>

void model_answer_clear(struct model_answer *answer)
{
    buf_clear(&answer->body);
    *answer = (struct model_answer){0};
}

/* Start a member; the first one needs no comma. */
static void begin_member(struct buf *out, bool *has_some, const char *key)
{
    buf_addf(out, "%s\"%s\":", *has_some ? "," : "", key);
    *has_some = true;
}

static void add_text_member(struct buf *out, bool *has_some, const char *key, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    begin_member(out, has_some, key);
    buf_add_json_string(out, text);
}

static void add_causes(struct buf *out, bool *has_some, const struct api_refusal *refusal)
{
    bool has_cause = false;

    if (refusal->cause_reason == NULL)
        return;
    begin_member(out, has_some, "causes");
    buf_add_text(out, "[{");
    add_text_member(out, &has_cause, "reason", refusal->cause_reason);
    add_text_member(out, &has_cause, "message", refusal->cause_message);
    add_text_member(out, &has_cause, "field", refusal->cause_field);
    buf_add_text(out, "}]");
}

static void add_details(struct buf *out, const struct api_refusal *refusal)
{
    bool has_some = false;

    if (!refusal->has_details && refusal->name == NULL && refusal->kind == NULL &&
        refusal->cause_reason == NULL && refusal->retry_after_s == 0)
        return;
    buf_add_text(out, ",\"details\":{");
    add_text_member(out, &has_some, "name", refusal->name);
    add_text_member(out, &has_some, "group", refusal->group);
    add_text_member(out, &has_some, "kind", refusal->kind);
    add_causes(out, &has_some, refusal);
    if (refusal->retry_after_s > 0) {
        begin_member(out, &has_some, "retryAfterSeconds");
        buf_addf(out, "%u", refusal->retry_after_s);
    }
    buf_add_byte(out, '}');
}

void api_status_write(struct buf *out, const struct api_refusal *refusal, const char *message)
{
    bool has_some = true;

    buf_add_text(out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{");
    if (refusal->token != NULL) {
        buf_add_text(out, "\"continue\":");
        buf_add_json_string(out, refusal->token);
    }
    buf_addf(out, "},\"status\":\"%s\"", refusal->code < 400 ? "Success" : "Failure");
    add_text_member(out, &has_some, "message", message);
    add_text_member(out, &has_some, "reason", refusal->reason);
    add_details(out, refusal);
    buf_addf(out, ",\"code\":%d}", refusal->code);
}

void api_refuse(struct model_answer *out, const struct api_refusal *refusal, const char *format,
                ...)
{
    struct buf message = buf_with_max(API_BYTES_MAX);
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) > 0)
        buf_add_text(&message, text);
    va_end(arguments);
    mem_free_pointer(&text);
    out->status = refusal->code;
    buf_reset(&out->body);
    api_status_write(&out->body, refusal, buf_text(&message));
    buf_clear(&message);
}

void api_refuse_bad(struct model_answer *out, const char *format, ...)
{
    struct api_refusal refusal = {.code = 400, .reason = "BadRequest"};
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    api_refuse(out, &refusal, "%s", text != NULL ? text : "");
    mem_free_pointer(&text);
}

void api_refuse_missing(struct model_answer *out, enum api_kind kind, const char *name)
{
    const struct api_resource *resource = &api_resources[kind];
    struct api_refusal refusal = {.code = 404,
                                  .reason = "NotFound",
                                  .name = name,
                                  .group = resource->group,
                                  .kind = resource->plural};

    api_refuse(out, &refusal, "%s%s%s \"%s\" not found", resource->plural,
               resource->group[0] != '\0' ? "." : "", resource->group, name);
}

void api_refuse_options(struct model_answer *out, const char *field, const char *cause,
                        const char *message)
{
    struct api_refusal refusal = {.code = 422,
                                  .reason = "Invalid",
                                  .group = "meta.k8s.io",
                                  .kind = "ListOptions",
                                  .cause_reason = cause,
                                  .cause_message = message,
                                  .cause_field = field};

    api_refuse(out, &refusal, "ListOptions.meta.k8s.io \"\" is invalid: %s: %s", field, message);
}

void model_answer_object(struct model_answer *out, int status, const struct api_object *object)
{
    out->status = status;
    buf_reset(&out->body);
    buf_add(&out->body, object->json, object->length);
}

void model_answer_fail(struct model_answer *out, int code, const char *reason, const char *message)
{
    struct api_refusal refusal = {.code = code, .reason = reason};

    if (out->body.max == 0)
        out->body = buf_with_max(API_BYTES_MAX);
    out->is_text = false;
    out->watch = NULL;
    api_refuse(out, &refusal, "%s", message);
}
