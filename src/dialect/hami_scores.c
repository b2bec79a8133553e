/* SPDX-License-Identifier: Apache-2.0 */
/* hami_scores - peer graph from what plugins score, and from the zones of MetaX's links. */
#include "hami_node.h"

#include "topofit/matrix.h"
#include "topofit/mem.h"

#include <jansson.h>

#include <stdio.h>
#include <string.h>

/* --- pair scores ----------------------------------------------------------------------------- */

#define NVLINK_SCORE 100 /* of one link; what is left is the way over PCIe */
#define NVLINKS_MAX 64

/* source  go-gpuallocator's scores, as HAMi's plugin adds them up; facts in docs/reference/hami.md
 */
static const struct {
    long long score;
    const char *word; /* as nvidia-smi prints it */
} ways[] = {{10, "SYS"}, {20, "NODE"}, {30, "PHB"}, {40, "PXB"}, {50, "PIX"}, {60, "PIX"}};

/* The link of a score. return false when it says nothing, or nothing that is known. */
static bool link_of(long long score, struct link *out)
{
    long long links = score / NVLINK_SCORE;
    char word[LINK_NAME_MAX];

    *out = (struct link){.tier = TIER_UNKNOWN};
    if (score <= 0 || links > NVLINKS_MAX)
        return false;
    if (links > 0) {
        snprintf(word, sizeof word, "NV%lld", links);
        return matrix_link(word, out);
    }
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        if (ways[i].score == score)
            return matrix_link(ways[i].word, out);
    }
    return false;
}

static void note_pair(const struct hami_reading *reading, struct peer_graph *graph, int a,
                      const char *peer, const json_t *score)
{
    int b = node_find_device(reading->node, peer);
    struct link link;

    if (!json_is_integer(score))
        node_note_problem(reading->node, "%s: the score of %s and %s is no whole number",
                          reading->class->hami.scores_key, reading->node->devices[a].id, peer);
    else if (b >= 0 && link_of(json_integer_value(score), &link))
        peers_note_link(graph, (unsigned)a, (unsigned)b, &link);
    else if (b >= 0 && json_integer_value(score) != 0)
        node_note_problem(reading->node, "%s: score %lld is not known",
                          reading->class->hami.scores_key, json_integer_value(score));
}

static void note_scores(const struct hami_reading *reading, struct peer_graph *graph,
                        const json_t *json)
{
    const json_t *scores = hami_json_get(json, "score"), *score;
    const char *id = "", *peer;
    int a;

    if (!hami_json_text(json, "uuid", &id) || (scores != NULL && !json_is_object(scores))) {
        node_note_problem(reading->node, "%s: \"uuid\" and \"score\" are expected",
                          reading->class->hami.scores_key);
        return;
    }
    a = node_find_device(reading->node, id);
    if (a < 0) /* a device was replaced: others know of it still */
        return;
    json_object_foreach((json_t *)(uintptr_t)scores, peer, score)
        note_pair(reading, graph, a, peer, score);
}

void hami_read_scores(const struct hami_reading *reading, struct peer_graph *graph)
{
    const char *key = reading->class->hami.scores_key;
    const char *text = key != NULL ? kube_pairs_get(&reading->kube->meta.annotations, key) : NULL;
    json_auto_t *root = NULL;
    json_error_t where;
    const json_t *json;
    size_t i;

    if (text == NULL)
        return;
    root = json_loads(text, JSON_DECODE_ANY, &where);
    if (root == NULL)
        node_note_problem(reading->node, "%s: line %d, column %d: %s", key, where.line,
                          where.column, where.text);
    else if (!json_is_array(root))
        node_note_problem(reading->node, "%s: a list is expected", key);
    json_array_foreach(root, i, json) note_scores(reading, graph, json);
}

/* --- zones ----------------------------------------------------------------------------------- */

/* Devices of one zone are linked; MetaX scores all such pairs alike. */
void hami_link_zones(const struct hami_reading *reading, struct peer_graph *graph)
{
    const struct device *devices = reading->node->devices;
    struct link link = {.tier = TIER_UNKNOWN};

    if (reading->class->hami.form != HAMI_FORM_METAX || !matrix_link("MX", &link))
        return;
    for (unsigned a = 0; a < reading->node->device_count; a++) {
        for (unsigned b = a + 1; b < reading->node->device_count; b++) {
            if (devices[a].class == reading->class && devices[b].class == reading->class &&
                devices[a].zone != ZONE_UNKNOWN && devices[a].zone == devices[b].zone)
                peers_note_link(graph, a, b, &link);
        }
    }
}
