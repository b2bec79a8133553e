/* SPDX-License-Identifier: Apache-2.0 */
/* mix_tally - learning the mix from the pods that arrive. */
#include "topofit/mix_tally.h"

#include "topofit/buf.h"
#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

#define KEY_BYTES_MAX 8192
#define COVERED_PERCENT 95

/* A summary makes decisions anew, so it is not made for every pod. */
#define NEWS_SHARE 16

struct kind {
    uint64_t pods;
    const char *key; /* borrowed from the map */
    struct mix_task task;
};

struct mix_tally {
    struct map *kinds; /* struct kind by what tells kinds apart, owned */
    uint64_t pods;     /* sum over kinds */
    uint64_t news;     /* pods since the last summary */
};

struct mix_tally *mix_tally_new(const struct hash_key *key)
{
    struct mix_tally *tally = xcalloc(1, sizeof *tally);

    tally->kinds = map_new(key);
    return tally;
}

static void free_kind(void *value)
{
    struct kind *kind = value;

    mix_task_clear(&kind->task);
    free(kind);
}

void mix_tally_free(struct mix_tally *tally)
{
    if (tally == NULL)
        return;
    map_free(tally->kinds, free_kind);
    free(tally);
}

static void add_words(const struct word_list *list, struct buf *key)
{
    for (size_t i = 0; i < list->count; i++)
        buf_addf(key, "%s,", list->items[i]);
    buf_add_byte(key, '|');
}

/* Host memory is left out: it hardly ever decides, and splits kinds that are alike. */
static void write_key(const struct mix_task *task, struct buf *out)
{
    buf_addf(out, "%s|%u|%d|%llu|%u|%u|%d|%llu|", task->ask.class->name, task->ask.count,
             (int)task->ask.memory_kind, (unsigned long long)task->ask.memory,
             (unsigned)task->ask.cores, (unsigned)task->ask.slices, (int)task->is_whole,
             (unsigned long long)task->host.cpu_milli);
    add_words(&task->use_products, out);
    add_words(&task->avoid_products, out);
}

static uint64_t pods_of(const struct map_cursor *at)
{
    return ((const struct kind *)at->value)->pods;
}

static void forget_rarest(struct mix_tally *tally)
{
    struct map_cursor at = {0}, rarest = {0};

    while (map_next(tally->kinds, &at)) {
        if (rarest.value == NULL || pods_of(&at) < pods_of(&rarest))
            rarest = at;
    }
    tally->pods -= pods_of(&rarest);
    free_kind(map_remove(tally->kinds, rarest.key));
}

static void halve(struct mix_tally *tally)
{
    struct map_cursor at = {0};

    tally->pods = 0;
    while (map_next(tally->kinds, &at)) {
        struct kind *kind = at.value;

        kind->pods /= 2;
        tally->pods += kind->pods;
        if (kind->pods == 0)
            free_kind(map_remove(tally->kinds, at.key));
    }
}

void mix_tally_add(struct mix_tally *tally, const struct request *request, struct host_amounts host)
{
    AUTO(buf_clear) struct buf key = buf_with_max(KEY_BYTES_MAX);
    AUTO(mix_task_clear) struct mix_task task;
    struct kind *kind;

    if (!mix_task_of(request, host, &task))
        return;
    write_key(&task, &key);
    if (key.overflowed)
        return; /* so many words: nobody else is like it */
    kind = map_get(tally->kinds, buf_text(&key));
    if (kind == NULL) {
        if (map_count(tally->kinds) == MIX_KINDS_MAX)
            forget_rarest(tally);
        kind = xcalloc(1, sizeof *kind);
        kind->task = task;
        task = (struct mix_task){0};
        map_put(tally->kinds, buf_text(&key), kind);
    }
    kind->pods++;
    tally->pods++;
    tally->news++;
    if (tally->pods >= MIX_PODS_MAX)
        halve(tally);
}

uint64_t mix_tally_pods(const struct mix_tally *tally)
{
    return tally->pods;
}

bool mix_tally_has_news(const struct mix_tally *tally)
{
    return tally->pods >= MIX_PODS_MIN && tally->news > 0 &&
           tally->news >= tally->pods / NEWS_SHARE;
}

/* The most frequent first; then by what they are, so that nothing depends on the order of arrival.
 */
static int compare_kinds(const void *a, const void *b)
{
    const struct kind *x = *(struct kind *const *)a, *y = *(struct kind *const *)b;

    if (x->pods != y->pods)
        return x->pods > y->pods ? -1 : 1;
    return strcmp(x->key, y->key);
}

static struct kind **sort_kinds(const struct mix_tally *tally)
{
    struct kind **kinds = xcalloc(map_count(tally->kinds) + 1, sizeof(*kinds));
    struct map_cursor at = {0};
    size_t count = 0;

    while (map_next(tally->kinds, &at)) {
        kinds[count] = at.value;
        kinds[count++]->key = at.key;
    }
    qsort(kinds, count, sizeof(*kinds), compare_kinds);
    return kinds;
}

/* How many of the sorted kinds make up enough; *pods is their sum. */
static size_t count_typical(const struct mix_tally *tally, struct kind *const *kinds,
                            uint64_t *pods)
{
    size_t count = 0;

    for (*pods = 0; *pods * 100 < tally->pods * COVERED_PERCENT; count++)
        *pods += kinds[count]->pods;
    return count;
}

struct pod_mix *mix_tally_summary(struct mix_tally *tally)
{
    struct kind **kinds = sort_kinds(tally);
    uint64_t pods;
    size_t count = count_typical(tally, kinds, &pods);
    struct pod_mix *mix = count > 0 ? pod_mix_new(count) : NULL;

    for (size_t i = 0; i < count; i++) {
        struct mix_task task = kinds[i]->task;

        task.use_products = word_list_copy(&kinds[i]->task.use_products);
        task.avoid_products = word_list_copy(&kinds[i]->task.avoid_products);
        task.share = (double)kinds[i]->pods / (double)pods;
        pod_mix_add(mix, &task);
    }
    free(kinds);
    tally->news = 0;
    return mix;
}
