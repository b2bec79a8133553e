/* SPDX-License-Identifier: Apache-2.0 */
#include "support/node_set.h"

#include "support/builders.h"

#include "topofit/mem.h"

#define DEVICES_MOST 12
#define KINDS 1000

static void put(struct node_set *set, struct cluster *cluster, int n)
{
    uint64_t seed = set->seeds[n];

    node_unref(set->items[n]);
    set->items[n] = chance_node(&seed, node_name_of(n), DEVICES_MOST);
    cluster_put_node(cluster, node_ref(set->items[n]));
}

void node_set_init(struct node_set *set, struct cluster *cluster, uint64_t *chance)
{
    *set = (struct node_set){0};
    for (int n = 0; n < SERVER_NODES; n++) {
        set->seeds[n] = chance_below(chance, KINDS);
        put(set, cluster, n);
    }
}

void node_set_clear(struct node_set *set)
{
    for (int n = 0; n < SERVER_NODES; n++)
        node_unref(steal_ptr(&set->items[n]));
}

void node_set_list(const struct node_set *set, struct cluster *cluster)
{
    struct node *nodes[SERVER_NODES];
    size_t count = 0;

    for (int n = 0; n < SERVER_NODES; n++) {
        if (set->items[n] != NULL)
            nodes[count++] = node_ref(set->items[n]);
    }
    cluster_replace_nodes(cluster, nodes, count);
}

void node_set_step(struct node_set *set, struct cluster *cluster, uint64_t *chance)
{
    int n = (int)chance_below(chance, SERVER_NODES);

    switch (chance_below(chance, 6)) {
    case 0:
        cluster_remove_node(cluster, node_name_of(n));
        node_unref(steal_ptr(&set->items[n]));
        return;
    case 1:
        node_unref(steal_ptr(&set->items[n]));
        node_set_list(set, cluster);
        return;
    case 2:
        set->seeds[n] = chance_below(chance, KINDS); /* other devices under the same ids */
        put(set, cluster, n);
        return;
    default:
        put(set, cluster, n); /* a heartbeat, or the node is back */
        return;
    }
}
