/* SPDX-License-Identifier: Apache-2.0 */
/* filter - which of the nodes asked about can take the pod, and why the others cannot. */
#include "call.h"
#include "pod_events.h"
#include "topofit/mem.h"

#include <stdlib.h>

/* What came out, counted and noted. */
struct tally {
    size_t by_reason[REASON_COUNT];
    struct decision decision;
};

static void tally_clear(struct tally *tally)
{
    decision_clear(&tally->decision);
}

static void tell(const struct observer *observer, const struct tally *tally)
{
    for (unsigned r = 0; observer->on_filtered != NULL && r < REASON_COUNT; r++) {
        if (tally->by_reason[r] > 0)
            observer->on_filtered(observer->ctx, (enum reason)r, tally->by_reason[r]);
    }
}

static void note_refusals(const struct call *call, struct decision *out)
{
    for (size_t i = 0; i < call->count && out->refusal_count < HISTORY_NODES_MAX; i++) {
        const struct considered *considered = considered_of(call->answers[i]);
        struct name_slice name = extender_args_name(&call->args, i);

        if (considered->reason != REASON_OK)
            decision_add_refusal(out, name.text, name.length, considered->outcome);
    }
}

static void consider_all(struct extender *extender, struct call *call, struct tally *tally)
{
    call_consider(extender, call);
    for (size_t i = 0; i < call->count; i++)
        tally->by_reason[considered_of(call->answers[i])->reason]++;
    tally->decision.kept = (unsigned)tally->by_reason[REASON_OK];
    note_refusals(call, &tally->decision);
    tell(&extender->observer, tally);
}

/* A pod that asks for no device passes everywhere: it is none of our business. */
static void keep_all(struct call *call, struct tally *tally)
{
    static const struct node_answer kept = {.fate = NODE_KEPT};

    call->answers = xreallocarray(NULL, call->count + 1, sizeof(*call->answers));
    for (size_t i = 0; i < call->count; i++)
        call->answers[i] = &kept;
    tally->decision.kept = (unsigned)call->count;
}

int extender_filter(struct extender *extender, const char *bytes, size_t length, struct moment now,
                    struct buf *out, struct error *err)
{
    AUTO(call_clear) struct call call = {0};
    AUTO(tally_clear) struct tally tally = {0};

    if (call_open(extender, bytes, length, &call, err) < 0)
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
    if (tally.decision.kept == 0 && call.count > 0)
        tell_unplaced(extender, &tally.decision, tally.by_reason);
    /* Also of a pod without devices: its bind call may come before the watch shows it. */
    history_put(extender->history, &tally.decision);
    extender_json_write_filter_result(out, &call.args, call.answers);
    return 0;
}
