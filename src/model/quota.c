/* SPDX-License-Identifier: Apache-2.0 */
/* quota - how much of each class the pods of a namespace may hold together: objects and room. */
#include "topofit/quota.h"

#include "topofit/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- resources ------------------------------------------------------------------------------- */

const char *quota_resource(const struct device_class *class, enum quota_kind kind)
{
    return kind == QUOTA_MEMORY ? class->memory_resource : class->cores_resource;
}

uint64_t quota_in_units(const struct device_class *class, enum quota_kind kind, uint64_t amount)
{
    uint64_t unit = class->memory_unit_mib;

    if (amount == QUOTA_NO_LIMIT)
        return amount;
    if (kind == QUOTA_MEMORY)
        return unit > 1 ? amount / unit + (amount % unit != 0) : amount;
    if (class->cores_percent && class->cores > 0)
        return (amount * 100 + class->cores - 1) / class->cores;
    return amount;
}

/* --- objects --------------------------------------------------------------------------------- */

struct quota *quota_new(const char *namespace, const char *name, const char *uid)
{
    struct quota *quota = xcalloc(1, sizeof *quota);

    quota->namespace = xstrdup(namespace);
    quota->name = xstrdup(name);
    quota->uid = xstrdup(uid);
    return quota;
}

void quota_free(struct quota *quota)
{
    if (quota == NULL)
        return;
    for (size_t i = 0; i < quota->remark_count; i++)
        free(quota->remarks[i]);
    free(quota->remarks);
    for (size_t i = 0; i < quota->scope_count; i++)
        quota_scope_clear(&quota->scopes[i]);
    free(quota->scopes);
    free(quota->limits);
    free(quota->namespace);
    free(quota->name);
    free(quota->uid);
    free(quota);
}

void quota_free_pointer(struct quota **quota)
{
    quota_free(*quota);
}

void quota_add_limit(struct quota *quota, const struct quota_limit *limit)
{
    quota->limits = xreallocarray(quota->limits, quota->limit_count + 1, sizeof *quota->limits);
    quota->limits[quota->limit_count++] = *limit;
}

void quota_steal_scope(struct quota *quota, struct quota_scope *steal_scope)
{
    quota->scopes = xreallocarray(quota->scopes, quota->scope_count + 1, sizeof *quota->scopes);
    quota->scopes[quota->scope_count++] = *steal_scope;
    *steal_scope = (struct quota_scope){0};
}

bool quota_covers(const struct quota *quota, const struct quota_traits *traits)
{
    for (size_t i = 0; i < quota->scope_count; i++) {
        if (!quota_scope_matches(&quota->scopes[i], traits))
            return false;
    }
    return true;
}

static bool same_scopes(const struct quota *a, const struct quota *b)
{
    if (a->scope_count != b->scope_count)
        return false;
    for (size_t i = 0; i < a->scope_count; i++) {
        if (!quota_scope_equal(&a->scopes[i], &b->scopes[i]))
            return false;
    }
    return true;
}

void quota_add_remark(struct quota *quota, char *steal_remark)
{
    quota->remarks = xreallocarray(quota->remarks, quota->remark_count + 1, sizeof *quota->remarks);
    quota->remarks[quota->remark_count++] = steal_remark;
}

bool quota_same_remarks(const struct quota *a, const struct quota *b)
{
    if (a->remark_count != b->remark_count)
        return false;
    for (size_t i = 0; i < a->remark_count; i++) {
        if (strcmp(a->remarks[i], b->remarks[i]) != 0)
            return false;
    }
    return true;
}

bool quota_equal(const struct quota *a, const struct quota *b)
{
    if (strcmp(a->namespace, b->namespace) != 0 || strcmp(a->name, b->name) != 0 ||
        strcmp(a->uid, b->uid) != 0 || a->limit_count != b->limit_count)
        return false;
    for (size_t i = 0; i < a->limit_count; i++) {
        const struct quota_limit *x = &a->limits[i], *y = &b->limits[i];

        if (x->class != y->class || x->kind != y->kind || x->amount != y->amount)
            return false;
    }
    return same_scopes(a, b) && quota_same_remarks(a, b);
}

uint64_t quota_limit_of(const struct quota *quota, const struct device_class *class,
                        enum quota_kind kind)
{
    for (size_t i = 0; i < quota->limit_count; i++) {
        if (quota->limits[i].class == class && quota->limits[i].kind == kind)
            return quota->limits[i].amount;
    }
    return QUOTA_NO_LIMIT;
}

/* --- room ------------------------------------------------------------------------------------ */

const struct quota_line *quota_room_line(const struct quota_room *room,
                                         const struct device_class *class)
{
    for (size_t i = 0; i < room->count; i++) {
        if (room->lines[i].class == class)
            return &room->lines[i];
    }
    return NULL;
}

uint64_t quota_left(const struct quota_line *line, enum quota_kind kind)
{
    if (line == NULL || line->limits[kind] == QUOTA_NO_LIMIT)
        return QUOTA_NO_LIMIT;
    return line->used[kind] < line->limits[kind] ? line->limits[kind] - line->used[kind] : 0;
}

const struct charge *quota_first_over(const struct quota_room *room, const struct charge *charges,
                                      size_t count, enum quota_kind *out_kind)
{
    for (size_t i = 0; i < count; i++) {
        const struct quota_line *line = quota_room_line(room, charges[i].class);

        for (unsigned kind = 0; kind < QUOTA_KINDS; kind++) {
            *out_kind = (enum quota_kind)kind;
            if (charges[i].amounts[kind] > quota_left(line, *out_kind))
                return &charges[i];
        }
    }
    return NULL;
}

void quota_room_give_back(struct quota_room *room, const struct charge *charges, size_t count,
                          bool is_alike)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < room->count; k++) {
            if (room->lines[k].class != charges[i].class)
                continue;
            for (unsigned kind = 0; kind < QUOTA_KINDS; kind++) {
                uint64_t *used = &room->lines[k].used[kind];

                if (is_alike || !room->lines[k].is_scoped[kind])
                    *used -= charges[i].amounts[kind] < *used ? charges[i].amounts[kind] : *used;
            }
        }
    }
}

void quota_shortage_describe(const struct quota_shortage *shortage, char *text, size_t size)
{
    const struct device_class *class = shortage->class;
    enum quota_kind kind = shortage->kind;

    snprintf(text, size,
             "limits.%s of the namespace: %" PRIu64 " wanted, %" PRIu64 " of %" PRIu64 " used",
             quota_resource(class, kind), quota_in_units(class, kind, shortage->wanted),
             quota_in_units(class, kind, shortage->used),
             quota_in_units(class, kind, shortage->limit));
}
