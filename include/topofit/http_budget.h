/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_budget - how much memory the bodies of all requests and answers of a server may take.
 *
 * Each connection is bounded by itself, but a thousand of them together are not. What is small is
 * not counted, so that small calls are served however many large ones there are.
 *
 * Threads: everything may be called from any.
 */
#ifndef TOPOFIT_HTTP_BUDGET_H
#define TOPOFIT_HTTP_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_budget {
    size_t max_bytes;
    size_t free_bytes; /* of each body and each answer, what does not count */
    atomic_size_t held_bytes;
    atomic_uint_fast64_t refusals; /* requests and answers that were too much */
};

/*
 * Let something that is `length` bytes long grow by `more`. Nothing is refused by a budget of NULL.
 *
 * return  false when all together would be more than the maximum; nothing is taken then, and a
 *         refusal is counted.
 */
bool http_budget_grow(struct http_budget *budget, size_t length, size_t more);

/* Would something of that length be refused now? Counted as a refusal if so; nothing is taken. */
bool http_budget_has_room(struct http_budget *budget, uint64_t length);

/* Something of that length, grown by http_budget_grow, is gone. */
void http_budget_free(struct http_budget *budget, size_t length);

#endif
