/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputopo_memo - choices of interned graphs, remembered from call to call.
 *
 * A question has one slot, and a newer question in the same slot replaces the older one. A slot is
 * locked by a flag that nobody waits for.
 */
#include "topofit/gputopo_memo.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Everything a choice depends on; compared byte by byte, so it is zeroed before it is filled. */
struct key {
    uint64_t serial;
    device_mask candidates, required, idle, within;
    uint16_t count;
    uint8_t source;
    uint8_t least_damage;
    uint8_t preference_first;
    uint8_t has_preference;
    uint8_t tier_only;
    uint8_t hurried;
    uint16_t length; /* of preference */
    uint16_t preference[DEVICE_MAX];
};

struct slot {
    atomic_flag in_use;
    bool is_filled;
    struct key key;
    struct topology_choice choice;
};

struct memo {
    struct gputopo_memo port; /* first: it is what decide sees of this */
    unsigned count;
    struct slot slots[];
};

static void fill_key(struct key *key, const struct topology_question *question,
                     const struct topology_rule *rule)
{
    memset(key, 0, sizeof(*key));
    key->serial = question->graph->serial;
    key->candidates = question->candidates;
    key->required = question->required;
    key->idle = question->idle;
    key->within = question->within;
    key->count = (uint16_t)question->count;
    key->source = (uint8_t)rule->source;
    key->least_damage = rule->least_damage;
    key->preference_first = question->preference_first;
    key->tier_only = question->tier_only;
    key->hurried = question->hurried;
    if (question->preference == NULL)
        return;
    key->has_preference = 1;
    key->length = (uint16_t)question->graph->n;
    memcpy(key->preference, question->preference, key->length * sizeof(*key->preference));
}

/* Mix 8 bytes at a time; only the slot depends on it, never the answer. */
static unsigned slot_of(const struct memo *memo, const struct key *key)
{
    size_t length = offsetof(struct key, preference) + key->length * sizeof(*key->preference);
    uint64_t hash = 0, word;

    for (size_t at = 0; at < length; at += sizeof(word)) {
        memcpy(&word, (const char *)key + at, sizeof(word));
        hash = (hash ^ word) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 29;
    }
    return (unsigned)((hash >> 32) % memo->count);
}

/* What depends on mode and limits only (`satisfied`) is not part of what is remembered. */
static bool find(struct gputopo_memo *port, const struct topology_question *question,
                 const struct topology_rule *rule, struct topology_choice *out)
{
    struct memo *memo = (struct memo *)port;
    struct key key;
    struct slot *slot;
    bool found;

    if (question->graph->serial == 0)
        return false;
    fill_key(&key, question, rule);
    slot = &memo->slots[slot_of(memo, &key)];
    if (atomic_flag_test_and_set_explicit(&slot->in_use, memory_order_acquire))
        return false;
    found = slot->is_filled && memcmp(&slot->key, &key, sizeof(key)) == 0;
    if (found)
        *out = slot->choice;
    atomic_flag_clear_explicit(&slot->in_use, memory_order_release);
    return found;
}

static void store(struct gputopo_memo *port, const struct topology_question *question,
                  const struct topology_rule *rule, const struct topology_choice *choice)
{
    struct memo *memo = (struct memo *)port;
    struct key key;
    struct slot *slot;

    if (question->graph->serial == 0)
        return;
    fill_key(&key, question, rule);
    slot = &memo->slots[slot_of(memo, &key)];
    if (atomic_flag_test_and_set_explicit(&slot->in_use, memory_order_acquire))
        return;
    slot->is_filled = true;
    slot->key = key;
    slot->choice = *choice;
    atomic_flag_clear_explicit(&slot->in_use, memory_order_release);
}

struct gputopo_memo *gputopo_memo_new(unsigned slots)
{
    struct memo *memo = NULL;

    if (slots > 0)
        memo = calloc(1, sizeof(*memo) + (size_t)slots * sizeof(struct slot));
    if (memo == NULL)
        return NULL;
    memo->port = (struct gputopo_memo){.find = find, .store = store};
    memo->count = slots;
    for (unsigned i = 0; i < slots; i++)
        atomic_flag_clear(&memo->slots[i].in_use);
    return &memo->port;
}

void gputopo_memo_free(struct gputopo_memo *memo)
{
    free(memo);
}
