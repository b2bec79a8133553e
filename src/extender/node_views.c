/* SPDX-License-Identifier: Apache-2.0 */
/* node_views - the list of nodes, and one node with its devices, holders and links. */
#include "views.h"
#include "topofit/mem.h"
#include "topofit/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Devices of a node by state; each device counts once. */
struct tally {
    unsigned counts[DEVICE_STATE_COUNT];
};

static struct tally count_devices(const struct node_state *state)
{
    struct tally tally = {0};

    for (unsigned i = 0; i < state->node->device_count; i++)
        tally.counts[device_state(&state->node->devices[i], &state->use.devices[i])]++;
    return tally;
}

static const char *topology_name(const struct peer_graph *graph)
{
    if (graph->has_links)
        return graph->has_numa ? "links+numa" : "links";
    return graph->has_numa ? "numa" : "unknown";
}

/* The product of a node's devices; "several" when they differ. */
static const char *product_of(const struct node *node)
{
    const char *product = node->device_count > 0 ? node->devices[0].product->chars : "";

    for (unsigned i = 1; i < node->device_count; i++) {
        if (strcmp(node->devices[i].product->chars, product) != 0)
            return "several";
    }
    return product;
}

/* --- the list -------------------------------------------------------------------------------- */

static json_t *node_summary(const struct node_state *state)
{
    struct tally tally = count_devices(state);
    json_t *item = json_object();

    json_object_set_new(item, "name", view_string(state->node->name));
    json_object_set_new(item, "product", view_string(product_of(state->node)));
    json_object_set_new(
        item, "devices",
        json_pack("{s:i,s:i,s:i,s:i,s:i,s:i,s:i}", "total", (int)state->node->device_count, "idle",
                  (int)tally.counts[DEVICE_IDLE], "inUse", (int)tally.counts[DEVICE_IN_USE],
                  "unhealthy", (int)tally.counts[DEVICE_UNHEALTHY], "cordoned",
                  (int)tally.counts[DEVICE_CORDONED], "conflicted",
                  (int)tally.counts[DEVICE_CONFLICTED], "unattributed",
                  (int)state->use.unattributed));
    json_object_set_new(item, "topology", json_string(topology_name(state->node->graph)));
    json_object_set_new(item, "problem",
                        state->node->problem ? view_string(state->node->problem) : json_null());
    return item;
}

/* "1 unhealthy, 2 cordoned": devices that are neither idle nor simply in use. */
static void describe_others(const struct node_state *state, const struct tally *tally,
                            struct buf *out)
{
    const struct {
        unsigned count;
        const char *word;
    } others[] = {{tally->counts[DEVICE_UNHEALTHY], "unhealthy"},
                  {tally->counts[DEVICE_CORDONED], "cordoned"},
                  {tally->counts[DEVICE_CONFLICTED], "conflicted"},
                  {state->use.unattributed, "held by unknown records"}};

    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        if (others[i].count > 0)
            buf_addf(out, "%s%u %s", out->length > 0 ? ", " : "", others[i].count, others[i].word);
    }
}

static void write_nodes_text(const struct snapshot *snapshot, struct buf *out)
{
    static const char *const headers[] = {"NODE",   "PRODUCT", "GPUS",     "IDLE",
                                          "IN USE", "OTHER",   "TOPOLOGY", "PROBLEM"};
    AUTO(table_free_pointer) struct table *table = table_new(headers, ARRAY_LEN(headers));
    AUTO_FREE const struct node_state **states = snapshot_by_name(snapshot);

    for (size_t i = 0; i < snapshot->count; i++) {
        const struct node_state *state = states[i];
        AUTO(buf_clear) struct buf others = buf_with_max(256);
        struct tally tally = count_devices(state);

        table_add(table, state->node->name);
        table_add(table, product_of(state->node));
        table_addf(table, "%u", state->node->device_count);
        table_addf(table, "%u", tally.counts[DEVICE_IDLE]);
        table_addf(table, "%u", tally.counts[DEVICE_IN_USE]);
        describe_others(state, &tally, &others);
        table_add(table, buf_text(&others));
        table_add(table, topology_name(state->node->graph));
        table_add(table, state->node->problem ? state->node->problem : "");
    }
    table_write(table, out);
}

void view_nodes(struct extender *extender, struct moment now, enum view_format format,
                struct buf *out)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(extender->cluster);
    AUTO_FREE const struct node_state **states = NULL;
    json_t *document, *items;

    if (format == VIEW_TEXT) {
        write_nodes_text(snapshot, out);
        return;
    }
    document = view_document("NodeList", now);
    items = json_array();
    states = snapshot_by_name(snapshot);
    for (size_t i = 0; i < snapshot->count; i++)
        json_array_append_new(items, node_summary(states[i]));
    json_object_set_new(document, "items", items);
    view_write(document, out);
}

/* --- one node -------------------------------------------------------------------------------- */

/* The holdings on the node being shown. */
struct holders {
    struct holding_view *views;
    size_t count;
};

static void holders_clear(struct holders *holders)
{
    holding_views_free(holders->views, holders->count);
}

/* What a holding has on a device; slots 0 = nothing. */
static struct grant grant_on(const struct holding_view *view, const char *id)
{
    struct grant grants[DEVICE_MAX];
    size_t count = allocation_grants(&view->allocation, view->init_done, grants, ARRAY_LEN(grants));

    for (size_t i = 0; i < count; i++) {
        if (strcmp(grants[i].id, id) == 0)
            return grants[i];
    }
    return (struct grant){0};
}

/* "1g.10gb at 6", each partition that a holding has on a device. */
static json_t *partitions_of(const struct holding_view *view, const char *id)
{
    json_t *list = json_array();

    for (size_t c = 0; c < view->allocation.container_count; c++) {
        const struct allocated_container *container = &view->allocation.containers[c];

        for (size_t i = 0; i < container->device_count; i++) {
            const struct allocated_device *line = &container->devices[i];

            if (line->partition.profile[0] != '\0' && strcmp(line->id, id) == 0)
                json_array_append_new(
                    list, json_sprintf("%s at %u", line->partition.profile, line->partition.start));
        }
    }
    return list;
}

/* How many of each profile could still be made, if it were the only one. */
static json_t *free_partitions(const struct partition_table *table, struct partition_use taken)
{
    json_t *list = json_object();

    for (unsigned i = 0; i < table->count; i++) {
        const char *name = table->profiles[i].name;
        json_int_t other = json_integer_value(json_object_get(list, name));

        json_object_set_new(list, name, json_integer(other + partition_most(table, taken, i)));
    }
    return list;
}

static json_t *device_pods(const struct holders *holders, const struct device *device)
{
    json_t *pods = json_array();

    for (size_t i = 0; i < holders->count; i++) {
        const struct holding_view *view = &holders->views[i];
        struct grant grant = grant_on(view, device->id);
        json_t *pod;

        if (grant.slots == 0)
            continue;
        pod = json_pack("{s:o,s:o,s:o,s:s,s:I,s:i}", "namespace", view_string(view->namespace),
                        "name", view_string(view->name), "uid", view_string(view->uid), "state",
                        holding_state_name(view->state), "memoryMiB", (json_int_t)grant.memory_mib,
                        "cores", (int)grant.cores);
        if (device->partitions != NULL)
            json_object_set_new(pod, "partitions", partitions_of(view, device->id));
        json_array_append_new(pods, pod);
    }
    return pods;
}

static json_t *device_view(const struct node_state *state, unsigned position,
                           const struct holders *holders)
{
    const struct device *device = &state->node->devices[position];
    const struct device_use *use = &state->use.devices[position];
    int numa = state->node->graph->numa[position]; /* the inventory's, else the matrix's */
    json_t *item = json_pack(
        "{s:i,s:o,s:s,s:o,s:o,s:s,s:s}", "index", (int)device->index, "id", view_string(device->id),
        "class", device->class->name, "product", view_string(device->product->chars), "busId",
        view_string(device->bus_id->chars), "state", device_state_name(device_state(device, use)),
        "isolation", isolation_mode_name(use->mode));

    json_object_set_new(item, "numa", numa >= 0 ? json_integer(numa) : json_null());
    json_object_set_new(item, "memoryMiB",
                        json_pack("{s:I,s:I}", "total", (json_int_t)device->memory_mib, "used",
                                  (json_int_t)use->memory_mib));
    json_object_set_new(item, "cores",
                        json_pack("{s:i,s:i}", "total", device->cores, "used", (int)use->cores));
    json_object_set_new(item, "slots",
                        json_pack("{s:i,s:i}", "total", device->slots, "used", use->slots));
    if (device->partitions != NULL)
        json_object_set_new(item, "freePartitions",
                            free_partitions(device->partitions, use->partitions));
    json_object_set_new(item, "pods", device_pods(holders, device));
    return item;
}

static const char *link_name(const struct peer_graph *graph, unsigned a, unsigned b)
{
    const char *name = peers_link(graph, a, b)->name;

    if (a == b)
        return "X";
    if (name[0] != '\0')
        return name;
    return tier_name(peers_tier(graph, SOURCE_AUTO, a, b));
}

static json_t *links_view(const struct peer_graph *graph)
{
    json_t *rows = json_array();

    for (unsigned a = 0; a < graph->n; a++) {
        json_t *row = json_array();

        for (unsigned b = 0; b < graph->n; b++)
            json_array_append_new(row, view_string(link_name(graph, a, b)));
        json_array_append_new(rows, row);
    }
    return rows;
}

/* "default/train-0 (1000 MiB, 30 cores), ..." */
static void describe_holders(const struct holders *holders, const struct device *device,
                             struct buf *out)
{
    for (size_t i = 0; i < holders->count; i++) {
        const struct holding_view *view = &holders->views[i];
        struct grant grant = grant_on(view, device->id);

        if (grant.slots == 0)
            continue;
        buf_addf(out, "%s%s/%s", out->length > 0 ? ", " : "", view->namespace, view->name);
        if (grant.memory_mib < device->memory_mib)
            buf_addf(out, " (%" PRIu64 " MiB, %u cores)", grant.memory_mib, grant.cores);
        if (view->state != HOLDING_BOUND)
            buf_addf(out, " [%s]", holding_state_name(view->state));
    }
}

/* The matrix people know from nvidia-smi, with who holds each device behind it. */
static void write_node_text(const struct node_state *state, const struct holders *holders,
                            struct buf *out)
{
    const struct node *node = state->node;
    char names[DEVICE_MAX][16];
    const char *headers[DEVICE_MAX + 5] = {""};
    size_t columns = 1;
    struct table *table;

    for (unsigned i = 0; i < node->device_count; i++) {
        snprintf(names[i], sizeof names[i], "GPU%u", node->devices[i].index);
        headers[columns++] = names[i];
    }
    headers[columns++] = "NUMA";
    headers[columns++] = "STATE";
    headers[columns++] = "MEMORY (MiB)";
    headers[columns++] = "HELD BY";
    table = table_new(headers, columns);
    for (unsigned a = 0; a < node->device_count; a++) {
        const struct device *device = &node->devices[a];
        AUTO(buf_clear) struct buf held = buf_with_max(4096);

        table_add(table, names[a]);
        for (unsigned b = 0; b < node->device_count; b++)
            table_add(table, link_name(node->graph, a, b));
        if (node->graph->numa[a] >= 0)
            table_addf(table, "%d", node->graph->numa[a]);
        else
            table_add(table, "N/A");
        table_add(table, device_state_name(device_state(device, &state->use.devices[a])));
        table_addf(table, "%" PRIu64 "/%" PRIu64, state->use.devices[a].memory_mib,
                   device->memory_mib);
        describe_holders(holders, device, &held);
        table_add(table, buf_text(&held));
    }
    buf_addf(out, "%s  %s\n", node->name, product_of(node));
    if (node->problem != NULL)
        buf_addf(out, "problem: %s\n", node->problem);
    if (state->use.unattributed > 0)
        buf_addf(out, "%u of these are held by pods whose record does not tell which\n",
                 state->use.unattributed);
    buf_add_byte(out, '\n');
    table_write(table, out);
    table_free(table);
}

int view_node(struct extender *extender, const char *name, struct moment now,
              enum view_format format, struct buf *out, struct error *err)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(extender->cluster);
    const struct node_state *state = snapshot_find(snapshot, name);
    AUTO(holders_clear) struct holders holders = {0};
    json_t *document, *devices;

    if (state == NULL)
        return error_set(err, ERR_NOT_FOUND, "node %s is not known; see /debug/nodes", name);
    holders.views = cluster_holdings(extender->cluster, name, &holders.count);
    if (format == VIEW_TEXT) {
        write_node_text(state, &holders, out);
        return 0;
    }
    document = view_document("Node", now);
    json_object_update_missing_new(document, node_summary(state));
    json_object_set_new(document, "summary", json_incref(json_object_get(document, "devices")));
    devices = json_array();
    for (unsigned i = 0; i < state->node->device_count; i++)
        json_array_append_new(devices, device_view(state, i, &holders));
    json_object_set_new(document, "devices", devices);
    json_object_set_new(document, "links", links_view(state->node->graph));
    view_write(document, out);
    return 0;
}
