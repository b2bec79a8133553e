/* SPDX-License-Identifier: Apache-2.0 */
/* kind - what is remembered of one kind of pods. */
#include "recall_inside.h"
#include "topofit/mem.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ALIKE_SLOTS_FIRST 256
#define PAST_ITEMS_MAX 1024 /* and half as many as there are nodes */
#define PLACES_SPARE 16

/* Merits of nodes for pods with the same host amounts, under one mix and what it makes scarce. */
struct merit_sheet {
    struct host_amounts host;
    struct pod_mix *mix; /* one reference, or NULL */
    size_t mix_bytes;    /* counted as if by nobody else: it may be one of long ago */
    struct scarcity scarcity;
    uint64_t last_used; /* 0: a free place */
    uint64_t *versions; /* rank versions, 0: nothing; the next two are in the same block */
    uint64_t *merits;
    uint8_t *grades_1_10;
    struct rank_limits limits; /* of the last ranking */
};
#define MERIT_BYTES (2 * sizeof(uint64_t) + sizeof(uint8_t)) /* of a node on a sheet */

struct alike {
    struct likeness likeness;
    const struct considered *considered; /* NULL: a free slot */
};

struct kind {
    unsigned references;
    struct buf key;
    bool names_devices;
    struct recall_counts *counts; /* the recall's; atomics */
    size_t bytes;                 /* that it takes; atomic */

    pthread_mutex_t lock; /* all below */
    size_t places;        /* of the next two, and of the sheets: by position in a picture */
    uint64_t *versions;   /* of a node, on which its answer was decided; 0: on none */
    const struct node_answer **answers;
    struct merit_sheet sheets[RECALL_HOSTS_MAX]; /* by the same positions */
    uint64_t sheet_uses;
    struct alike *alikes; /* by likeness, open addressing */
    size_t alike_count, alike_slots;
    struct considered **items; /* all that is owned, outcomes of the past included */
    size_t item_count, item_capacity, item_bytes;
    bool is_full; /* forgotten as a whole at the next call */
};

/* --- kinds ----------------------------------------------------------------------------------- */

static size_t sheet_block_bytes(const struct kind *kind)
{
    return mem_block_bytes(kind->places * MERIT_BYTES);
}

/* With the lock held, whenever something has grown or gone. */
static void note_bytes(struct kind *kind)
{
    size_t bytes = mem_block_bytes(sizeof *kind) + mem_block_bytes(kind->key.capacity) +
                   2 * mem_block_bytes(kind->places * sizeof *kind->versions) +
                   mem_block_bytes(kind->alike_slots * sizeof *kind->alikes) +
                   mem_block_bytes(kind->item_capacity * sizeof(*kind->items)) + kind->item_bytes;

    for (size_t i = 0; i < RECALL_HOSTS_MAX; i++) {
        if (kind->sheets[i].last_used > 0)
            bytes += sheet_block_bytes(kind) + kind->sheets[i].mix_bytes;
    }
    __atomic_store_n(&kind->bytes, bytes, __ATOMIC_RELAXED);
}

size_t kind_bytes(const struct kind *kind)
{
    return __atomic_load_n(&kind->bytes, __ATOMIC_RELAXED);
}

static void add_to(uint64_t *counter, uint64_t more)
{
    __atomic_add_fetch(counter, more, __ATOMIC_RELAXED);
}

struct kind *kind_new(struct buf *steal_key, const struct request *request,
                      struct recall_counts *counts)
{
    struct kind *kind = xcalloc(1, sizeof *kind);

    kind->references = 1;
    kind->key = *steal_key;
    *steal_key = (struct buf){0};
    kind->names_devices = request_names_devices(request);
    kind->counts = counts;
    pthread_mutex_init(&kind->lock, NULL);
    kind->alike_slots = ALIKE_SLOTS_FIRST;
    kind->alikes = xcalloc(kind->alike_slots, sizeof *kind->alikes);
    note_bytes(kind);
    return kind;
}

bool kind_has_key(const struct kind *kind, const struct buf *key)
{
    return kind->key.length == key->length && memcmp(kind->key.data, key->data, key->length) == 0;
}

bool kind_is_full(struct kind *kind)
{
    bool full;

    pthread_mutex_lock(&kind->lock);
    full = kind->is_full;
    pthread_mutex_unlock(&kind->lock);
    return full;
}

static void sheet_clear(struct merit_sheet *sheet)
{
    pod_mix_unref(sheet->mix);
    free(sheet->versions);
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
    buf_clear(&kind->key);
    pthread_mutex_destroy(&kind->lock);
    free(kind);
}

struct kind *kind_ref(struct kind *kind)
{
    __atomic_add_fetch(&kind->references, 1, __ATOMIC_RELAXED);
    return kind;
}

/*
 * With the lock held: is there a place for each node? What is known is by position, and true of the
 * version that stands beside it: where nodes come and go, it no longer matches. Some room is kept,
 * so that it is not thrown away with each new node.
 */
static void make_places(struct kind *kind, const struct snapshot *snapshot)
{
    size_t count = snapshot->count;

    if (kind->places >= count && kind->places > 0 && kind->places / 4 <= count + PLACES_SPARE)
        return;
    free(kind->versions);
    free(kind->answers);
    clear_sheets(kind);
    kind->places = count + count / 16 + PLACES_SPARE;
    kind->versions = xcalloc(kind->places, sizeof *kind->versions);
    kind->answers = xcalloc(kind->places, sizeof(*kind->answers));
    note_bytes(kind);
}

static void remember(struct kind *kind, const struct snapshot *snapshot, uint32_t position,
                     const struct considered *considered)
{
    make_places(kind, snapshot);
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
    make_places(kind, snapshot);
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
    add_to(&kind->counts->nodes_same, count - missing);
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

    if (kind->names_devices) {
        add_to(&kind->counts->nodes_new, 1);
        return NULL;
    }
    pthread_mutex_lock(&kind->lock);
    considered = find_alike(kind, &snapshot_state(snapshot, position)->likeness)->considered;
    if (considered != NULL)
        remember(kind, snapshot, position, considered);
    pthread_mutex_unlock(&kind->lock);
    add_to(considered != NULL ? &kind->counts->nodes_alike : &kind->counts->nodes_new, 1);
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
    kind->item_bytes += considered_bytes(steal_considered);
    if (!kind->names_devices) {
        grow_alikes(kind);
        alike = find_alike(kind, likeness);
        kind->alike_count += alike->considered == NULL;
        *alike = (struct alike){*likeness, steal_considered};
    }
    remember(kind, snapshot, position, steal_considered);
    note_bytes(kind);
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

/* Are its merits those of a picture with that mix and scarcity? */
static bool is_current(const struct merit_sheet *sheet, const struct pod_mix *mix,
                       const struct scarcity *scarcity)
{
    return sheet->last_used > 0 && sheet->mix == mix && is_as_scarce(&sheet->scarcity, scarcity);
}

static void sheet_open(struct merit_sheet *sheet, size_t places, const struct snapshot *snapshot,
                       struct host_amounts host, const struct scarcity *scarcity)
{
    sheet->host = host;
    sheet->scarcity = *scarcity;
    if (snapshot->mix != NULL) {
        sheet->mix = pod_mix_ref(snapshot->mix);
        sheet->mix_bytes = pod_mix_bytes(snapshot->mix);
    }
    sheet->versions = xcalloc(places, MERIT_BYTES);
    sheet->merits = sheet->versions + places;
    sheet->grades_1_10 = (uint8_t *)(sheet->merits + places);
}

/* That of the host amounts, or the place of the least recently used. */
static struct merit_sheet *find_place(struct kind *kind, struct host_amounts host)
{
    struct merit_sheet *oldest = &kind->sheets[0];

    for (size_t i = 0; i < RECALL_HOSTS_MAX; i++) {
        struct merit_sheet *sheet = &kind->sheets[i];

        if (sheet->last_used > 0 && host_equal(sheet->host, host))
            return sheet;
        if (sheet->last_used < oldest->last_used)
            oldest = sheet;
    }
    return oldest;
}

/* With the lock held: merits under a mix of before are of no use, so a host has one sheet. */
static struct merit_sheet *find_sheet(struct kind *kind, const struct snapshot *snapshot,
                                      struct host_amounts host)
{
    struct merit_sheet *sheet = find_place(kind, host);
    struct scarcity scarcity;

    make_places(kind, snapshot);
    scarcity_of(snapshot->mix, &snapshot->supply, &scarcity);
    if (!host_equal(sheet->host, host) || !is_current(sheet, snapshot->mix, &scarcity)) {
        sheet_clear(sheet);
        sheet_open(sheet, kind->places, snapshot, host, &scarcity);
        sheet->last_used = ++kind->sheet_uses;
        note_bytes(kind);
    }
    sheet->last_used = ++kind->sheet_uses;
    return sheet;
}

size_t kind_recall_merits(struct kind *kind, const struct snapshot *snapshot,
                          struct host_amounts host, const uint32_t *positions, size_t count,
                          struct ranked_node *out, bool *known, struct rank_limits *limits)
{
    const struct merit_sheet *sheet;
    size_t missing = 0;

    pthread_mutex_lock(&kind->lock);
    sheet = find_sheet(kind, snapshot, host);
    *limits = sheet->limits;
    for (size_t i = 0; i < count; i++) {
        uint32_t at = positions[i];

        missing++;
        known[i] = false;
        if (at == NAME_NOWHERE || sheet->versions[at] != snapshot_rank_version(snapshot, at))
            continue;
        missing--;
        known[i] = true;
        out[i].merit = sheet->merits[at];
        out[i].grade_1_10 = sheet->grades_1_10[at];
    }
    pthread_mutex_unlock(&kind->lock);
    add_to(&kind->counts->merits_same, count - missing);
    add_to(&kind->counts->merits_new, missing);
    return missing;
}

void kind_learn_merits(struct kind *kind, const struct snapshot *snapshot, struct host_amounts host,
                       const uint32_t *positions, size_t count, const struct ranked_node *nodes,
                       const bool *known)
{
    struct merit_sheet *sheet;

    pthread_mutex_lock(&kind->lock);
    sheet = find_sheet(kind, snapshot, host);
    for (size_t i = 0; i < count; i++) {
        uint32_t at = positions[i];

        if (known[i] || at == NAME_NOWHERE ||
            snapshot_rank_version(snapshot, at) == VERSION_NOT_SHARED)
            continue;
        sheet->versions[at] = snapshot_rank_version(snapshot, at);
        sheet->merits[at] = nodes[i].merit;
        sheet->grades_1_10[at] = (uint8_t)nodes[i].grade_1_10;
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
