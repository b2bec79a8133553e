/* SPDX-License-Identifier: Apache-2.0 */
/* kube_quota_json - ResourceQuotas. */
#include "kube_reading.h"

#include "topofit/mem.h"

#include <stddef.h>

static int take_hard(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;

    return kube_reading_add_amount(reading, &reading->quota->hard, value, err);
}

/* What a quota may say of scopes in earnest; the API server knows six. */
#define SCOPES_MAX 64
#define SCOPE_VALUES_MAX 1024

/* A scope that is read; NULL beyond the maximum. */
static struct kube_scope *add_scope(struct kube_reading *reading)
{
    struct kube_quota *quota = reading->quota;

    if (quota->scope_count == SCOPES_MAX) {
        *reading->truncated = true;
        return NULL;
    }
    quota->scopes =
        mem_grow(quota->scopes, quota->scope_count, &quota->scope_capacity, sizeof *quota->scopes);
    quota->scopes[quota->scope_count] = (struct kube_scope){.name = xstrdup(""), .op = xstrdup("")};
    return &quota->scopes[quota->scope_count++];
}

/* A scope by name alone: it exists. */
static int take_scope(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;
    struct kube_scope *scope = add_scope(reading);

    return scope != NULL ? kube_reading_copy(reading, value, &scope->name, err) : 0;
}

static int begin_expression(void *ctx, const char *key, struct error *err)
{
    struct kube_reading *reading = ctx;

    (void)key, (void)err;
    reading->scope = add_scope(reading);
    return 0;
}

static int take_scope_text(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;

    if (reading->scope == NULL)
        return 0;
    return kube_reading_copy(reading, value, (char **)((char *)reading->scope + value->slot), err);
}

static int take_scope_value(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;
    struct kube_scope *scope = reading->scope;

    if (scope == NULL)
        return 0;
    if (scope->value_count == SCOPE_VALUES_MAX) {
        *reading->truncated = scope->is_cut = true;
        return 0;
    }
    scope->values = xreallocarray(scope->values, scope->value_count + 1, sizeof *scope->values);
    scope->values[scope->value_count++] = xstrdup("");
    return kube_reading_copy(reading, value, &scope->values[scope->value_count - 1], err);
}

static const struct json_field hard_shape[] = {
    {.key = JSON_ANY_KEY, .on_value = take_hard, .accepts_nul = true},
    {0},
};

static const struct json_field scopes_shape[] = {
    {.key = JSON_ELEMENT, .on_value = take_scope, .accepts_nul = true},
    {0},
};

static const struct json_field scope_values_shape[] = {
    {.key = JSON_ELEMENT, .on_value = take_scope_value, .accepts_nul = true},
    {0},
};

#define SCOPE(member) \
    .on_value = take_scope_text, .slot = offsetof(struct kube_scope, member), .accepts_nul = true

static const struct json_field expression_shape[] = {
    {.key = "scopeName", SCOPE(name)},
    {.key = "operator", SCOPE(op)},
    {.key = "values", .shape = scope_values_shape},
    {0},
};

static const struct json_field expressions_shape[] = {
    {.key = JSON_ELEMENT, .shape = expression_shape, .on_begin = begin_expression},
    {0},
};

static const struct json_field selector_shape[] = {
    {.key = "matchExpressions", .shape = expressions_shape},
    {0},
};

const struct json_field kube_quota_spec_shape[] = {
    {.key = "hard", .shape = hard_shape},
    {.key = "scopes", .shape = scopes_shape},
    {.key = "scopeSelector", .shape = selector_shape},
    {0},
};

const struct json_field kube_quota_shape[] = {
    {.key = "kind", .on_value = kube_reading_take_kind},
    {.key = "metadata", .shape = kube_meta_shape},
    {.key = "spec", .shape = kube_quota_spec_shape},
    {0},
};
