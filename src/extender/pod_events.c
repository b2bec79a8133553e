/* SPDX-License-Identifier: Apache-2.0 */
/* pod_events - what is told about a pod for people to read. */
#include "pod_events.h"

#include "topofit/event_json.h"
#include "topofit/hami_reason.h"
#include "topofit/mem.h"

#include <string.h>

#define FITTING_TOLD 3 /* nodes that fit, the best ones */
#define NODES_TOLD 5   /* names of a reason in HAMi's words: a note is no list of the cluster */

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

static void tell_devices(const struct extender *extender, const struct pod *pod)
{
    AUTO(buf_clear) struct buf note = buf_with_max(64 * 1024);
    AUTO(holding_view_clear) struct holding_view holding = {0};

    if (!cluster_find_holding(extender->cluster, pod->uid, &holding) || !holding.has_allocation)
        return;
    buf_addf(&note, "on node %s, worst link tier %d", holding.node, (int)holding.allocation.tier);
    list_devices(&holding.allocation, &note);
    tell(extender,
         &(struct pod_event){
             .pod = pod, .reason = "GPUsAssigned", .action = "Binding", .note = buf_text(&note)});
}

/* --- why not --------------------------------------------------------------------------------- */

static void list_reasons(const unsigned by_reason[REASON_COUNT], struct buf *note)
{
    const char *before = ": ";

    for (unsigned r = 0; r < REASON_COUNT; r++) {
        if (by_reason[r] == 0 || r == REASON_OK)
            continue;
        buf_addf(note, "%s%u %s", before, by_reason[r], reason_name((enum reason)r));
        before = ", ";
    }
}

static void tell_reasons(const struct extender *extender, const struct decision *decision)
{
    AUTO(buf_clear) struct buf note = buf_with_max(EVENT_NOTE_MAX_BYTES);

    buf_addf(&note, "none of %u nodes fits", decision->considered);
    list_reasons(decision->by_reason, &note);
    tell(extender, &(struct pod_event){.pod = decision->pod,
                                       .is_warning = true,
                                       .reason = "NoNodeFits",
                                       .action = "Filtering",
                                       .note = buf_text(&note)});
}

/* --- in HAMi's words ------------------------------------------------------------------------- */

static bool same_word(enum reason reason, const char *word)
{
    return strcmp(hami_reason_word(reason), word) == 0;
}

/* Was the word there already, for an earlier reason? Several reasons of ours are one of HAMi's. */
static bool is_repeated(unsigned reason, const unsigned by_reason[REASON_COUNT])
{
    for (unsigned r = 0; r < reason; r++) {
        if (by_reason[r] > 0 && r != REASON_OK &&
            same_word((enum reason)r, hami_reason_word((enum reason)reason)))
            return true;
    }
    return false;
}

/* The first nodes that were refused with a word, sorted as they came: "node-a,node-b,...". */
static void list_refused(const struct decision *decision, const char *word, size_t nodes,
                         struct buf *note)
{
    size_t listed = 0;

    for (size_t i = 0; i < decision->refusal_count && listed < NODES_TOLD; i++) {
        if (!same_word(decision->refusals[i].outcome->reason, word))
            continue;
        buf_addf(note, "%s%s", listed > 0 ? "," : "", decision_refused_node(decision, i));
        listed++;
    }
    if (listed < nodes)
        buf_add_text(note, listed > 0 ? ",..." : "...");
}

/* "no available node, 3 nodes do not meet; 2 nodes CardInsufficientMemory(a,b); 1 nodes ..." */
static void tell_reasons_as_hami(const struct extender *extender, const struct decision *decision)
{
    const unsigned *by_reason = decision->by_reason;
    AUTO(buf_clear) struct buf note = buf_with_max(64 * 1024);

    buf_addf(&note, "no available node, %u nodes do not meet", decision->considered);
    for (unsigned r = 0; r < REASON_COUNT; r++) {
        const char *word = hami_reason_word((enum reason)r);
        size_t nodes = 0;

        if (by_reason[r] == 0 || r == REASON_OK || is_repeated(r, by_reason))
            continue;
        for (unsigned other = r; other < REASON_COUNT; other++)
            nodes += same_word((enum reason)other, word) ? by_reason[other] : 0;
        buf_addf(&note, "; %zu nodes %s(", nodes, word);
        list_refused(decision, word, nodes, &note);
        buf_add_byte(&note, ')');
    }
    tell(extender, &(struct pod_event){.pod = decision->pod,
                                       .is_warning = true,
                                       .reason = "FilteringFailed",
                                       .action = "Filtering",
                                       .note = buf_text(&note)});
}

static void tell_bound_as_hami(const struct extender *extender, const struct pod *pod,
                               const char *node)
{
    AUTO(buf_clear) struct buf note = buf_with_max(EVENT_NOTE_MAX_BYTES);

    buf_addf(&note, "Successfully binding node [%s] to %s/%s", node, pod->namespace, pod->name);
    tell(extender,
         &(struct pod_event){
             .pod = pod, .reason = "BindingSucceed", .action = "Binding", .note = buf_text(&note)});
}

/* The best nodes, the last one first: 0 is the best. return how many there are. */
static size_t find_best(const struct call *call, const struct listing *listing,
                        size_t best[FITTING_TOLD], size_t *fitting)
{
    size_t count = 0;

    *fitting = 0;
    for (size_t i = 0; i < call->count; i++) {
        size_t at;

        if (listing->nodes[i].score_0_10 == 0)
            continue;
        (*fitting)++;
        at = count;
        while (at > 0 && listing->nodes[best[at - 1]].score_0_10 < listing->nodes[i].score_0_10)
            at--;
        if (at == FITTING_TOLD)
            continue;
        count += count < FITTING_TOLD;
        memmove(&best[at + 1], &best[at], (count - at - 1) * sizeof *best);
        best[at] = i;
    }
    return count;
}

/* "find fit node(n1), 2 nodes not fit, 7 nodes fit(...,n3:4.00,n2:7.00,n1:10.00)" */
static void tell_fitting_as_hami(const struct extender *extender, const struct call *call,
                                 const struct listing *listing, size_t unfit)
{
    AUTO(buf_clear) struct buf note = buf_with_max(4096);
    size_t best[FITTING_TOLD], fitting;
    size_t count = find_best(call, listing, best, &fitting);
    struct name_slice name;

    if (count == 0)
        return;
    name = extender_args_name(&call->args, best[0]);
    buf_addf(&note, "find fit node(%.*s), %zu nodes not fit, %zu nodes fit(", (int)name.length,
             name.text, unfit, fitting);
    buf_add_text(&note, fitting > count ? "...," : "");
    while (count-- > 0) {
        name = extender_args_name(&call->args, best[count]);
        buf_addf(&note, "%.*s:%d.00%s", (int)name.length, name.text,
                 (int)listing->nodes[best[count]].score_0_10, count > 0 ? "," : ")");
    }
    tell(extender, &(struct pod_event){.pod = call->pod,
                                       .reason = "FilteringSucceed",
                                       .action = "Filtering",
                                       .note = buf_text(&note)});
}

/* --- what is told ---------------------------------------------------------------------------- */

static bool speaks_hami(const struct extender *extender)
{
    return extender->options.event_words == EVENT_WORDS_HAMI;
}

void tell_assigned(const struct extender *extender, const struct pod *pod, const char *node)
{
    if (!is_watched(extender, pod))
        return;
    if (speaks_hami(extender))
        tell_bound_as_hami(extender, pod, node);
    else
        tell_devices(extender, pod);
}

void tell_bind_failed(const struct extender *extender, const struct pod *pod, const char *why)
{
    if (speaks_hami(extender) && is_watched(extender, pod))
        tell(extender, &(struct pod_event){.pod = pod,
                                           .is_warning = true,
                                           .reason = "BindingFailed",
                                           .action = "Binding",
                                           .note = why});
}

void tell_fitting(const struct extender *extender, const struct call *call,
                  const struct listing *listing, size_t unfit)
{
    if (speaks_hami(extender) && is_watched(extender, call->pod))
        tell_fitting_as_hami(extender, call, listing, unfit);
}

void tell_unplaced(const struct extender *extender, const struct decision *decision)
{
    if (!is_watched(extender, decision->pod))
        return;
    if (speaks_hami(extender))
        tell_reasons_as_hami(extender, decision);
    else
        tell_reasons(extender, decision);
}
