/* SPDX-License-Identifier: Apache-2.0 */
/* history - the last decision about each pod. */
#include "topofit/history.h"

#include "topofit/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_BYTES 1024 /* of the names of nodes refused, at first */
#define PLACE_BYTES 64   /* of an entry in the map */

struct history {
    pthread_mutex_t lock;
    struct map *by_uid; /* struct decision, owned, oldest first */
    size_t bytes;       /* of all of them, by decision_bytes() */
};

/* Outcomes are shared, mostly by nodes that follow each other; counted as if by nobody else. */
static size_t refusals_bytes(const struct decision *decision)
{
    const struct outcome *last = NULL;
    size_t bytes = 0;

    for (size_t i = 0; i < decision->refusal_count; i++) {
        const struct outcome *outcome = decision->refusals[i].outcome;

        bytes += outcome != last ? outcome_bytes(outcome) : 0;
        last = outcome;
    }
    return bytes;
}

/* Of its place in the map: an entry and two slots, with the room that a map keeps. */
static size_t place_bytes(const struct decision *decision)
{
    return mem_text_bytes(decision->pod->uid) + PLACE_BYTES;
}

/* All that is remembered of it, as the allocator has it: outsiders can make most of that long. */
static size_t decision_bytes(const struct decision *decision)
{
    size_t bytes = mem_block_bytes(sizeof *decision) + pod_bytes(decision->pod) +
                   place_bytes(decision) + refusals_bytes(decision);

    if (decision->refusals != NULL)
        bytes += mem_block_bytes(decision->refusal_capacity * sizeof *decision->refusals);
    return bytes + mem_block_bytes(decision->names.capacity);
}

struct history *history_new(const struct hash_key *key)
{
    struct history *history = xcalloc(1, sizeof *history);

    pthread_mutex_init(&history->lock, NULL);
    history->by_uid = map_new(key);
    return history;
}

void decision_clear(struct decision *decision)
{
    pod_unref(decision->pod);
    for (size_t i = 0; i < decision->refusal_count; i++)
        outcome_unref(decision->refusals[i].outcome);
    free(decision->refusals);
    buf_clear(&decision->names);
    *decision = (struct decision){0};
}

void decision_add_refusal(struct decision *decision, const char *name, size_t length,
                          struct outcome *outcome)
{
    char *copy;

    if (decision->refusal_count == HISTORY_NODES_MAX)
        return;
    if (decision->refusals == NULL) {
        decision->names = buf_with_max(HISTORY_BYTES_MAX);
        buf_room(&decision->names, NAMES_BYTES);
    }
    decision->refusals = mem_grow(decision->refusals, decision->refusal_count,
                                  &decision->refusal_capacity, sizeof *decision->refusals);
    decision->refusals[decision->refusal_count++] =
        (struct refusal){decision->names.length, outcome_ref(outcome)};
    copy = buf_room(&decision->names, length + 1);
    assert(copy != NULL);
    memcpy(copy, name, length);
    copy[length] = '\0';
    buf_fill(&decision->names, length + 1);
}

const char *decision_refused_node(const struct decision *decision, size_t i)
{
    return decision->names.data + decision->refusals[i].name_start;
}

static void free_decision(void *value)
{
    decision_clear(value);
    free(value);
}

void history_free(struct history *history)
{
    if (history == NULL)
        return;
    map_free(history->by_uid, free_decision);
    pthread_mutex_destroy(&history->lock);
    free(history);
}

static void copy_decision(const struct decision *from, struct decision *out)
{
    *out = *from;
    out->pod = pod_ref(from->pod);
    out->refusals = NULL;
    out->refusal_count = out->refusal_capacity = 0;
    out->names = (struct buf){0};
    for (size_t i = 0; i < from->refusal_count; i++) {
        const char *name = decision_refused_node(from, i);

        decision_add_refusal(out, name, strlen(name), from->refusals[i].outcome);
    }
}

static struct decision *take_out(struct history *history, const char *uid)
{
    struct decision *decision = map_remove(history->by_uid, uid);

    if (decision != NULL)
        history->bytes -= decision->bytes;
    return decision;
}

static void make_room(struct history *history, size_t bytes)
{
    struct map_cursor at = {0};

    while ((map_count(history->by_uid) >= HISTORY_PODS_MAX ||
            history->bytes + bytes > HISTORY_BYTES_MAX) &&
           map_next(history->by_uid, &at)) {
        AUTO_FREE char *uid = xstrdup(at.key);

        free_decision(take_out(history, uid));
    }
}

/* Nothing will be decided about it until it is another pod: what it asks for is of no use. */
static void keep_problem_only(struct decision *decision)
{
    struct pod *unserved = pod_unserved(decision->pod);

    pod_unref(decision->pod);
    decision->pod = unserved;
}

void history_put(struct history *history, struct decision *steal_decision)
{
    struct decision *entry = xcalloc(1, sizeof *entry);
    struct decision *before;
    size_t bytes;

    *entry = *steal_decision;
    *steal_decision = (struct decision){0};
    if (entry->pod->request.problem != NULL)
        keep_problem_only(entry);
    entry->attempts = 1;
    entry->bytes = bytes = decision_bytes(entry);
    pthread_mutex_lock(&history->lock);
    before = take_out(history, entry->pod->uid);
    if (before != NULL) {
        entry->attempts = before->attempts + 1;
        free_decision(before);
    }
    make_room(history, bytes);
    history->bytes += bytes;
    map_put(history->by_uid, entry->pod->uid, entry);
    pthread_mutex_unlock(&history->lock);
}

/* With the lock held: of namesakes the one that was asked about last, or NULL. */
static const struct decision *find_by_name(const struct history *history, const char *namespace,
                                           const char *name)
{
    const struct decision *found = NULL;
    struct map_cursor at = {0};

    while (map_next(history->by_uid, &at)) {
        const struct decision *decision = at.value;

        if (strcmp(decision->pod->name, name) == 0 &&
            strcmp(decision->pod->namespace, namespace) == 0)
            found = decision;
    }
    return found;
}

bool history_find(struct history *history, const char *namespace, const char *name,
                  struct decision *out)
{
    const struct decision *entry;

    pthread_mutex_lock(&history->lock);
    entry = find_by_name(history, namespace, name);
    if (entry != NULL)
        copy_decision(entry, out);
    pthread_mutex_unlock(&history->lock);
    return entry != NULL;
}

bool history_find_by_uid(struct history *history, const char *uid, struct decision *out)
{
    const struct decision *entry;

    pthread_mutex_lock(&history->lock);
    entry = map_get(history->by_uid, uid);
    if (entry != NULL)
        copy_decision(entry, out);
    pthread_mutex_unlock(&history->lock);
    return entry != NULL;
}

struct pod *history_find_pod_by_uid(struct history *history, const char *uid)
{
    const struct decision *entry;
    struct pod *pod = NULL;

    pthread_mutex_lock(&history->lock);
    entry = map_get(history->by_uid, uid);
    if (entry != NULL)
        pod = pod_ref(entry->pod);
    pthread_mutex_unlock(&history->lock);
    return pod;
}

struct waiting_pod *history_waiting(struct history *history, uint64_t version, size_t *count)
{
    struct map_cursor at = {0};
    struct waiting_pod *pods;

    pthread_mutex_lock(&history->lock);
    pods = xcalloc(map_count(history->by_uid) + 1, sizeof *pods);
    *count = 0;
    while (map_next(history->by_uid, &at)) {
        const struct decision *decision = at.value;

        if (decision->kept == 0 && decision->considered > 0 && decision->version < version)
            pods[(*count)++] = (struct waiting_pod){pod_ref(decision->pod), decision->monotonic_ms};
    }
    pthread_mutex_unlock(&history->lock);
    return pods;
}
