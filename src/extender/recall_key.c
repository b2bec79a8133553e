/* SPDX-License-Identifier: Apache-2.0 */
/* recall_key - everything that a decision depends on besides the node, as bytes. */
#include "recall_key.h"

#include <string.h>

/*
 * Who adds something to a request or to the policy has to say here whether a decision depends on
 * it: test_recall_key goes through their bytes.
 */

static void add_number(struct buf *out, uint64_t number)
{
    buf_add(out, &number, sizeof number);
}

static void add_rule(struct buf *out, const struct topology_rule *rule)
{
    add_number(out, rule->mode);
    add_number(out, rule->source);
    add_number(out, rule->max_tier);
    add_number(out, rule->unknown);
    add_number(out, rule->least_damage);
}

/* The names of containers decide nothing; their kinds and order do. */
static void add_containers(struct buf *out, const struct request *request)
{
    add_number(out, request->container_count);
    for (size_t i = 0; i < request->container_count; i++)
        add_number(out, request->containers[i].kind);
}

static void add_ask(struct buf *out, const struct ask *ask)
{
    add_number(out, ask->container);
    add_number(out, (uintptr_t)ask->class);
    add_number(out, ask->count);
    add_number(out, ask->memory_kind);
    add_number(out, ask->memory);
    add_number(out, ask->cores);
    add_number(out, ask->cores_percent);
    add_number(out, ask->slices);
    buf_add(out, ask->profile, strlen(ask->profile) + 1);
}

static void add_words(struct buf *out, const struct word_list *list)
{
    add_number(out, list->count);
    for (size_t i = 0; i < list->count; i++)
        buf_add(out, list->items[i], strlen(list->items[i]) + 1);
}

static void add_selections(struct buf *out, const struct class_selections *selections)
{
    add_number(out, selections->count);
    for (size_t i = 0; i < selections->count; i++) {
        add_number(out, (uintptr_t)selections->items[i].class);
        add_words(out, &selections->items[i].use_devices);
        add_words(out, &selections->items[i].avoid_devices);
        add_words(out, &selections->items[i].use_products);
        add_words(out, &selections->items[i].avoid_products);
    }
}

bool recall_key_write(struct buf *out, const struct request *request,
                      const struct decide_policy *policy, bool helps)
{
    const struct topology_rule rule = decide_topology_rule(policy, request);

    add_rule(out, &rule);
    add_number(out, decide_packing(policy, request));
    add_number(out, helps);
    add_containers(out, request);
    add_number(out, request->ask_count);
    for (size_t i = 0; i < request->ask_count; i++)
        add_ask(out, &request->asks[i]);
    add_number(out, request->isolation);
    add_number(out, request->service);
    add_number(out, request->application);
    add_words(out, &request->use_devices);
    add_words(out, &request->avoid_devices);
    add_words(out, &request->use_products);
    add_words(out, &request->avoid_products);
    add_selections(out, &request->selections);
    add_number(out, request->wants_idle);
    add_number(out, decide_spreads_devices(policy, request));
    add_number(out, request->weights.slots);
    add_number(out, request->weights.cores);
    add_number(out, request->weights.memory);
    return !out->overflowed;
}
