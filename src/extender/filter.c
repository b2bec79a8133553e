/* SPDX-License-Identifier: Apache-2.0 */
/* filter - which of the nodes asked about can take the pod, and why the others cannot. */
#include "listing.h"
#include "pod_events.h"
#include "topofit/mem.h"

#include <stdlib.h>

/* What came out, counted and noted. */
struct tally {
    struct sorted_answers sorted;
    struct decision decision;
};

static void tally_clear(struct tally *tally)
{
    sorted_answers_clear(&tally->sorted);
    decision_clear(&tally->decision);
}

static void tell(const struct observer *observer, const struct tally *tally)
{
    for (unsigned r = 0; observer->on_filtered != NULL && r < REASON_COUNT; r++) {
        if (tally->decision.by_reason[r] > 0)
            observer->on_filtered(observer->ctx, (enum reason)r, tally->decision.by_reason[r]);
    }
}

/* The first ones in the order of the call, whatever could cure them. */
static void note_refusals(const struct call *call, const struct sorted_answers *sorted,
                          struct decision *out)
{
    const uint32_t *now = sorted->positions[NODE_REFUSED_FOR_NOW];
    const uint32_t *now_end = now + sorted->counts[NODE_REFUSED_FOR_NOW];
    const uint32_t *never = sorted->positions[NODE_REFUSED];
    const uint32_t *never_end = never + sorted->counts[NODE_REFUSED];
    size_t most = sorted->counts[NODE_KEPT] > 0 ? HISTORY_NODES_KEPT_MAX : HISTORY_NODES_MAX;

    while ((now < now_end || never < never_end) && out->refusal_count < most) {
        bool is_now = never == never_end || (now < now_end && *now < *never);
        size_t i = is_now ? *now++ : *never++;
        struct name_slice name = extender_args_name(&call->args, i);

        decision_add_refusal(out, name.text, name.length, considered_of(call->answers[i])->outcome);
    }
}

static void count_reasons(const struct sorted_answers *sorted, unsigned by_reason[REASON_COUNT])
{
    by_reason[REASON_OK] = (unsigned)sorted->counts[NODE_KEPT];
    for (enum node_fate fate = NODE_REFUSED_FOR_NOW; fate < NODE_FATES; fate++) {
        for (size_t k = 0; k < sorted->counts[fate]; k++)
            by_reason[considered_of(sorted->answers[sorted->positions[fate][k]])->reason]++;
    }
}

static void expect_kept(struct extender *extender, const struct call *call,
                        const struct sorted_answers *sorted)
{
    size_t count = sorted->counts[NODE_KEPT];
    AUTO(expected_nodes_clear) struct expected_nodes expected = {0};

    if (call->kind == NULL)
        return;
    expected.names = name_table_ref(call->snapshot->names);
    expected.positions = xreallocarray(NULL, count, sizeof *expected.positions);
    expected.count = count;
    for (size_t k = 0; k < count; k++)
        expected.positions[k] = call->positions[sorted->positions[NODE_KEPT][k]];
    recall_expect(extender->recall, &expected);
}

static void consider_all(struct extender *extender, struct call *call, struct tally *tally)
{
    call_consider(extender, call);
    sorted_answers_init(&tally->sorted, call->answers, call->count);
    count_reasons(&tally->sorted, tally->decision.by_reason);
    note_refusals(call, &tally->sorted, &tally->decision);
    expect_kept(extender, call, &tally->sorted);
    tell(&extender->observer, tally);
}

/*
 * Leave the best of the kept nodes alone in the answer: for a kube-scheduler that does not ask
 * prioritize.
 */
static void keep_best(struct extender *extender, struct call *call, struct tally *tally)
{
    AUTO(listing_clear) struct listing listing = {0};
    uint32_t *kept = tally->sorted.positions[NODE_KEPT];
    size_t count = tally->sorted.counts[NODE_KEPT];
    uint32_t best;

    if (count == 0)
        return;
    listing_make(extender, call, &listing);
    best = kept[0];
    for (size_t k = 1; k < count; k++) {
        if (listing.nodes[kept[k]].score_0_10 > listing.nodes[best].score_0_10)
            best = kept[k];
    }
    tell_fitting(extender, call, &listing, call->count - count);
    kept[0] = best;
    tally->sorted.counts[NODE_KEPT] = 1;
}

/* A pod that asks for no device passes everywhere: it is none of our business. */
static void keep_all(struct call *call, struct tally *tally)
{
    static const struct node_answer kept = {.fate = NODE_KEPT};

    call->answers = xreallocarray(NULL, call->count + 1, sizeof(*call->answers));
    for (size_t i = 0; i < call->count; i++)
        call->answers[i] = &kept;
    sorted_answers_init(&tally->sorted, call->answers, call->count);
}

int extender_filter(struct extender *extender, const char *bytes, size_t length, struct moment now,
                    struct buf *out, struct error *err)
{
    AUTO(call_clear) struct call call = {0};
    AUTO(tally_clear) struct tally tally = {0};

    if (call_open(extender, bytes, length, now, NULL, &call, err) < 0)
        return -(int)err->code;
    if (call.trouble.code != ERR_NONE) {
        extender_json_write_filter_error(out, call.trouble.text);
        return 0;
    }
    tally.decision.pod = pod_ref(call.pod);
    tally.decision.unix_ms = now.unix_ms;
    tally.decision.monotonic_ms = now.monotonic_ms;
    tally.decision.considered = (unsigned)call.count;
    tally.decision.version = call.snapshot->version;
    if (!request_wants_devices(&call.pod->request))
        keep_all(&call, &tally);
    else
        consider_all(extender, &call, &tally);
    tally.decision.kept = (unsigned)tally.sorted.counts[NODE_KEPT];
    if (extender->options.answers_best && request_wants_devices(&call.pod->request))
        keep_best(extender, &call, &tally);
    if (tally.decision.kept == 0 && call.count > 0)
        tell_unplaced(extender, &tally.decision);
    /* Also of a pod without devices: its bind call may come before the watch shows it. */
    history_put(extender->history, &tally.decision);
    extender_json_write_filter_result(out, &call.args, &tally.sorted);
    return 0;
}
