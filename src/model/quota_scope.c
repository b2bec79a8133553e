/* SPDX-License-Identifier: Apache-2.0 */
/* quota_scope - which pods of its namespace a quota counts. */
#include "topofit/quota_scope.h"

#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

/* --- traits ---------------------------------------------------------------------------------- */

bool quota_traits_equal(const struct quota_traits *a, const struct quota_traits *b)
{
    const char *class_a = a->priority_class != NULL ? a->priority_class : "";
    const char *class_b = b->priority_class != NULL ? b->priority_class : "";

    return a->is_terminating == b->is_terminating && a->is_best_effort == b->is_best_effort &&
           strcmp(class_a, class_b) == 0;
}

struct quota_traits quota_traits_copy(const struct quota_traits *traits)
{
    struct quota_traits copy = *traits;

    copy.priority_class = traits->priority_class != NULL ? xstrdup(traits->priority_class) : NULL;
    return copy;
}

void quota_traits_clear(struct quota_traits *traits)
{
    free(traits->priority_class);
    *traits = (struct quota_traits){0};
}

/* --- scopes ---------------------------------------------------------------------------------- */

static bool find(const char *const *words, int count, const char *word, int *out)
{
    for (int i = 0; i < count; i++) {
        *out = i;
        if (strcmp(words[i], word) == 0)
            return true;
    }
    return false;
}

bool quota_scope_kind_parse(const char *word, enum quota_scope_kind *out)
{
    static const char *const words[SCOPE_KINDS] = {
        [SCOPE_TERMINATING] = "Terminating",      [SCOPE_NOT_TERMINATING] = "NotTerminating",
        [SCOPE_BEST_EFFORT] = "BestEffort",       [SCOPE_NOT_BEST_EFFORT] = "NotBestEffort",
        [SCOPE_PRIORITY_CLASS] = "PriorityClass",
    };
    int found;
    bool is_known = find(words, SCOPE_KINDS, word, &found);

    *out = (enum quota_scope_kind)found;
    return is_known;
}

bool quota_operator_parse(const char *word, enum quota_operator *out)
{
    static const char *const words[SCOPE_OPERATORS] = {
        [SCOPE_EXISTS] = "Exists",
        [SCOPE_DOES_NOT_EXIST] = "DoesNotExist",
        [SCOPE_IN] = "In",
        [SCOPE_NOT_IN] = "NotIn",
    };
    int found;
    bool is_known = find(words, SCOPE_OPERATORS, word, &found);

    *out = (enum quota_operator)found;
    return is_known;
}

void quota_scope_add_value(struct quota_scope *scope, const char *value)
{
    scope->values = xreallocarray(scope->values, scope->value_count + 1, sizeof *scope->values);
    scope->values[scope->value_count++] = xstrdup(value);
}

static int compare_values(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void quota_scope_finish(struct quota_scope *scope)
{
    if (scope->value_count > 0)
        qsort(scope->values, scope->value_count, sizeof *scope->values, compare_values);
}

bool quota_scope_equal(const struct quota_scope *a, const struct quota_scope *b)
{
    if (a->kind != b->kind || a->op != b->op || a->value_count != b->value_count)
        return false;
    for (size_t i = 0; i < a->value_count; i++) {
        if (strcmp(a->values[i], b->values[i]) != 0)
            return false;
    }
    return true;
}

void quota_scope_clear(struct quota_scope *scope)
{
    for (size_t i = 0; i < scope->value_count; i++)
        free(scope->values[i]);
    free(scope->values);
    *scope = (struct quota_scope){0};
}

static bool names(const struct quota_scope *scope, const char *priority_class)
{
    return priority_class != NULL && scope->value_count > 0 &&
           bsearch(&priority_class, scope->values, scope->value_count, sizeof *scope->values,
                   compare_values) != NULL;
}

/* As a label selector: who has none is not in any list. */
static bool matches_class(const struct quota_scope *scope, const char *priority_class)
{
    switch (scope->op) {
    case SCOPE_EXISTS:
        return priority_class != NULL;
    case SCOPE_DOES_NOT_EXIST:
        return priority_class == NULL;
    case SCOPE_IN:
        return names(scope, priority_class);
    case SCOPE_NOT_IN:
        return !names(scope, priority_class);
    }
    return true;
}

bool quota_scope_matches(const struct quota_scope *scope, const struct quota_traits *traits)
{
    switch (scope->kind) {
    case SCOPE_TERMINATING:
        return traits->is_terminating;
    case SCOPE_NOT_TERMINATING:
        return !traits->is_terminating;
    case SCOPE_BEST_EFFORT:
        return traits->is_best_effort;
    case SCOPE_NOT_BEST_EFFORT:
        return !traits->is_best_effort;
    case SCOPE_PRIORITY_CLASS:
        return matches_class(scope, traits->priority_class);
    }
    return true;
}
