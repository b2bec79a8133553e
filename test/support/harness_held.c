/* SPDX-License-Identifier: Apache-2.0 */
/* harness_held - what the daemon under test says is held, by whom and why not. */
#include "support/harness.h"

#include "topofit/views.h"

#include <stdlib.h>

#define VIEW_MAX (4u << 20)

static const char *uid_of(const struct harness *harness, const char *pod)
{
    const json_t *metadata = json_object_get(api_pod_json(harness, pod), "metadata");

    return json_string_value(json_object_get(metadata, "uid"));
}

static struct holding_view holding_of(const struct harness *harness, const char *pod)
{
    struct holding_view view = {0};

    if (!cluster_find_holding(harness->cluster, uid_of(harness, pod), &view))
        fail_msg("%s holds nothing", pod);
    return view;
}

bool holds(const struct harness *harness, const char *pod)
{
    AUTO(holding_view_clear) struct holding_view view = {0};

    return cluster_find_holding(harness->cluster, uid_of(harness, pod), &view);
}

/* GPU-<node>-<index>: devices of the harness stand at the position of their index. */
static unsigned index_of(const char *id)
{
    const char *dash = strrchr(id, '-');

    assert_non_null(dash);
    return (unsigned)strtoul(dash + 1, NULL, 10);
}

device_mask devices_of(const struct harness *harness, const char *pod)
{
    AUTO(holding_view_clear) struct holding_view view = holding_of(harness, pod);
    device_mask all = 0;

    for (size_t c = 0; c < view.allocation.container_count; c++) {
        const struct allocated_container *container = &view.allocation.containers[c];
        device_mask own = 0;

        for (size_t k = 0; k < container->device_count; k++) {
            unsigned device = index_of(container->devices[k].id);

            assert_false(mask_has(own, device));
            own |= mask_of(device);
        }
        all |= own;
    }
    return all;
}

unsigned device_of(const struct harness *harness, const char *pod)
{
    device_mask devices = devices_of(harness, pod);

    assert_int_equal(mask_count(devices), 1);
    return mask_first(devices);
}

uint64_t recorded_mib(const struct harness *harness, const char *pod, unsigned device)
{
    AUTO(holding_view_clear) struct holding_view view = holding_of(harness, pod);
    uint64_t sum = 0;

    for (size_t c = 0; c < view.allocation.container_count; c++) {
        const struct allocated_container *container = &view.allocation.containers[c];

        for (size_t k = 0; k < container->device_count; k++) {
            if (index_of(container->devices[k].id) == device)
                sum += container->devices[k].memory_mib;
        }
    }
    return sum;
}

struct device_use use_of(const struct harness *harness, const char *node, unsigned device)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(harness->cluster);
    const struct node_state *state = snapshot_find(snapshot, node);

    assert_non_null(state);
    assert_true(device < state->use.device_count);
    return state->use.devices[device];
}

/* Of both amounts, over all devices of a node. */
static struct device_use sum_use(const struct harness *harness, const char *node)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(harness->cluster);
    const struct node_state *state = snapshot_find(snapshot, node);
    struct device_use sum = {0};

    assert_non_null(state);
    for (unsigned i = 0; i < state->use.device_count; i++) {
        const struct device_use *use = &state->use.devices[i];

        assert_true(use->memory_mib <= state->node->devices[i].memory_mib);
        assert_true(use->cores <= state->node->devices[i].cores);
        sum.memory_mib += use->memory_mib;
        sum.cores += use->cores;
    }
    return sum;
}

uint64_t used_mib(const struct harness *harness, const char *node)
{
    return sum_use(harness, node).memory_mib;
}

uint64_t used_cores(const struct harness *harness, const char *node)
{
    return sum_use(harness, node).cores;
}

char *detail_of(const struct harness *harness, const char *pod, const char *node)
{
    AUTO(decision_clear) struct decision decision = {0};

    if (!history_find(harness->extender.history, "default", pod, &decision))
        fail_msg("no decision about %s is remembered", pod);
    for (size_t i = 0; i < decision.refusal_count; i++) {
        char detail[320];

        if (strcmp(decision_refused_node(&decision, i), node) != 0)
            continue;
        outcome_describe(decision.refusals[i].outcome, detail, sizeof detail);
        return xstrdup(detail);
    }
    fail_msg("%s was not refused on %s", pod, node);
    return NULL;
}

static json_t *read_view(const struct buf *text)
{
    json_error_t where;
    json_t *view = json_loads(buf_text(text), JSON_REJECT_DUPLICATES, &where);

    if (view == NULL)
        fail_msg("the view is not JSON: %s", where.text);
    return view;
}

json_t *pod_view(const struct harness *harness, const char *pod)
{
    AUTO(buf_clear) struct buf out = buf_with_max(VIEW_MAX);
    struct extender extender = harness->extender;
    struct error err = {0};

    assert_ok(view_pod(&extender, "default", pod, (struct moment){0}, VIEW_JSON, &out, &err), &err);
    return read_view(&out);
}

json_t *node_view(const struct harness *harness, const char *node)
{
    AUTO(buf_clear) struct buf out = buf_with_max(VIEW_MAX);
    struct extender extender = harness->extender;
    struct error err = {0};

    assert_ok(view_node(&extender, node, (struct moment){0}, VIEW_JSON, &out, &err), &err);
    return read_view(&out);
}
