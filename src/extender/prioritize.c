/* SPDX-License-Identifier: Apache-2.0 */
/* prioritize - how good each of the nodes asked about is for the pod. */
#include "listing.h"
#include "pod_events.h"
#include "topofit/mem.h"

static void write_scores(const struct call *call, const struct listing *listing, struct buf *out)
{
    AUTO_FREE uint8_t *scores = xcalloc(call->count + 1, sizeof *scores);

    for (size_t i = 0; i < call->count; i++)
        scores[i] = (uint8_t)listing->nodes[i].score_0_10;
    extender_json_write_scores(out, &call->args, scores);
}

/* The next call is likely to be about the same nodes. */
static void expect_same(struct extender *extender, struct call *call)
{
    AUTO(expected_nodes_clear) struct expected_nodes expected = {0};

    if (call->kind == NULL)
        return;
    expected.names = name_table_ref(call->snapshot->names);
    expected.positions = steal_ptr(&call->positions);
    expected.count = call->count;
    recall_expect(extender->recall, &expected);
}

/* How many nodes filter refused, for who is told of those that are left. */
static void tell_ranked(const struct extender *extender, const struct call *call,
                        const struct listing *listing)
{
    struct decision decision;

    if (extender->options.event_words != EVENT_WORDS_HAMI || call->count == 0 ||
        !history_find_by_uid(extender->history, call->pod->uid, &decision))
        return;
    tell_fitting(extender, call, listing, decision.considered - decision.kept);
    decision_clear(&decision);
}

int extender_prioritize(struct extender *extender, const char *bytes, size_t length,
                        struct moment now, struct buf *out, struct error *err)
{
    AUTO(call_clear) struct call call = {0};
    AUTO(listing_clear) struct listing listing = {0};
    AUTO(expected_nodes_clear)
    struct expected_nodes expected = recall_take_expected(extender->recall);

    if (call_open(extender, bytes, length, now, &expected, &call, err) < 0)
        return -(int)err->code;
    /* The answer has no place for a text: a failed call makes kube-scheduler go on without us. */
    if (call.trouble.code != ERR_NONE)
        return error_set(err, call.trouble.code, "%s", call.trouble.text);
    listing_make(extender, &call, &listing);
    tell_ranked(extender, &call, &listing);
    write_scores(&call, &listing, out);
    expect_same(extender, &call);
    return 0;
}
