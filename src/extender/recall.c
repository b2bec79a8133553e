/* SPDX-License-Identifier: Apache-2.0 */
/* recall - decisions remembered for the next pod that asks alike. */
#include "recall_inside.h"
#include "recall_key.h"
#include "topofit/mem.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct known_kind {
    struct kind *kind; /* one reference */
    uint64_t last_used;
};

struct recall {
    struct recall_counts counts; /* of nodes and merits: atomics */

    pthread_mutex_t lock; /* all below */
    uint64_t uses;
    struct known_kind kinds[RECALL_KINDS_MAX + 1]; /* one more while it comes */
    size_t kind_count;
    struct expected_nodes expected;
};

/* --- life --------------------------------------------------------------------------------------
 */

struct recall *recall_new(void)
{
    struct recall *recall = xcalloc(1, sizeof *recall);

    pthread_mutex_init(&recall->lock, NULL);
    return recall;
}

void recall_free(struct recall *recall)
{
    if (recall == NULL)
        return;
    for (size_t i = 0; i < recall->kind_count; i++)
        kind_unref(recall->kinds[i].kind);
    expected_nodes_clear(&recall->expected);
    pthread_mutex_destroy(&recall->lock);
    free(recall);
}

/* With the lock held. */
static size_t sum_bytes(const struct recall *recall)
{
    size_t bytes = 0;

    for (size_t i = 0; i < recall->kind_count; i++)
        bytes += kind_bytes(recall->kinds[i].kind);
    return bytes;
}

static uint64_t load(const uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

struct recall_counts recall_counts(struct recall *recall)
{
    struct recall_counts counts = {0};

    if (recall == NULL)
        return counts;
    counts.nodes_same = load(&recall->counts.nodes_same);
    counts.nodes_alike = load(&recall->counts.nodes_alike);
    counts.nodes_new = load(&recall->counts.nodes_new);
    counts.merits_same = load(&recall->counts.merits_same);
    counts.merits_new = load(&recall->counts.merits_new);
    pthread_mutex_lock(&recall->lock);
    counts.kinds_found = recall->counts.kinds_found;
    counts.kinds_new = recall->counts.kinds_new;
    counts.kinds = recall->kind_count;
    counts.bytes = sum_bytes(recall);
    pthread_mutex_unlock(&recall->lock);
    return counts;
}

/* --- what is expected ----------------------------------------------------------------------------
 */

void expected_nodes_clear(struct expected_nodes *expected)
{
    name_table_unref(expected->names);
    free(expected->positions);
    *expected = (struct expected_nodes){0};
}

struct expected_nodes recall_take_expected(struct recall *recall)
{
    struct expected_nodes expected = {0};

    if (recall == NULL)
        return expected;
    pthread_mutex_lock(&recall->lock);
    expected = recall->expected;
    recall->expected = (struct expected_nodes){0};
    pthread_mutex_unlock(&recall->lock);
    return expected;
}

void recall_expect(struct recall *recall, struct expected_nodes *steal_expected)
{
    struct expected_nodes before;

    if (recall == NULL)
        return;
    pthread_mutex_lock(&recall->lock);
    before = recall->expected;
    recall->expected = *steal_expected;
    pthread_mutex_unlock(&recall->lock);
    *steal_expected = (struct expected_nodes){0};
    expected_nodes_clear(&before);
}

/* --- kinds ---------------------------------------------------------------------------------------
 */

/* With the lock held: where the kind with that key is; kind_count: nowhere. */
static size_t find_kind(const struct recall *recall, const struct buf *key)
{
    size_t at = 0;

    while (at < recall->kind_count && !kind_has_key(recall->kinds[at].kind, key))
        at++;
    return at;
}

/* With the lock held. return the reference that was kept. */
static struct kind *take_out(struct recall *recall, size_t at)
{
    struct kind *kind = recall->kinds[at].kind;

    recall->kinds[at] = recall->kinds[--recall->kind_count];
    return kind;
}

static size_t find_oldest(const struct recall *recall)
{
    size_t oldest = 0;

    for (size_t i = 1; i < recall->kind_count; i++) {
        if (recall->kinds[i].last_used < recall->kinds[oldest].last_used)
            oldest = i;
    }
    return oldest;
}

/* Is there more than may be? One kind at least is always kept. */
static bool is_too_much(const struct recall *recall, size_t bytes)
{
    return recall->kind_count > RECALL_KINDS_MAX ||
           (recall->kind_count > 1 && bytes > RECALL_BYTES_MAX);
}

/* With the lock held: take out those least recently used while there is too much. */
static size_t take_out_oldest(struct recall *recall, struct kind **out)
{
    size_t count = 0, bytes = sum_bytes(recall);

    while (is_too_much(recall, bytes)) {
        out[count] = take_out(recall, find_oldest(recall));
        bytes -= kind_bytes(out[count++]);
    }
    return count;
}

/* With the lock held: the kind of a key, a new one where there is none. Borrowed. */
static struct kind *use_kind(struct recall *recall, struct buf *steal_key,
                             const struct request *request)
{
    size_t at = find_kind(recall, steal_key);

    if (at == recall->kind_count) {
        recall->kinds[at].kind = kind_new(steal_key, request, &recall->counts);
        recall->kind_count++;
        recall->counts.kinds_new++;
    } else {
        recall->counts.kinds_found++;
    }
    recall->kinds[at].last_used = ++recall->uses;
    return recall->kinds[at].kind;
}

/* With the lock held: a kind that has no room left is forgotten, to begin anew. */
static size_t take_out_full(struct recall *recall, const struct buf *key, struct kind **out)
{
    size_t at = find_kind(recall, key);

    if (at == recall->kind_count || !kind_is_full(recall->kinds[at].kind))
        return 0;
    *out = take_out(recall, at);
    return 1;
}

struct kind *recall_kind(struct recall *recall, const struct request *request,
                         const struct decide_policy *policy, bool helps)
{
    AUTO(buf_clear) struct buf key = buf_with_max(RECALL_KEY_BYTES_MAX);
    struct kind *forgotten[RECALL_KINDS_MAX + 1], *kind;
    size_t count;

    if (recall == NULL || !recall_key_write(&key, request, policy, helps))
        return NULL;
    pthread_mutex_lock(&recall->lock);
    count = take_out_full(recall, &key, forgotten);
    kind = kind_ref(use_kind(recall, &key, request));
    count += take_out_oldest(recall, forgotten + count);
    pthread_mutex_unlock(&recall->lock);
    while (count > 0)
        kind_unref(forgotten[--count]);
    return kind;
}
