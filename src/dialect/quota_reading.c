/* SPDX-License-Identifier: Apache-2.0 */
/* quota_reading - the limits that concern us of a ResourceQuota. */
#include "topofit/dialect.h"
#include "topofit/mem.h"
#include "topofit/quantity.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LIMITS_PREFIX "limits."
#define REMARKS_MAX 20 /* of one object; more say nothing new */

struct quota_reading {
    const struct class_table *classes;
    struct quota *quota;
};

__attribute__((format(printf, 2, 3))) static void remark(struct quota_reading *reading,
                                                         const char *format, ...)
{
    char text[320];
    va_list arguments;

    if (reading->quota->remark_count == REMARKS_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    quota_add_remark(reading->quota, xstrdup(text));
}

/* --- resources ------------------------------------------------------------------------------- */

/* The length of "nvidia.com/", or 0. */
static size_t domain_length(const char *resource)
{
    const char *slash = strchr(resource, '/');

    return slash != NULL ? (size_t)(slash - resource) + 1 : 0;
}

static bool shares_domain(const char *resource, const char *ours)
{
    size_t length = ours != NULL ? domain_length(ours) : 0;

    return length > 0 && strncmp(resource, ours, length) == 0;
}

/* A class with a resource of the same vendor's domain, or NULL. */
static const struct device_class *find_vendor(const struct class_table *classes,
                                              const char *resource)
{
    for (size_t i = 0; i < classes->count; i++) {
        const struct device_class *class = &classes->items[i];

        if (shares_domain(resource, class->count_resource) ||
            shares_domain(resource, class->memory_resource) ||
            shares_domain(resource, class->slices_resource))
            return class;
    }
    return NULL;
}

static bool find_counted(const struct class_table *classes, const char *resource,
                         struct quota_limit *out)
{
    for (size_t i = 0; i < classes->count; i++) {
        for (unsigned kind = 0; kind < QUOTA_KINDS; kind++) {
            const char *ours = quota_resource(&classes->items[i], (enum quota_kind)kind);

            *out = (struct quota_limit){.class = &classes->items[i], .kind = (enum quota_kind)kind};
            if (ours != NULL && strcmp(ours, resource) == 0)
                return true;
        }
    }
    return false;
}

/* --- amounts --------------------------------------------------------------------------------- */

static int read_cores(const struct device_class *class, const char *text, uint64_t *out,
                      struct error *err)
{
    if (quantity_parse_count(text, out, err) < 0)
        return -(int)err->code;
    if (class->cores_percent)
        *out = *out * class->cores / 100;
    return 0;
}

static int read_memory(const struct device_class *class, const char *text, uint64_t *out,
                       struct error *err)
{
    uint64_t unit_mib = class->memory_unit_mib > 0 ? class->memory_unit_mib : 1;

    return quantity_parse_total_mib(text, unit_mib, out, err);
}

/* What cannot be read is no licence: nothing may be had until it is put right. */
static void read_limit(struct quota_reading *reading, const char *key, const char *text,
                       struct quota_limit *limit)
{
    struct error err = {0};
    int result = limit->kind == QUOTA_MEMORY ? read_memory(limit->class, text, &limit->amount, &err)
                                             : read_cores(limit->class, text, &limit->amount, &err);

    if (result < 0 && err.code == ERR_LIMIT)
        return; /* more than there can be */
    if (result < 0) {
        limit->amount = 0;
        remark(reading, "%.100s: %s; none may be had until it can be read", key, err.text);
    }
    if (limit->amount != QUOTA_NO_LIMIT)
        quota_add_limit(reading->quota, limit);
}

/* A limit that looks like ours: better said than found out. */
static void remark_other(struct quota_reading *reading, const char *key, const char *resource)
{
    const struct class_resource *known = class_find_resource(reading->classes, resource);
    const struct device_class *class = find_vendor(reading->classes, resource);
    const char *memory = class != NULL ? class->memory_resource : NULL;

    if (known != NULL)
        class = &reading->classes->items[known->class];
    if (known != NULL && known->amount == AMOUNT_COUNT)
        remark(reading, "%.150s is counted by nobody: the API server counts requests.%.150s", key,
               resource);
    else if (known != NULL)
        remark(reading, "%.150s is not counted: what it comes to counts against limits.%.100s", key,
               class->memory_resource != NULL ? class->memory_resource : "(nothing)");
    else if (class != NULL)
        remark(reading, "%.150s is not counted: no class has this resource%s%.100s", key,
               memory != NULL ? ", did you mean limits." : "", memory != NULL ? memory : "");
}

/*
 * A scope that is not known, or not read to its end, leaves nobody out: better too little than too
 * much.
 */
static void read_scope(struct quota_reading *reading, const struct kube_scope *kube)
{
    const char *op = kube->op[0] != '\0' ? kube->op : "Exists";
    struct quota_scope scope = {0};

    if (kube->is_cut || !quota_scope_kind_parse(kube->name, &scope.kind) ||
        !quota_operator_parse(op, &scope.op)) {
        if (reading->quota->limit_count > 0)
            remark(reading,
                   "scope %.60s %.60s %sis not looked at: pods count as if they matched it",
                   kube->name, op, kube->is_cut ? "has too many values and " : "");
        return;
    }
    for (size_t i = 0; i < kube->value_count; i++)
        quota_scope_add_value(&scope, kube->values[i]);
    quota_scope_finish(&scope);
    quota_steal_scope(reading->quota, &scope);
}

struct quota *dialect_quota(const struct kube_quota *kube, const struct class_table *classes)
{
    struct quota_reading reading = {
        classes, quota_new(kube->meta.namespace, kube->meta.name, kube->meta.uid)};

    for (size_t i = 0; i < kube->hard.count; i++) {
        const char *key = kube->hard.items[i].key;
        const char *resource = key + strlen(LIMITS_PREFIX);
        struct quota_limit limit;

        if (strncmp(key, LIMITS_PREFIX, strlen(LIMITS_PREFIX)) != 0)
            continue;
        if (find_counted(classes, resource, &limit))
            read_limit(&reading, key, kube->hard.items[i].value, &limit);
        else
            remark_other(&reading, key, resource);
    }
    for (size_t i = 0; i < kube->scope_count; i++)
        read_scope(&reading, &kube->scopes[i]);
    if (kube->truncated)
        remark(&reading, "it has more or other text than is looked at");
    return reading.quota;
}
