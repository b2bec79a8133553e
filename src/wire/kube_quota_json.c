/* SPDX-License-Identifier: Apache-2.0 */
/* kube_quota_json - ResourceQuotas. */
#include "kube_reading.h"

static int take_hard(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;

    return kube_reading_add_amount(reading, &reading->quota->hard, value, err);
}

static int take_scope(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;

    (void)value, (void)err;
    reading->quota->is_scoped = true;
    return 0;
}

static int begin_expression(void *ctx, const char *key, struct error *err)
{
    struct kube_reading *reading = ctx;

    (void)key, (void)err;
    reading->quota->is_scoped = true;
    return 0;
}

static const struct json_field hard_shape[] = {
    {.key = JSON_ANY_KEY, .on_value = take_hard, .accepts_nul = true},
    {0},
};

static const struct json_field scopes_shape[] = {
    {.key = JSON_ELEMENT, .on_value = take_scope, .accepts_nul = true},
    {0},
};

static const struct json_field nothing[] = {{0}};

static const struct json_field expressions_shape[] = {
    {.key = JSON_ELEMENT, .shape = nothing, .on_begin = begin_expression},
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
