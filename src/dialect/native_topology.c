/* SPDX-License-Identifier: Apache-2.0 */
/* native_topology - topofit.io/topology on nodes: a printed matrix or JSON links. */
#include "native_topology.h"

#include "topofit/matrix.h"
#include "topofit/mem.h"

#include <jansson.h>

#include <stdio.h>
#include <string.h>

#define GBPS_MAX 65535

/* --- matrix ---------------------------------------------------------------------------------- */

/* Position of the device with that index, or -1. Rows are named by index: "GPU3". */
static int find_index(const struct node *node, unsigned index)
{
    for (unsigned i = 0; i < node->device_count; i++) {
        if (node->devices[i].index == index)
            return (int)i;
    }
    return -1;
}

static void copy_matrix(const struct matrix *matrix, const struct node *node,
                        struct peer_graph *graph)
{
    int positions[DEVICE_MAX];

    for (unsigned a = 0; a < matrix->graph->n; a++) {
        positions[a] = find_index(node, matrix->indices[a]);
        if (positions[a] >= 0 && node->devices[positions[a]].numa < 0)
            peers_set_numa(graph, (unsigned)positions[a], matrix->graph->numa[a]);
    }
    for (unsigned a = 0; a < matrix->graph->n; a++) {
        for (unsigned b = a + 1; b < matrix->graph->n; b++) {
            if (positions[a] >= 0 && positions[b] >= 0)
                peers_note_link(graph, (unsigned)positions[a], (unsigned)positions[b],
                                peers_link(matrix->graph, a, b));
        }
    }
}

static void note_strangers(const struct matrix *matrix, struct node *node)
{
    unsigned missing = 0;

    for (unsigned a = 0; a < matrix->graph->n; a++)
        missing += find_index(node, matrix->indices[a]) < 0;
    if (missing > 0)
        node_note_problem(node, KEY_TOPOLOGY ": %u of %u rows name no device of the inventory",
                          missing, matrix->graph->n);
    if (matrix->graph->n - missing < node->device_count)
        node_note_problem(node, KEY_TOPOLOGY ": %u of %u devices have no row",
                          node->device_count - (matrix->graph->n - missing), node->device_count);
    if (matrix->warning[0] != '\0')
        node_note_problem(node, KEY_TOPOLOGY ": %s", matrix->warning);
}

static void read_matrix(const char *text, struct node *node, struct peer_graph *graph)
{
    AUTO(matrix_clear) struct matrix matrix = {0};
    struct error err = {0};

    if (matrix_read(text, strlen(text), &matrix, &err) < 0) {
        node_note_problem(node, KEY_TOPOLOGY ": %s", err.text);
        return;
    }
    copy_matrix(&matrix, node, graph);
    note_strangers(&matrix, node);
}

/* --- JSON links ------------------------------------------------------------------------------ */

/* An end of a link: an index, or a device id. -1 when there is no such device. */
static int find_end(const struct node *node, const json_t *end)
{
    if (json_is_string(end))
        return node_find_device(node, json_string_value(end));
    if (json_is_integer(end) && json_integer_value(end) >= 0 &&
        json_integer_value(end) <= UINT16_MAX)
        return find_index(node, (unsigned)json_integer_value(end));
    return -1;
}

/* return false for what is no link; a word that is not known is a link of unknown tier. */
static bool read_link(const json_t *json, struct node *node, struct link *out)
{
    const json_t *type = json_object_get(json, "type");
    const json_t *tier = json_object_get(json, "tier");
    const json_t *gbps = json_object_get(json, "gbps");

    *out = (struct link){.tier = TIER_UNKNOWN};
    if (!json_is_object(json))
        return false;
    if (json_is_string(type) && !matrix_link(json_string_value(type), out)) {
        snprintf(out->name, sizeof out->name, "%s", json_string_value(type));
        if (tier == NULL)
            node_note_problem(node, KEY_TOPOLOGY ": link type %.20s is not known", out->name);
    }
    if (tier != NULL) {
        if (!json_is_integer(tier) || json_integer_value(tier) < 0 ||
            json_integer_value(tier) >= TIER_COUNT)
            return false;
        out->tier = (enum tier)json_integer_value(tier);
    }
    if (gbps != NULL) {
        if (!json_is_number(gbps) || json_number_value(gbps) < 0 ||
            json_number_value(gbps) > GBPS_MAX)
            return false;
        out->gbps = (uint16_t)json_number_value(gbps);
    }
    return true;
}

static void read_links(const json_t *links, struct node *node, struct peer_graph *graph)
{
    const json_t *json;
    size_t i;

    json_array_foreach(links, i, json)
    {
        int a = find_end(node, json_object_get(json, "a"));
        int b = find_end(node, json_object_get(json, "b"));
        struct link link;

        if (!read_link(json, node, &link))
            node_note_problem(node, KEY_TOPOLOGY ": link %zu left out: not readable", i);
        else if (a < 0 || b < 0 || a == b) /* a card was replaced, or a typing mistake */
            node_note_problem(node, KEY_TOPOLOGY ": link %zu ignored: not between two devices here",
                              i);
        else
            peers_note_link(graph, (unsigned)a, (unsigned)b, &link);
    }
}

static void read_json(const char *text, struct node *node, struct peer_graph *graph)
{
    json_error_t where;
    json_auto_t *root = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
    const json_t *links = json_object_get(root, "links");

    if (root == NULL)
        node_note_problem(node, KEY_TOPOLOGY ": line %d, column %d: %s", where.line, where.column,
                          where.text);
    else if (!json_is_array(links))
        node_note_problem(node, KEY_TOPOLOGY ": an object with a list \"links\" is expected");
    else
        read_links(links, node, graph);
}

void native_read_topology(const char *text, struct node *node)
{
    struct peer_graph *graph = peers_new(node->device_count);
    size_t blank = text != NULL ? strspn(text, " \t\r\n") : 0;

    for (unsigned i = 0; i < node->device_count; i++)
        peers_set_numa(graph, i, node->devices[i].numa);
    if (text != NULL && text[blank] != '\0') {
        if (text[blank] == '{' || strcmp(text + blank, "null") == 0)
            read_json(text, node, graph);
        else
            read_matrix(text, node, graph);
    }
    peers_finish(graph);
    node_steal_graph(node, graph);
}
