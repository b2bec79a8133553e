/* SPDX-License-Identifier: Apache-2.0 */
/* ledger - which pod holds what, keyed by pod UID. */
#include "ledger.h"

#include "topofit/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct ledger {
    struct map *by_uid;  /* struct holding, owned */
    struct map *by_node; /* struct holding, the first of a list; borrowed */
};

struct ledger *ledger_new(const struct hash_key *key)
{
    struct ledger *ledger = xcalloc(1, sizeof *ledger);

    ledger->by_uid = map_new(key);
    ledger->by_node = map_new(key);
    return ledger;
}

static void free_holding(void *value)
{
    struct holding *holding = value;

    free(holding->namespace);
    free(holding->name);
    free(holding->uid);
    free(holding->node);
    allocation_clear(&holding->allocation);
    free(holding->grants);
    free(holding);
}

void ledger_free(struct ledger *ledger)
{
    if (ledger == NULL)
        return;
    map_free(ledger->by_node, NULL);
    map_free(ledger->by_uid, free_holding);
    free(ledger);
}

struct holding *ledger_find(const struct ledger *ledger, const char *uid)
{
    return map_get(ledger->by_uid, uid);
}

/* Sums need them over and over, and they never change: a pod that says otherwise is entered anew.
 */
static void count_grants(struct holding *holding)
{
    struct grant grants[DEVICE_MAX];
    size_t count =
        allocation_grants(&holding->allocation, holding->init_done, grants, ARRAY_LEN(grants));

    holding->grants = xcalloc(count, sizeof *holding->grants);
    holding->grant_count = count;
    if (count > 0)
        memcpy(holding->grants, grants, count * sizeof *grants);
}

struct holding *ledger_enter(struct ledger *ledger, const struct pod *pod, const char *node,
                             const struct allocation *allocation, unsigned unattributed)
{
    struct holding *holding = xcalloc(1, sizeof *holding);

    holding->namespace = xstrdup(pod->namespace);
    holding->name = xstrdup(pod->name);
    holding->uid = xstrdup(pod->uid);
    holding->node = xstrdup(node);
    holding->init_done = pod->init_done;
    holding->host = pod->host;
    holding->has_allocation = allocation != NULL;
    holding->unattributed = unattributed;
    if (allocation != NULL) {
        allocation_copy(allocation, &holding->allocation);
        count_grants(holding);
    }
    ledger_add(ledger, holding);
    return holding;
}

void ledger_add(struct ledger *ledger, struct holding *steal_holding)
{
    struct holding *first = map_put(ledger->by_node, steal_holding->node, steal_holding);
    const struct holding *before = map_put(ledger->by_uid, steal_holding->uid, steal_holding);

    assert(before == NULL);
    (void)before;
    steal_holding->next = first;
    steal_holding->previous = NULL;
    if (first != NULL)
        first->previous = steal_holding;
}

void ledger_take(struct ledger *ledger, struct holding *holding)
{
    if (holding->next != NULL)
        holding->next->previous = holding->previous;
    if (holding->previous != NULL)
        holding->previous->next = holding->next;
    else if (holding->next != NULL)
        map_put(ledger->by_node, holding->node, holding->next);
    else
        map_remove(ledger->by_node, holding->node);
    map_remove(ledger->by_uid, holding->uid);
}

void ledger_remove(struct ledger *ledger, struct holding *holding)
{
    if (holding == NULL)
        return;
    ledger_take(ledger, holding);
    free_holding(holding);
}

struct holding *ledger_on_node(const struct ledger *ledger, const char *node)
{
    return map_get(ledger->by_node, node);
}

void holding_add_use(const struct holding *holding, const struct node *node, struct node_use *use)
{
    for (size_t i = 0; i < holding->grant_count; i++)
        node_use_add(use, node, &holding->grants[i]);
    use->unattributed += holding->unattributed;
}

void ledger_sum(const struct ledger *ledger, const struct node *node, const char *except,
                struct node_use *out)
{
    *out = (struct node_use){.device_count = node->device_count};
    for (const struct holding *holding = ledger_on_node(ledger, node->name); holding != NULL;
         holding = holding->next) {
        if (except == NULL || strcmp(holding->uid, except) != 0)
            holding_add_use(holding, node, out);
    }
}

bool ledger_next(const struct ledger *ledger, struct map_cursor *at)
{
    return map_next(ledger->by_uid, at);
}

void ledger_check(const struct ledger *ledger)
{
    struct map_cursor at = {0};
    size_t listed = 0;

    while (map_next(ledger->by_node, &at)) {
        const struct holding *previous = NULL;

        for (const struct holding *h = at.value; h != NULL; h = h->next) {
            assert(strcmp(h->node, at.key) == 0);
            assert(h->previous == previous);
            assert(ledger_find(ledger, h->uid) == h);
            previous = h;
            listed++;
        }
    }
    assert(listed == map_count(ledger->by_uid));
}
