/* SPDX-License-Identifier: Apache-2.0 */
/* pod_events - what is told about a pod for people to read. */
#include "pod_events.h"

#include "topofit/mem.h"

#define NOTE_MAX_BYTES 1024 /* the API server takes no more */

static bool is_watched(const struct extender *extender, const struct pod *pod)
{
    AUTO(pod_unref_pointer)
    struct pod *known = cluster_find_pod_by_uid(extender->cluster, pod->uid);

    return extender->observer.on_event != NULL && known != NULL;
}

static void tell(const struct extender *extender, const struct pod_event *event)
{
    extender->observer.on_event(extender->observer.ctx, event);
}

/* ": main GPU-a, GPU-b; side GPU-c" */
static void list_devices(const struct allocation *allocation, struct buf *out)
{
    const char *before = ": ";

    for (size_t c = 0; c < allocation->container_count; c++) {
        const struct allocated_container *container = &allocation->containers[c];

        for (size_t d = 0; d < container->device_count; d++) {
            if (d == 0)
                buf_addf(out, "%s%s ", before, container->name);
            buf_addf(out, "%s%s", d > 0 ? ", " : "", container->devices[d].id);
            before = "; ";
        }
    }
}

void tell_assigned(const struct extender *extender, const struct pod *pod)
{
    AUTO(buf_clear) struct buf note = buf_with_max(64 * 1024);
    AUTO(holding_view_clear) struct holding_view holding = {0};

    if (!is_watched(extender, pod) ||
        !cluster_find_holding(extender->cluster, pod->uid, &holding) || !holding.has_allocation)
        return;
    buf_addf(&note, "on node %s, worst link tier %d", holding.node, (int)holding.allocation.tier);
    list_devices(&holding.allocation, &note);
    tell(extender,
         &(struct pod_event){
             .pod = pod, .reason = "GPUsAssigned", .action = "Binding", .note = buf_text(&note)});
}

void tell_unplaced(const struct extender *extender, const struct pod *pod,
                   const size_t by_reason[REASON_COUNT], size_t nodes)
{
    AUTO(buf_clear) struct buf note = buf_with_max(NOTE_MAX_BYTES);
    const char *before = ": ";

    if (!is_watched(extender, pod))
        return;
    buf_addf(&note, "none of %zu nodes fits", nodes);
    for (unsigned r = 0; r < REASON_COUNT; r++) {
        if (by_reason[r] == 0 || r == REASON_OK)
            continue;
        buf_addf(&note, "%s%zu %s", before, by_reason[r], reason_name((enum reason)r));
        before = ", ";
    }
    tell(extender, &(struct pod_event){.pod = pod,
                                       .is_warning = true,
                                       .reason = "NoNodeFits",
                                       .action = "Filtering",
                                       .note = buf_text(&note)});
}
