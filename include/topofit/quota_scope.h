/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quota_scope - which pods of its namespace a quota counts.
 *
 * A ResourceQuota may have scopes, in two spellings; a pod counts when all of them match. What they
 * look at stands in few traits of a pod, so that sums can be kept for pods that are alike in them.
 * source: Kubernetes documentation, "Resource Quotas", scopes; pkg/quota/v1/evaluator/core/pods.go
 */
#ifndef TOPOFIT_QUOTA_SCOPE_H
#define TOPOFIT_QUOTA_SCOPE_H

#include <stdbool.h>
#include <stddef.h>

/* Of a pod. */
struct quota_traits {
    char *priority_class; /* owned; NULL: none */
    bool is_terminating;  /* it has an activeDeadlineSeconds */
    bool is_best_effort;  /* no container says anything of CPU or memory */
};

bool quota_traits_equal(const struct quota_traits *a, const struct quota_traits *b);
struct quota_traits quota_traits_copy(const struct quota_traits *traits);
void quota_traits_clear(struct quota_traits *traits);

enum quota_scope_kind {
    SCOPE_TERMINATING = 0,
    SCOPE_NOT_TERMINATING,
    SCOPE_BEST_EFFORT,
    SCOPE_NOT_BEST_EFFORT,
    SCOPE_PRIORITY_CLASS,
};
#define SCOPE_KINDS 5

enum quota_operator { SCOPE_EXISTS = 0, SCOPE_DOES_NOT_EXIST, SCOPE_IN, SCOPE_NOT_IN };
#define SCOPE_OPERATORS 4

struct quota_scope {
    enum quota_scope_kind kind;
    enum quota_operator op; /* other than EXISTS: of priority classes alone */
    char **values;          /* of IN and NOT_IN; owned; in order once finished */
    size_t value_count;
};

/* The words of the API. false: it is none of them. */
bool quota_scope_kind_parse(const char *word, enum quota_scope_kind *out);
bool quota_operator_parse(const char *word, enum quota_operator *out);

void quota_scope_add_value(struct quota_scope *scope, const char *value);

/* All values are there: it may be asked now. */
void quota_scope_finish(struct quota_scope *scope);

bool quota_scope_equal(const struct quota_scope *a, const struct quota_scope *b);
void quota_scope_clear(struct quota_scope *scope);

bool quota_scope_matches(const struct quota_scope *scope, const struct quota_traits *traits);

#endif
