/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"

#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/dialect.h"
#include "topofit/peers.h"

#include <stdlib.h>

static char class_words[6][32] = {"nvidia",
                                  "NVIDIA GPU",
                                  "nvidia.com/gpu",
                                  "nvidia.com/gpumem",
                                  "nvidia.com/gpumem-percentage",
                                  "nvidia.com/gpucores"};

const struct device_class test_class = {.name = class_words[0],
                                        .title = class_words[1],
                                        .count_resource = class_words[2],
                                        .memory_resource = class_words[3],
                                        .percent_resource = class_words[4],
                                        .cores_resource = class_words[5],
                                        .count_multiple_of = 1,
                                        .one_means = 1,
                                        .memory_counted = true,
                                        .memory_unit_mib = 1,
                                        .memory_granule_mib = 1,
                                        .cores = 100,
                                        .default_count = 1};

static struct class_resource test_resources[] = {
    {class_words[2], 0, AMOUNT_COUNT},
    {class_words[5], 0, AMOUNT_CORES},
    {class_words[3], 0, AMOUNT_MEMORY},
    {class_words[4], 0, AMOUNT_PERCENT},
};

const struct class_table test_classes = {(struct device_class *)(uintptr_t)&test_class, 1,
                                         test_resources, ARRAY_LEN(test_resources)};

const struct hash_key test_key = {{0x0706050403020100, 0x0f0e0d0c0b0a0908}};

/* --- nodes ----------------------------------------------------------------------------------- */

static void add_device(struct node *node, unsigned index, uint64_t memory_mib, uint16_t slots)
{
    AUTO_FREE char *id = xasprintf("GPU-%u", index);
    struct device *device = node_add_device(node, id);

    assert_non_null(device);
    device->index = index;
    device->class = &test_class;
    device->memory_mib = memory_mib;
    device->cores = 100;
    device->slots = slots;
}

static struct peer_graph *unknown_graph(unsigned n)
{
    struct peer_graph *graph = peers_new(n);

    peers_finish(graph);
    return graph;
}

struct node *node_plain(const char *name, unsigned n, uint64_t memory_mib, uint16_t slots)
{
    AUTO_FREE char *uid = xasprintf("uid-of-%s", name);
    struct node *node = node_new(name, uid);

    node->has_inventory = true;
    for (unsigned i = 0; i < n; i++)
        add_device(node, i, memory_mib, slots);
    node_steal_graph(node, unknown_graph(n));
    return node;
}

/* Through the dialect, as a cluster would tell it. */
struct node *node_wired(const char *name, const char *matrix)
{
    AUTO_FREE char *path = xasprintf(TEST_DATA "/topologies/%s", matrix);
    AUTO_FREE char *text = test_read_file(path, NULL);
    AUTO(kube_node_clear) struct kube_node kube;
    AUTO(buf_clear) struct buf inventory = buf_with_max(1 << 16);
    unsigned n = 0;
    struct node *node;

    for (const char *at = text; (at = strstr(at, "\nGPU")) != NULL; at++)
        n++;
    buf_add_text(&inventory, "{\"devices\":[");
    for (unsigned i = 0; i < n; i++)
        buf_addf(&inventory, "%s{\"id\":\"GPU-%u\",\"memoryMiB\":81920,\"slots\":10}",
                 i > 0 ? "," : "", i);
    buf_add_text(&inventory, "]}");
    kube_node_init(&kube);
    free(kube.meta.name);
    kube.meta.name = xstrdup(name);
    kube_pairs_add(&kube.meta.annotations, "topofit.io/inventory", buf_text(&inventory));
    kube_pairs_add(&kube.meta.annotations, "topofit.io/topology", text);
    node = dialect_node(&kube, &test_classes);
    assert_null(node->problem);
    assert_int_equal(node->device_count, n);
    return node;
}

struct node *node_8gpu_nvswitch(const char *name)
{
    return node_wired(name, "35-dgx-h100-8.txt");
}

struct node *node_8gpu_pairs(const char *name)
{
    return node_wired(name, "16-8xa40-nvlink-bridge-pairs.txt");
}

struct node_use use_none(const struct node *node)
{
    return (struct node_use){.device_count = node->device_count};
}

void use_take(struct node_use *use, const struct node *node, unsigned position, uint64_t memory_mib,
              uint16_t cores, enum isolation_mode mode)
{
    const struct grant grant = {.id = node->devices[position].id,
                                .memory_mib = memory_mib,
                                .cores = cores,
                                .slots = 1,
                                .mode = mode};

    node_use_add(use, node, &grant);
}

/* --- requests and records -------------------------------------------------------------------- */

void request_wish(struct request *request, struct wish wish)
{
    AUTO_FREE char *name = xasprintf("c%zu", request->container_count);
    struct ask ask = {.container = (unsigned)request->container_count,
                      .class = &test_class,
                      .count = wish.count,
                      .cores = wish.cores};

    if (wish.mib > 0) {
        ask.memory_kind = MEMORY_MIB;
        ask.memory = wish.mib;
    } else if (wish.percent > 0) {
        ask.memory_kind = MEMORY_PERCENT;
        ask.memory = wish.percent;
    }
    request_add_container(request, name, wish.kind);
    if (wish.count > 0)
        request_add_ask(request, &ask);
}

struct request request_of(struct wish wish)
{
    struct request request;

    request_init(&request);
    request_wish(&request, wish);
    return request;
}

void record_line(struct allocation *allocation, const char *id, uint64_t memory_mib, uint16_t cores,
                 enum isolation_mode mode)
{
    struct allocated_device *device =
        allocation_add_device(&allocation->containers[allocation->container_count - 1], id);

    device->memory_mib = memory_mib;
    device->cores = cores;
    device->mode = mode;
}

/* --- chance ---------------------------------------------------------------------------------- */

unsigned chance_below(uint64_t *state, unsigned limit)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33) % limit;
}

bool chance_one_in(uint64_t *state, unsigned n)
{
    return chance_below(state, n) == 0;
}

static struct wish chance_wish(uint64_t *state)
{
    static const uint16_t cores[] = {0, 0, 10, 50, 50, 50, 60, 100};
    static const unsigned counts[] = {0, 1, 1, 1, 1, 1, 1, 2, 2, 3};
    struct wish wish = {.count = counts[chance_below(state, ARRAY_LEN(counts))],
                        .cores = cores[chance_below(state, ARRAY_LEN(cores))]};

    switch (chance_below(state, 3)) {
    case 0:
        wish.mib = 1 + chance_below(state, 1500);
        break;
    case 1:
        wish.percent = 1 + chance_below(state, 100);
        break;
    }
    return wish;
}

void chance_request(uint64_t *state, unsigned containers_max, struct request *out)
{
    static const enum isolation_mode modes[] = {ISOLATION_NONE, ISOLATION_NONE, ISOLATION_NONE,
                                                ISOLATION_SOFT, ISOLATION_HARD, ISOLATION_SHARED};
    unsigned apps = 1 + chance_below(state, containers_max);
    unsigned inits = chance_below(state, containers_max - apps + 1);

    request_init(out);
    out->isolation = modes[chance_below(state, ARRAY_LEN(modes))];
    while (out->container_count < inits + apps || out->ask_count == 0) {
        struct wish wish = chance_wish(state);

        if (out->container_count < inits)
            wish.kind = chance_one_in(state, 3) ? CONTAINER_SIDECAR : CONTAINER_INIT;
        request_wish(out, wish);
    }
}

static void wire(uint64_t *state, struct node *node)
{
    static const uint16_t gbps[] = {0, 12, 50, 100};
    struct peer_graph *graph = peers_new(node->device_count);
    unsigned shape = chance_below(state, 4); /* nothing, NUMA, links, both */

    for (unsigned a = 0; a < node->device_count; a++) {
        node->devices[a].numa = shape & 1 ? (int)chance_below(state, 3) - 1 : NUMA_UNKNOWN;
        peers_set_numa(graph, a, node->devices[a].numa);
        for (unsigned b = 0; shape & 2 && b < a; b++) {
            struct link link = {.name = "L",
                                .tier = (enum tier)chance_below(state, TIER_COUNT),
                                .gbps = gbps[chance_below(state, ARRAY_LEN(gbps))]};

            peers_note_link(graph, a, b, &link);
        }
    }
    peers_finish(graph);
    node_steal_graph(node, graph);
}

struct node *chance_node(uint64_t *state, const char *name, unsigned devices_max)
{
    static const char *const products[] = {"NVIDIA A10", "NVIDIA A100-SXM4-80GB"};
    unsigned n = 1 + chance_below(state, devices_max);
    uint64_t memory_mib = 1000 * (1 + chance_below(state, 4));
    struct node *node = node_plain(name, n, memory_mib, (uint16_t)(1 + chance_below(state, 4)));

    for (unsigned i = 0; i < n; i++) {
        struct device *device = &node->devices[i];

        device->healthy = !chance_one_in(state, 16);
        device->cordoned = chance_one_in(state, 16);
        if (chance_one_in(state, 6))
            device->memory_mib = chance_below(state, 4000);
        text_unref(device->product);
        device->product = text_new(products[chance_below(state, 2)]);
    }
    wire(state, node);
    return node;
}
