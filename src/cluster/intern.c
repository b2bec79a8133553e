/* SPDX-License-Identifier: Apache-2.0 */
/* intern - one copy of what thousands of nodes repeat. */
#include "intern.h"

#include "topofit/mem.h"

#include <stdlib.h>

#define SWEEP_FIRST 1024 /* words before the first look for unused ones */

struct intern {
    struct map *words; /* struct text, one reference each */
    size_t sweep_at;   /* number of words that starts the next sweep */
    struct peer_graph **graphs;
    size_t graph_count, graph_capacity;
    uint64_t last_serial;
};

static void unref_text(void *text)
{
    text_unref(text);
}

struct intern *intern_new(const struct hash_key *key)
{
    struct intern *intern = xcalloc(1, sizeof *intern);

    intern->words = map_new_borrowing(key);
    intern->sweep_at = SWEEP_FIRST;
    return intern;
}

void intern_free(struct intern *intern)
{
    if (intern == NULL)
        return;
    for (size_t i = 0; i < intern->graph_count; i++)
        peers_unref(intern->graphs[i]);
    free(intern->graphs);
    map_free(intern->words, unref_text);
    free(intern);
}

static bool is_unused(const unsigned *references)
{
    return __atomic_load_n(references, __ATOMIC_ACQUIRE) == 1;
}

static void sweep_words(struct intern *intern)
{
    struct map_cursor at = {0};

    if (map_count(intern->words) < intern->sweep_at)
        return;
    while (map_next(intern->words, &at)) {
        struct text *text = at.value;

        if (is_unused(&text->references))
            text_unref(map_remove(intern->words, at.key));
    }
    intern->sweep_at = map_count(intern->words) * 2 + SWEEP_FIRST;
}

static void share_text(struct intern *intern, struct text **text)
{
    struct text *shared = map_get(intern->words, (*text)->chars);

    if (shared == *text)
        return;
    if (shared == NULL) {
        map_put(intern->words, (*text)->chars, text_ref(*text));
        return;
    }
    text_unref(*text);
    *text = text_ref(shared);
}

/* Forget graphs that only we hold. */
static void sweep_graphs(struct intern *intern)
{
    size_t kept = 0;

    for (size_t i = 0; i < intern->graph_count; i++) {
        if (is_unused(&intern->graphs[i]->references))
            peers_unref(intern->graphs[i]);
        else
            intern->graphs[kept++] = intern->graphs[i];
    }
    intern->graph_count = kept;
}

/* A cluster has few kinds of wiring, so a list will do. */
static void share_graph(struct intern *intern, struct node *node)
{
    for (size_t i = 0; i < intern->graph_count; i++) {
        if (intern->graphs[i] == node->graph)
            return;
        if (peers_equal(intern->graphs[i], node->graph)) {
            node_steal_graph(node, peers_ref(intern->graphs[i]));
            return;
        }
    }
    if (intern->graph_count == intern->graph_capacity)
        sweep_graphs(intern);
    intern->graphs = mem_grow(intern->graphs, intern->graph_count, &intern->graph_capacity,
                              sizeof *intern->graphs);
    node->graph->serial = ++intern->last_serial;
    intern->graphs[intern->graph_count++] = peers_ref(node->graph);
}

void intern_node(struct intern *intern, struct node *node)
{
    sweep_words(intern);
    for (size_t i = 0; i < node->labels->count; i++) {
        share_text(intern, &node->labels->items[i].key);
        share_text(intern, &node->labels->items[i].value);
    }
    for (unsigned i = 0; i < node->device_count; i++) {
        share_text(intern, &node->devices[i].product);
        share_text(intern, &node->devices[i].bus_id);
    }
    share_graph(intern, node);
}

size_t intern_word_count(const struct intern *intern)
{
    return map_count(intern->words);
}

size_t intern_graph_count(const struct intern *intern)
{
    return intern->graph_count;
}
