/* SPDX-License-Identifier: Apache-2.0 */
/* native - topofit's own annotations (domain topofit.io). docs/reference/annotations.md */
#include "cordon.h"
#include "demand.h"
#include "native_node.h"
#include "native_record.h"
#include "native_topology.h"
#include "topofit/dialect.h"
#include "topofit/mem.h"

#include <stddef.h>
#include <string.h>

/* --- demands of pods ------------------------------------------------------------------------- */

static void set_mode(struct request *request, int value)
{
    request->topology.has_mode = true;
    request->topology.mode = (enum topology_mode)value;
}

static void set_max_tier(struct request *request, int value)
{
    request->topology.has_max_tier = true;
    request->topology.max_tier = (enum tier)value;
}

static void set_source(struct request *request, int value)
{
    request->topology.has_source = true;
    request->topology.source = (enum topology_source)value;
}

static void set_isolation(struct request *request, int value)
{
    request->isolation = (enum isolation_mode)value;
}

static void set_service(struct request *request, int value)
{
    request->service = (enum service)value;
}

static void set_application(struct request *request, int value)
{
    request->application = (enum application)value;
}

static void set_packing(struct request *request, int value)
{
    request->has_packing = true;
    request->packing = (enum packing_policy)value;
}

static const struct demand_choice choices[] = {
    {"topofit.io/topology",
     "hard, soft or off",
     {{"hard", TOPOLOGY_HARD}, {"soft", TOPOLOGY_SOFT}, {"off", TOPOLOGY_OFF}},
     set_mode},
    {"topofit.io/topology-max-tier",
     "0, 1 or 2",
     {{"0", TIER_INTERCONNECT}, {"1", TIER_NUMA}, {"2", TIER_CROSS}},
     set_max_tier},
    {"topofit.io/topology-source",
     "auto, vendor or numa",
     {{"auto", SOURCE_AUTO}, {"vendor", SOURCE_VENDOR}, {"numa", SOURCE_NUMA}},
     set_source},
    {"topofit.io/isolation",
     "soft, hard, partitioned or shared",
     {{"soft", ISOLATION_SOFT},
      {"hard", ISOLATION_HARD},
      {"partitioned", ISOLATION_PARTITIONED},
      {"shared", ISOLATION_SHARED}},
     set_isolation},
    {"topofit.io/service-class",
     "best-effort, fixed-share or burst-share",
     {{"best-effort", SERVICE_BEST_EFFORT},
      {"fixed-share", SERVICE_FIXED_SHARE},
      {"burst-share", SERVICE_BURST_SHARE}},
     set_service},
    {"topofit.io/application-class",
     "online or offline",
     {{"online", APPLICATION_ONLINE}, {"offline", APPLICATION_OFFLINE}},
     set_application},
    {"topofit.io/packing-policy",
     "pack, spread or topology-first",
     {
#define X(name, policy) {name, policy},
         PACKING_POLICIES(X)
#undef X
     },
     set_packing},
};

/* An annotation that lists words. One of nothing but commas is as if it were not there. */
struct list {
    const char *key;
    size_t offset; /* of its struct word_list in struct request */
};

static const struct list lists[] = {
    {"topofit.io/use-devices", offsetof(struct request, use_devices)},
    {"topofit.io/avoid-devices", offsetof(struct request, avoid_devices)},
    {"topofit.io/use-products", offsetof(struct request, use_products)},
    {"topofit.io/avoid-products", offsetof(struct request, avoid_products)},
};

static void read_list(const struct list *list, const char *value, struct request *request)
{
    demand_words(list->key, value, (struct word_list *)((char *)request + list->offset), request);
}

static void read_demands(const struct kube_pod *kube, struct request *request)
{
    for (size_t i = 0; i < ARRAY_LEN(choices); i++) {
        const char *value = kube_pairs_get(&kube->meta.annotations, choices[i].key);

        if (value != NULL)
            demand_choose(&choices[i], value, request);
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const char *value = kube_pairs_get(&kube->meta.annotations, lists[i].key);

        if (value != NULL)
            read_list(&lists[i], value, request);
    }
}

static const char *const annotations[] = {
    KEY_INVENTORY,
    KEY_TOPOLOGY,
    KEY_CORDONED,
    KEY_PLUGIN,
    "topofit.io/topology-max-tier",
    "topofit.io/topology-source",
    "topofit.io/isolation",
    "topofit.io/packing-policy",
    "topofit.io/service-class",
    "topofit.io/application-class",
    "topofit.io/use-devices",
    "topofit.io/avoid-devices",
    "topofit.io/use-products",
    "topofit.io/avoid-products",
    KEY_ALLOCATION,
    KEY_DEVICES_PREFIX,
    NULL,
};

const struct dialect dialect_native = {
    .name = "native",
    .annotations = annotations,
    .read_node = native_read_node,
    .read_demands = read_demands,
    .read_record = native_read_record,
    .is_record_key = native_is_record_key,
    .record_key = KEY_ALLOCATION,
    .write_record = native_write_record,
};
