/* SPDX-License-Identifier: Apache-2.0 */
/* recall - decisions remembered for the next pod that asks alike. */
#include "recall.h"

#include "recall_key.h"
#include "topofit/mem.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ALIKE_SLOTS_FIRST 256
#define PAST_ITEMS_MAX 1024 /* and half as many as there are nodes */

struct merit {
    uint64_t rank_version; /* 0: nothing */
    uint64_t merit;
    int grade_1_10;
};

/* Merits of nodes for pods with the same host amounts, under one mix and what it makes scarce. */
struct merit_sheet {
    struct host_amounts host;
    struct pod_mix *mix; /* one reference, or NULL */
    struct scarcity scarcity;
    uint64_t last_used; /* 0: a free place */
    struct merit *merits;
    struct rank_limits limits; /* of the last ranking */
};

struct alike {
    struct likeness likeness;
    const struct considered *considered; /* NULL: a free slot */
};

struct kind {
    unsigned references;
    struct buf key;
    uint64_t last_used; /* the recall's, under its lock */
    bool names_devices;

    pthread_mutex_t lock;     /* all below */
    struct name_table *names; /* whose positions the next ones have, or NULL */
    uint64_t *versions;       /* of a node, on which its answer was decided; 0: on none */
    const struct node_answer **answers;
    struct merit_sheet sheets[RECALL_HOSTS_MAX]; /* by the same positions */
    uint64_t sheet_uses;
    struct alike *alikes; /* by likeness, open addressing */
    size_t alike_count, alike_slots;
    struct considered **items; /* all that is owned, outcomes of the past included */
    size_t item_count, item_capacity;
    bool is_full; /* forgotten as a whole at the next call */
};

struct recall {
    pthread_mutex_t lock;
    uint64_t uses;
    struct kind *kinds[RECALL_KINDS_MAX]; /* one reference each */
    size_t kind_count;
    struct expected_nodes expected;
};

/* --- kinds ----------------------------------------------------------------------------------- */

static struct kind *kind_new(struct buf *steal_key, const struct request *request)
{
    struct kind *kind = xcalloc(1, sizeof *kind);

    kind->references = 1;
    kind->key = *steal_key;
    *steal_key = (struct buf){0};
    kind->names_devices = request_names_devices(request);
    pthread_mutex_init(&kind->lock, NULL);
    kind->alike_slots = ALIKE_SLOTS_FIRST;
    kind->alikes = xcalloc(kind->alike_slots, sizeof *kind->alikes);
    return kind;
}

static void sheet_clear(struct merit_sheet *sheet)
{
    pod_mix_unref(sheet->mix);
    free(sheet->merits);
    *sheet = (struct merit_sheet){0};
}

static void clear_sheets(struct kind *kind)
{
    for (size_t i = 0; i < RECALL_HOSTS_MAX; i++)
        sheet_clear(&kind->sheets[i]);
}

void kind_unref(struct kind *kind)
{
    if (kind == NULL || __atomic_sub_fetch(&kind->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (size_t i = 0; i < kind->item_count; i++)
        considered_free(kind->items[i]);
    free(kind->items);
    free(kind->versions);
    free(kind->answers);
    clear_sheets(kind);
    free(kind->alikes);
    name_table_unref(kind->names);
    buf_clear(&kind->key);
    pthread_mutex_destroy(&kind->lock);
    free(kind);
}

static struct kind *kind_ref(struct kind *kind)
{
    __atomic_add_fetch(&kind->references, 1, __ATOMIC_RELAXED);
    return kind;
}

/* With the lock held: what is known is by position, so other names are another sheet. */
static void follow_names(struct kind *kind, const struct snapshot *snapshot)
{
    if (kind->names == snapshot->names)
        return;
    name_table_unref(kind->names);
    free(kind->versions);
    free(kind->answers);
    clear_sheets(kind);
    kind->names = name_table_ref(snapshot->names);
    kind->versions = xcalloc(snapshot->count + 1, sizeof *kind->versions);
    kind->answers = xcalloc(snapshot->count + 1, sizeof(*kind->answers));
}

static void remember(struct kind *kind, const struct snapshot *snapshot, uint32_t position,
                     const struct considered *considered)
{
    follow_names(kind, snapshot);
    kind->versions[position] = snapshot_version(snapshot, position);
    kind->answers[position] = &considered->answer;
}

/*
 * Most calls name all nodes in the order of the picture, and few nodes have changed since the last
 * one. Are these positions those of a chunk in which none has?
 */
static bool is_known_chunk(const struct kind *kind, const struct snapshot *snapshot,
                           const uint32_t *positions, size_t count)
{
    uint32_t first = positions[0], differ = 0;

    if (count < STATE_CHUNK || first % STATE_CHUNK != 0 || first + STATE_CHUNK > snapshot->count)
        return false;
    for (uint32_t i = 0; i < STATE_CHUNK; i++)
        differ |= positions[i] ^ (first + i);
    return differ == 0 &&
           memcmp(kind->versions + first, snapshot->chunks[first >> STATE_CHUNK_BITS]->versions,
                  STATE_CHUNK * sizeof *kind->versions) == 0;
}

static const struct node_answer *recall_one(const struct kind *kind,
                                            const struct snapshot *snapshot, uint32_t position)
{
    if (position == NAME_NOWHERE ||
        kind->versions[position] != snapshot_version(snapshot, position))
        return NULL;
    return kind->answers[position];
}

size_t kind_recall(struct kind *kind, const struct snapshot *snapshot, const uint32_t *positions,
                   size_t count, const struct node_answer **out)
{
    size_t missing = 0;

    pthread_mutex_lock(&kind->lock);
    follow_names(kind, snapshot);
    for (size_t i = 0; i < count;) {
        if (is_known_chunk(kind, snapshot, positions + i, count - i)) {
            memcpy(out + i, kind->answers + positions[i], STATE_CHUNK * sizeof(*out));
            i += STATE_CHUNK;
            continue;
        }
        out[i] = recall_one(kind, snapshot, positions[i]);
        missing += out[i++] == NULL;
    }
    pthread_mutex_unlock(&kind->lock);
    return missing;
}

/* --- alike ----------------------------------------------------------------------------------- */

/* The slot of a likeness, or the free one where it belongs. */
static struct alike *find_alike(const struct kind *kind, const struct likeness *likeness)
{
    size_t at = (size_t)likeness->word[0];

    for (;; at++) {
        struct alike *alike = &kind->alikes[at & (kind->alike_slots - 1)];

        if (alike->considered == NULL || memcmp(&alike->likeness, likeness, sizeof *likeness) == 0)
            return alike;
    }
}

static void grow_alikes(struct kind *kind)
{
    struct alike *before = kind->alikes;
    size_t slots = kind->alike_slots;

    if (kind->alike_count * 2 < slots)
        return;
    kind->alike_slots = slots * 2;
    kind->alikes = xcalloc(kind->alike_slots, sizeof *kind->alikes);
    for (size_t i = 0; i < slots; i++) {
        if (before[i].considered != NULL)
            *find_alike(kind, &before[i].likeness) = before[i];
    }
    free(before);
}

const struct considered *kind_recall_alike(struct kind *kind, const struct snapshot *snapshot,
                                           uint32_t position)
{
    const struct considered *considered;

    if (kind->names_devices)
        return NULL;
    pthread_mutex_lock(&kind->lock);
    considered = find_alike(kind, &snapshot_state(snapshot, position)->likeness)->considered;
    if (considered != NULL)
        remember(kind, snapshot, position, considered);
    pthread_mutex_unlock(&kind->lock);
    return considered;
}

static const struct considered *learn(struct kind *kind, const struct snapshot *snapshot,
                                      uint32_t position, struct considered *steal_considered)
{
    const struct likeness *likeness = &snapshot_state(snapshot, position)->likeness;
    struct alike *alike;

    kind->items =
        mem_grow(kind->items, kind->item_count, &kind->item_capacity, sizeof *kind->items);
    kind->items[kind->item_count++] = steal_considered;
    if (!kind->names_devices) {
        grow_alikes(kind);
        alike = find_alike(kind, likeness);
        kind->alike_count += alike->considered == NULL;
        *alike = (struct alike){*likeness, steal_considered};
    }
    remember(kind, snapshot, position, steal_considered);
    return steal_considered;
}

const struct considered *kind_learn(struct kind *kind, const struct snapshot *snapshot,
                                    uint32_t position, struct considered *steal_considered)
{
    const struct considered *learned = NULL;

    pthread_mutex_lock(&kind->lock);
    if (kind->item_count < snapshot->count + snapshot->count / 2 + PAST_ITEMS_MAX)
        learned = learn(kind, snapshot, position, steal_considered);
    else
        kind->is_full = true;
    pthread_mutex_unlock(&kind->lock);
    return learned;
}

/* --- merits ---------------------------------------------------------------------------------- */

static bool is_as_scarce(const struct scarcity *a, const struct scarcity *b)
{
    bool same = a->count == b->count;

    for (unsigned i = 0; same && i < a->count; i++)
        same = a->items[i].product == b->items[i].product &&
               a->items[i].waste_per_milli == b->items[i].waste_per_milli;
    return same;
}

static bool is_of(const struct merit_sheet *sheet, struct host_amounts host,
                  const struct pod_mix *mix, const struct scarcity *scarcity)
{
    return sheet->last_used > 0 && sheet->mix == mix && host_equal(sheet->host, host) &&
           is_as_scarce(&sheet->scarcity, scarcity);
}

/* With the lock held: the sheet, or a new one in the place of the least recently used. */
static struct merit_sheet *find_sheet(struct kind *kind, const struct snapshot *snapshot,
                                      struct host_amounts host)
{
    struct merit_sheet *oldest = &kind->sheets[0];
    struct scarcity scarcity;

    follow_names(kind, snapshot);
    scarcity_of(snapshot->mix, &snapshot->supply, &scarcity);
    for (size_t i = 0; i < RECALL_HOSTS_MAX; i++) {
        struct merit_sheet *sheet = &kind->sheets[i];

        if (is_of(sheet, host, snapshot->mix, &scarcity)) {
            sheet->last_used = ++kind->sheet_uses;
            return sheet;
        }
        if (sheet->last_used < oldest->last_used)
            oldest = sheet;
    }
    sheet_clear(oldest);
    *oldest = (struct merit_sheet){
        .host = host,
        .scarcity = scarcity,
        .mix = snapshot->mix != NULL ? pod_mix_ref(snapshot->mix) : NULL,
        .last_used = ++kind->sheet_uses,
        .merits = xcalloc(snapshot->count + 1, sizeof *oldest->merits),
    };
    return oldest;
}

size_t kind_recall_merits(struct kind *kind, const struct snapshot *snapshot,
                          struct host_amounts host, const uint32_t *positions, size_t count,
                          struct ranked_node *out, bool *known, struct rank_limits *limits)
{
    const struct merit_sheet *sheet;
    const struct merit *merits;
    size_t missing = 0;

    pthread_mutex_lock(&kind->lock);
    sheet = find_sheet(kind, snapshot, host);
    merits = sheet->merits;
    *limits = sheet->limits;
    for (size_t i = 0; i < count; i++) {
        const struct merit *merit;

        missing++;
        known[i] = false;
        if (positions[i] == NAME_NOWHERE)
            continue;
        merit = &merits[positions[i]];
        if (merit->rank_version != snapshot_rank_version(snapshot, positions[i]))
            continue;
        missing--;
        known[i] = true;
        out[i].merit = merit->merit;
        out[i].grade_1_10 = merit->grade_1_10;
    }
    pthread_mutex_unlock(&kind->lock);
    return missing;
}

void kind_learn_merits(struct kind *kind, const struct snapshot *snapshot, struct host_amounts host,
                       const uint32_t *positions, size_t count, const struct ranked_node *nodes,
                       const bool *known)
{
    struct merit *merits;

    pthread_mutex_lock(&kind->lock);
    merits = find_sheet(kind, snapshot, host)->merits;
    for (size_t i = 0; i < count; i++) {
        if (known[i] || positions[i] == NAME_NOWHERE ||
            snapshot_rank_version(snapshot, positions[i]) == VERSION_NOT_SHARED)
            continue;
        merits[positions[i]] =
            (struct merit){.rank_version = snapshot_rank_version(snapshot, positions[i]),
                           .merit = nodes[i].merit,
                           .grade_1_10 = nodes[i].grade_1_10};
    }
    pthread_mutex_unlock(&kind->lock);
}

void kind_learn_limits(struct kind *kind, const struct snapshot *snapshot, struct host_amounts host,
                       const struct rank_limits *limits)
{
    pthread_mutex_lock(&kind->lock);
    find_sheet(kind, snapshot, host)->limits = *limits;
    pthread_mutex_unlock(&kind->lock);
}

/* --- all kinds ------------------------------------------------------------------------------- */

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
        kind_unref(recall->kinds[i]);
    expected_nodes_clear(&recall->expected);
    pthread_mutex_destroy(&recall->lock);
    free(recall);
}

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

static bool is_full(struct kind *kind)
{
    bool full;

    pthread_mutex_lock(&kind->lock);
    full = kind->is_full;
    pthread_mutex_unlock(&kind->lock);
    return full;
}

/* With the lock held: the place of the kind with that key, else where a new one goes. */
static struct kind **find_place(struct recall *recall, const struct buf *key)
{
    struct kind **oldest = &recall->kinds[0];

    for (size_t i = 0; i < recall->kind_count; i++) {
        struct kind *kind = recall->kinds[i];

        if (kind->key.length == key->length && memcmp(kind->key.data, key->data, key->length) == 0)
            return &recall->kinds[i];
        if (kind->last_used < (*oldest)->last_used)
            oldest = &recall->kinds[i];
    }
    return recall->kind_count < RECALL_KINDS_MAX ? &recall->kinds[recall->kind_count++] : oldest;
}

struct kind *recall_kind(struct recall *recall, const struct request *request,
                         const struct decide_policy *policy, bool helps)
{
    AUTO(buf_clear) struct buf key = buf_with_max(RECALL_KEY_BYTES_MAX);
    struct kind **place, *forgotten = NULL, *kind;

    if (recall == NULL || !recall_key_write(&key, request, policy, helps))
        return NULL;
    pthread_mutex_lock(&recall->lock);
    place = find_place(recall, &key);
    if (*place == NULL || (*place)->key.length != key.length ||
        memcmp((*place)->key.data, key.data, key.length) != 0 || is_full(*place)) {
        forgotten = *place;
        *place = kind_new(&key, request);
    }
    (*place)->last_used = ++recall->uses;
    kind = kind_ref(*place);
    pthread_mutex_unlock(&recall->lock);
    kind_unref(forgotten);
    return kind;
}
