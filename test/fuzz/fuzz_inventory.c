/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any inventory and cordon list (separated by a line "--"): a node that keeps its invariants, and a
 * plan on it that the ledger's sums can bear.
 */
#include "topofit/class.h"
#include "topofit/decide.h"
#include "topofit/dialect.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SEPARATOR "\n--\n"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_node(const struct node *node)
{
    assert(node->device_count <= DEVICE_MAX);
    assert(node->graph != NULL && node->graph->n == node->device_count);
    assert(node->has_inventory || node->device_count == 0);
    for (unsigned i = 0; i < node->device_count; i++) {
        const struct device *device = &node->devices[i];

        assert(device->id[0] != '\0' && device->class != NULL);
        assert(node_find_device(node, device->id) == (int)i);
        assert(i == 0 || node->devices[i - 1].index <= device->index);
    }
}

static void check_plan(const struct node *node, const struct class_table *classes)
{
    AUTO(request_clear) struct request request = {0};
    AUTO(allocation_clear) struct allocation record = {0};
    const struct ask ask = {.class = &classes->items[0], .count = 1};
    struct decide_policy policy = decide_policy_default();
    struct node_use use = {.device_count = node->device_count};
    struct grant grants[DEVICE_MAX];
    struct verdict verdict;
    struct plan plan;
    size_t count;

    request_add_container(&request, "main", CONTAINER_APP);
    request_add_ask(&request, &ask);
    decide_node(node, &use, &request, &policy, NULL, &plan, &verdict);
    if (verdict.reason != REASON_OK)
        return;
    plan_allocation(&plan, node, &request, &record);
    count = allocation_grants(&record, true, grants, ARRAY_LEN(grants));
    assert(count == 1 && grants[0].memory_mib > 0 && grants[0].slots == 1);
    node_use_add(&use, node, &grants[0]);
    for (unsigned i = 0; i < use.device_count; i++)
        assert(!use.devices[i].conflicted);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO_FREE char *text = xstrndup((const char *)bytes, size);
    static struct class_table classes; /* read once: that takes longer than all the rest */
    AUTO(kube_node_clear) struct kube_node kube;
    AUTO(node_unref_pointer) struct node *node = NULL;
    char *separator = strstr(text, SEPARATOR);

    if (classes.count == 0)
        classes_builtin(&classes);
    kube_node_init(&kube);
    if (separator != NULL) {
        *separator = '\0';
        kube_pairs_add(&kube.meta.annotations, "topofit.io/cordoned-devices",
                       separator + strlen(SEPARATOR));
    }
    kube_pairs_add(&kube.meta.annotations, "topofit.io/inventory", text);
    node = dialect_node(&kube, &classes);
    check_node(node);
    check_plan(node, &classes);
    return 0;
}
