/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any topology annotation on a node of eight devices: the node stays usable, the graph is
 * symmetric, and every count of devices that is asked for finds a set.
 */
#include "topofit/class.h"
#include "topofit/dialect.h"
#include "topofit/gputopo.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#define DEVICES 8
#define INVENTORY \
    "{\"devices\":[{\"id\":\"a\"},{\"id\":\"b\"},{\"id\":\"c\"},{\"id\":\"d\"},{\"id\":\"e\"}," \
    "{\"id\":\"f\"},{\"id\":\"g\"},{\"id\":\"h\"}]}"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_graph(const struct peer_graph *graph)
{
    assert(graph->n == DEVICES);
    for (unsigned source = 0; source < SOURCE_COUNT; source++) {
        for (unsigned a = 0; a < DEVICES; a++) {
            assert(peers_tier(graph, source, a, a) == TIER_INTERCONNECT);
            for (unsigned b = 0; b < a; b++) {
                assert(peers_tier(graph, source, a, b) == peers_tier(graph, source, b, a));
                assert(peers_link(graph, a, b)->gbps == peers_link(graph, b, a)->gbps);
            }
        }
    }
}

static void check_sets(const struct peer_graph *graph)
{
    const struct topology_rule rule = {.mode = TOPOLOGY_SOFT, .least_damage = true};

    for (unsigned count = 1; count <= DEVICES; count++) {
        const struct topology_question question = {.graph = graph,
                                                   .candidates = mask_below(DEVICES),
                                                   .idle = mask_below(DEVICES),
                                                   .count = count};
        struct topology_choice choice;

        gputopo_choose(&question, &rule, NULL, &choice);
        assert(choice.satisfied && mask_count(choice.set) == count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO_FREE char *text = xstrndup((const char *)bytes, size);
    static struct class_table classes; /* read once: that takes longer than all the rest */
    AUTO(kube_node_clear) struct kube_node kube;
    AUTO(node_unref_pointer) struct node *node = NULL;

    if (classes.count == 0)
        classes_builtin(&classes);
    kube_node_init(&kube);
    kube_pairs_add(&kube.meta.annotations, "topofit.io/inventory", INVENTORY);
    kube_pairs_add(&kube.meta.annotations, "topofit.io/topology", text);
    node = dialect_node(&kube, &classes);
    assert(node->has_inventory && node->device_count == DEVICES);
    check_graph(node->graph);
    check_sets(node->graph);
    return 0;
}
