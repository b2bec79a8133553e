/* SPDX-License-Identifier: Apache-2.0 */
/* http_budget - how much memory the bodies of all requests and answers of a server may take. */
#include "topofit/http_budget.h"

#include <assert.h>

static size_t counted(const struct http_budget *budget, size_t length)
{
    return length > budget->free_bytes ? length - budget->free_bytes : 0;
}

bool http_budget_grow(struct http_budget *budget, size_t length, size_t more)
{
    size_t wanted, held;

    if (budget == NULL)
        return true;
    wanted = counted(budget, length + more) - counted(budget, length);
    if (wanted == 0)
        return true;
    held = atomic_load(&budget->held_bytes);
    do {
        if (wanted > budget->max_bytes - held) {
            atomic_fetch_add(&budget->refusals, 1);
            return false;
        }
    } while (!atomic_compare_exchange_weak(&budget->held_bytes, &held, held + wanted));
    return true;
}

bool http_budget_has_room(struct http_budget *budget, uint64_t length)
{
    if (budget == NULL || length <= budget->free_bytes ||
        length - budget->free_bytes <= budget->max_bytes - atomic_load(&budget->held_bytes))
        return true;
    atomic_fetch_add(&budget->refusals, 1);
    return false;
}

void http_budget_free(struct http_budget *budget, size_t length)
{
    size_t before;

    if (budget == NULL || counted(budget, length) == 0)
        return;
    before = atomic_fetch_sub(&budget->held_bytes, counted(budget, length));
    assert(before >= counted(budget, length));
}
