/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admitting - ask the webhook about a pod, as the API server does, and take its answer apart.
 *
 * Texts are JSON with ' for ". All trees belong to the caller.
 */
#ifndef TOPOFIT_TEST_ADMITTING_H
#define TOPOFIT_TEST_ADMITTING_H

#include <jansson.h>
#include <stdbool.h>

#include "topofit/admit.h"

/* A JSON tree; fails the test when the text is none. */
json_t *admitting_tree(const char *text);

/* The built-in classes, with NVIDIA's resources of partitions. The caller clears the table. */
void admitting_classes(struct class_table *out);

/* A policy with all that is off by default. */
struct admit_policy admitting_policy(void);

/* What came back. Clear it. */
struct admitted {
    bool allowed;
    int code;
    char *message;      /* "" when allowed */
    char *warning;      /* the first, or "" */
    json_t *operations; /* of the patch; an empty list when there is none */
    json_t *pod;        /* as it is after the patch */
};
void admitted_clear(struct admitted *admitted);

/*
 * Ask about the creation of a pod with admitting_classes(). That the answer has the question's
 * uid, and that a pod once patched is not patched again, is checked here.
 */
struct admitted admitting_ask(const json_t *pod, const struct admit_policy *policy);

/* The same for a pod as text. */
struct admitted admitting_ask_text(const char *pod, const struct admit_policy *policy);

/* The whole answer to a question as bytes; free it. */
char *admitting_answer(const char *review, const struct admit_policy *policy);

/* A value by a pointer as in RFC 6901, or NULL. Borrowed. */
const json_t *admitting_at(const json_t *tree, const char *pointer);
/* The same of a text; "" when there is none. */
const char *admitting_text(const json_t *tree, const char *pointer);

#endif
