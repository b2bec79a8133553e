/* SPDX-License-Identifier: Apache-2.0 */
/* hami_demands - what pods demand in the annotations that HAMi's scheduler reads. */
#include "hami_demands.h"

#include "hami_node.h"

#include "demand.h"
#include "topofit/mem.h"
#include "topofit/quantity.h"
#include "topofit/text.h"

#include <string.h>
#include <strings.h>

/* --- policies -------------------------------------------------------------------------------- */

static void set_packing(struct request *request, int value)
{
    if (request->has_packing)
        return;
    request->has_packing = true;
    request->packing = (enum packing_policy)value;
}

static const struct demand_choice node_policy = {
    KEY_HAMI_NODE_POLICY,
    "binpack or spread",
    {{"binpack", PACKING_PACK}, {"spread", PACKING_SPREAD}},
    set_packing,
};

enum device_policy { BINPACK, SPREAD, TOPOLOGY_AWARE, MUTEX, NUMA };

static void set_device_policy(struct request *request, int value)
{
    switch ((enum device_policy)value) {
    case BINPACK:
    case SPREAD:
        if (request->has_device_order) /* of a chain the first counts */
            return;
        request->has_device_order = true;
        request->devices_spread = value == SPREAD;
        return;
    case TOPOLOGY_AWARE:
        if (request->topology.has_mode)
            return;
        request->topology.has_mode = true;
        request->topology.mode = TOPOLOGY_SOFT;
        return;
    case MUTEX:
        request->wants_idle = true;
        return;
    case NUMA: /* devices of one NUMA node are preferred in any case */
        return;
    }
}

static const struct demand_choice device_policy = {
    KEY_HAMI_DEVICE_POLICY,
    "a list of binpack, spread, topology-aware, mutex and numa",
    {{"binpack", BINPACK},
     {"spread", SPREAD},
     {"topology-aware", TOPOLOGY_AWARE},
     {"mutex", MUTEX},
     {"numa", NUMA}},
    set_device_policy,
};

static void read_policies(const struct kube_pod *kube, struct request *request)
{
    const char *of_node = kube_pairs_get(&kube->meta.annotations, KEY_HAMI_NODE_POLICY);
    const char *of_device = kube_pairs_get(&kube->meta.annotations, KEY_HAMI_DEVICE_POLICY);
    char item[WORD_BYTES_MAX];

    if (of_node != NULL && of_node[0] != '\0')
        demand_choose(&node_policy, of_node, request);
    while (of_device != NULL && text_next_item(&of_device, item, sizeof item))
        demand_choose(&device_policy, item, request);
}

/* --- weights --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t offset; /* in struct device_weights */
} parts[] = {
    {"slot", offsetof(struct device_weights, slots)},
    {"core", offsetof(struct device_weights, cores)},
    {"memory", offsetof(struct device_weights, memory)},
};

/* One "core=2". return the bit of its part; 0: it is none. */
static unsigned read_weight(const char *item, struct device_weights *out)
{
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        size_t length = strlen(parts[i].name);
        struct error err = {0};
        uint64_t weight = 0;

        if (strncmp(item, parts[i].name, length) != 0 || item[length] != '=')
            continue;
        if (quantity_parse_count(item + length + 1, &weight, &err) < 0 ||
            weight > DEVICE_WEIGHT_MAX)
            return 0;
        *(uint32_t *)((char *)out + parts[i].offset) = (uint32_t)weight;
        return 1u << i;
    }
    return 0;
}

/* All three, each once, and not all of them nothing, as HAMi has it. */
static void read_weights(const struct kube_pod *kube, struct request *request)
{
    const char *text = kube_pairs_get(&kube->meta.annotations, KEY_HAMI_WEIGHTS), *at = text;
    struct device_weights found = {0};
    unsigned seen = 0, part = 1;
    char item[WORD_BYTES_MAX];

    if (text == NULL || text[0] == '\0')
        return;
    while (part != 0 && text_next_item(&at, item, sizeof item)) {
        part = read_weight(item, &found);
        part = (seen & part) != 0 ? 0 : part;
        seen |= part;
    }
    if (part == 0 || seen != (1u << ARRAY_LEN(parts)) - 1 ||
        found.slots + found.cores + found.memory == 0)
        request_set_problem(request,
                            KEY_HAMI_WEIGHTS " is \"%.100s\": expected slot=1,core=1,memory=1 with "
                                             "whole numbers up to %d, not all 0",
                            text, DEVICE_WEIGHT_MAX);
    else
        request->weights = found;
}

/* --- selection ------------------------------------------------------------------------------- */

/* Where the selection of one class goes. */
struct target {
    struct word_list *use_devices, *avoid_devices, *use_products, *avoid_products;
};

static bool asks_for_others(const struct request *request, const struct device_class *class)
{
    for (size_t i = 0; i < request->ask_count; i++) {
        if (request->asks[i].class != class)
            return true;
    }
    return false;
}

static struct target target_of(struct request *request, const struct device_class *class)
{
    struct class_selection *own;

    if (!asks_for_others(request, class))
        return (struct target){&request->use_devices, &request->avoid_devices,
                               &request->use_products, &request->avoid_products};
    own = class_selections_add(&request->selections, class);
    return (struct target){&own->use_devices, &own->avoid_devices, &own->use_products,
                           &own->avoid_products};
}

static void read_ids(const struct kube_pod *kube, const struct hami_keys *keys,
                     struct word_list *words, struct request *request)
{
    for (size_t i = 0; i < keys->count; i++) {
        const char *value = kube_pairs_get(&kube->meta.annotations, keys->items[i]);

        if (value != NULL)
            demand_words(keys->items[i], value, words, request);
    }
}

static void read_types(const struct kube_pod *kube, const struct hami_class *hami,
                       const struct hami_keys *keys, struct word_list *words,
                       struct request *request)
{
    for (size_t i = 0; i < keys->count; i++) {
        const char *value = kube_pairs_get(&kube->meta.annotations, keys->items[i]);
        char item[WORD_BYTES_MAX + 2];

        while (value != NULL && text_next_item(&value, item, sizeof item))
            demand_words(keys->items[i], hami_product_of(hami, item), words, request);
    }
}

static void read_selection(const struct kube_pod *kube, const struct device_class *class,
                           struct request *request)
{
    const struct hami_class *hami = &class->hami;
    const struct target target = target_of(request, class);

    read_ids(kube, &hami->use_ids, target.use_devices, request);
    read_ids(kube, &hami->avoid_ids, target.avoid_devices, request);
    read_types(kube, hami, &hami->use_types, target.use_products, request);
    read_types(kube, hami, &hami->avoid_types, target.avoid_products, request);
}

/* --- NUMA ------------------------------------------------------------------------------------ */

/* All devices of a container on one NUMA node, or none. */
static void set_numa_bind(struct request *request, int value)
{
    struct topology_demand *topology = &request->topology;

    if (value == 0 || topology->has_mode)
        return;
    topology->has_mode = true;
    topology->mode = TOPOLOGY_HARD;
    if (!topology->has_max_tier)
        topology->max_tier = TIER_NUMA;
    if (!topology->has_source)
        topology->source = SOURCE_NUMA;
    topology->has_max_tier = topology->has_source = true;
}

static void read_numa_bind(const struct kube_pod *kube, const struct device_class *class,
                           struct request *request)
{
    const char *key = class->hami.numa_bind_key;
    const char *value = key != NULL ? kube_pairs_get(&kube->meta.annotations, key) : NULL;
    const struct demand_choice choice = {
        key,
        "true or false",
        {{"true", 1}, {"t", 1}, {"1", 1}, {"false", 0}, {"f", 0}, {"0", 0}},
        set_numa_bind,
    };

    if (value != NULL && value[0] != '\0')
        demand_choose(&choice, value, request);
}

/* --- mode and service ------------------------------------------------------------------------ */

/* Modes that a pod lists, as bits. */
enum device_mode { MODE_SHARED = 1, MODE_DIVIDED = 2 };

/*
 * Devices of any mode that the value names. MPS devices are shared ones to us: their plugin is
 * another, and nodes have one or the other.
 */
static void read_mode(const struct kube_pod *kube, const struct device_class *class,
                      struct request *request)
{
    static const struct demand_word modes[] = {
        {"hami-core", MODE_SHARED}, {"mps", MODE_SHARED}, {"mig", MODE_DIVIDED}};
    const char *key = class->hami.mode_key;
    const char *value = key != NULL ? kube_pairs_get(&kube->meta.annotations, key) : NULL;
    char item[WORD_BYTES_MAX];
    unsigned named = 0;

    while (value != NULL && text_next_item(&value, item, sizeof item)) {
        unsigned mode = 0;

        for (size_t i = 0; i < ARRAY_LEN(modes); i++)
            mode |= text_equal_nocase(modes[i].text, item) ? (unsigned)modes[i].value : 0;
        if (mode == 0)
            request_set_problem(
                request, "annotation %s is \"%.60s\": expected hami-core, mig or mps", key, item);
        named |= mode;
    }
    if (request->isolation == ISOLATION_NONE && named == MODE_SHARED)
        request->isolation = ISOLATION_SOFT;
    else if (request->isolation == ISOLATION_NONE && named == MODE_DIVIDED)
        request->isolation = ISOLATION_PARTITIONED;
}

static void read_service(const struct kube_pod *kube, const struct device_class *class,
                         struct request *request)
{
    const struct hami_class *hami = &class->hami;
    const char *service = hami->service_key != NULL
                              ? kube_pairs_get(&kube->meta.annotations, hami->service_key)
                              : NULL;
    const char *application = hami->application_key != NULL
                                  ? kube_pairs_get(&kube->meta.annotations, hami->application_key)
                                  : NULL;

    if (service != NULL && request->service == SERVICE_ANY &&
        !service_parse(service, &request->service) && service[0] != '\0')
        request_set_problem(request,
                            "annotation %s is \"%.60s\": expected best-effort, fixed-share or "
                            "burst-share",
                            hami->service_key, service);
    if (application != NULL && request->application == APPLICATION_ANY &&
        !application_parse(application, &request->application) && application[0] != '\0')
        request_set_problem(request, "annotation %s is \"%.60s\": expected online or offline",
                            hami->application_key, application);
}

/* --- all ------------------------------------------------------------------------------------- */

static bool is_first_of_class(const struct request *request, size_t ask)
{
    for (size_t i = 0; i < ask; i++) {
        if (request->asks[i].class == request->asks[ask].class)
            return false;
    }
    return true;
}

void hami_read_demands(const struct kube_pod *kube, struct request *request)
{
    for (size_t i = 0; i < request->ask_count; i++) {
        const struct device_class *class = request->asks[i].class;

        if (class->hami.word == NULL || !is_first_of_class(request, i))
            continue;
        read_selection(kube, class, request);
        read_mode(kube, class, request);
        read_service(kube, class, request);
        read_numa_bind(kube, class, request); /* before the policies: it demands more than they */
    }
    read_policies(kube, request);
    read_weights(kube, request);
}
