/* SPDX-License-Identifier: Apache-2.0 */
/* filter - which of the nodes asked about can take the pod, and why the others cannot. */
#include "call.h"
#include "pod_events.h"
#include "topofit/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 320

/* The answer being put together. */
struct answer {
    struct filtered_node *nodes; /* [count] */
    char **texts;                /* [count] owned reason texts, or NULL */
    size_t count;
    size_t by_reason[REASON_COUNT];
    struct decision decision;
};

static void answer_clear(struct answer *answer)
{
    for (size_t i = 0; i < answer->count; i++)
        free(answer->texts[i]);
    free(answer->texts);
    free(answer->nodes);
    decision_clear(&answer->decision);
}

/* The products of a node, each once. */
static void list_products(const struct node *node, struct buf *out)
{
    for (unsigned i = 0; i < node->device_count; i++) {
        const char *product = node->devices[i].product->chars;
        bool seen = false;

        for (unsigned k = 0; k < i && !seen; k++)
            seen = strcmp(node->devices[k].product->chars, product) == 0;
        if (!seen)
            buf_addf(out, "%s%s", out->length > 0 ? ", " : "", product[0] ? product : "no name");
    }
}

static char *product_text(const struct request *request, const struct node *node)
{
    AUTO(buf_clear) struct buf found = buf_with_max(TEXT_MAX);
    AUTO(buf_clear) struct buf wanted = buf_with_max(TEXT_MAX);
    char words[101];

    list_products(node, &found);
    word_list_join(&request->use_products, words, sizeof words);
    buf_add_text(&wanted, words);
    word_list_join(&request->avoid_products, words, sizeof words);
    if (words[0] != '\0')
        buf_addf(&wanted, "%snot %s", wanted.length > 0 ? " and " : "", words);
    return xasprintf("%s: wanted %s, node has %s", reason_text(REASON_PRODUCT), buf_text(&wanted),
                     buf_text(&found));
}

/*
 * The text for kube-scheduler: the reason's own, with what never changes while pod and node stay
 * as they are. Numbers stay out: a text that changes is retried at once (facts in
 * docs/reference/reasons.md).
 */
static char *refusal_text(const struct request *request, const struct called_node *called,
                          const struct verdict *verdict)
{
    const char *text = reason_text(verdict->reason);

    if (verdict->reason == REASON_BAD_REQUEST)
        return xasprintf("%s: %.280s", text, request->problem);
    if (verdict->reason == REASON_PRODUCT)
        return product_text(request, called->node);
    if (verdict->reason == REASON_TOPOLOGY || verdict->reason == REASON_TOPOLOGY_NEVER)
        return xasprintf("%s (maxAllowed=%d)", text, (int)verdict->allowed_tier);
    return xstrdup(text);
}

static void note_refusal(struct decision *decision, const struct call *call,
                         const struct called_node *called, const struct verdict *verdict)
{
    char detail[TEXT_MAX];

    if (decision->refusal_count == HISTORY_NODES_MAX)
        return;
    if (verdict->reason == REASON_BAD_REQUEST)
        snprintf(detail, sizeof detail, "%s", call->pod->request.problem);
    else if (called->node == NULL || verdict->reason == REASON_UNSETTLED)
        snprintf(detail, sizeof detail, "%s", reason_text(verdict->reason));
    else
        verdict_describe(verdict, called->node, detail, sizeof detail);
    decision->refusals[decision->refusal_count++] = (struct refusal){
        .node = xstrdup(called->name), .reason = verdict->reason, .detail = xstrdup(detail)};
}

static void consider(struct extender *extender, const struct call *call, size_t i,
                     struct answer *answer)
{
    AUTO(called_node_clear) struct called_node called = {0};
    struct filtered_node *node = &answer->nodes[i];
    struct verdict verdict;
    struct plan plan;

    call_node(extender, call, i, &called);
    node->name = called.name;
    call_decide(extender, call, &called, &plan, &verdict);
    answer->by_reason[verdict.reason]++;
    if (verdict.reason == REASON_OK) {
        answer->decision.kept++;
        return;
    }
    answer->texts[i] = refusal_text(&call->pod->request, &called, &verdict);
    node->reason = answer->texts[i];
    node->curable = extender->options.answer_failed_nodes && reason_is_curable(verdict.reason);
    note_refusal(&answer->decision, call, &called, &verdict);
}

static void tell(const struct observer *observer, const struct answer *answer)
{
    for (unsigned r = 0; observer->on_filtered != NULL && r < REASON_COUNT; r++) {
        if (answer->by_reason[r] > 0)
            observer->on_filtered(observer->ctx, (enum reason)r, answer->by_reason[r]);
    }
}

static void consider_all(struct extender *extender, const struct call *call, struct answer *answer)
{
    answer->decision.refusals = xcalloc(HISTORY_NODES_MAX, sizeof *answer->decision.refusals);
    for (size_t i = 0; i < call->count; i++)
        consider(extender, call, i, answer);
    tell(&extender->observer, answer);
}

/* A pod that asks for no device passes everywhere: it is none of our business. */
static void keep_all(const struct call *call, struct answer *answer)
{
    answer->decision.kept = (unsigned)answer->count;
    for (size_t i = 0; i < answer->count; i++)
        answer->nodes[i].name = call_name(call, i);
}

int extender_filter(struct extender *extender, const char *bytes, size_t length, struct moment now,
                    struct buf *out, struct error *err)
{
    AUTO(call_clear) struct call call = {0};
    AUTO(answer_clear) struct answer answer = {0};

    if (call_open(extender, bytes, length, &call, err) < 0)
        return -(int)err->code;
    if (call.trouble.code != ERR_NONE) {
        extender_json_write_filter_error(out, call.trouble.text);
        return 0;
    }
    answer.count = call.count;
    answer.nodes = xcalloc(call.count, sizeof *answer.nodes);
    answer.texts = xcalloc(call.count, sizeof *answer.texts);
    answer.decision.pod = pod_ref(call.pod);
    answer.decision.unix_ms = now.unix_ms;
    answer.decision.monotonic_ms = now.monotonic_ms;
    answer.decision.considered = (unsigned)call.count;
    answer.decision.version = call.snapshot->version;
    if (!request_wants_devices(&call.pod->request))
        keep_all(&call, &answer);
    else
        consider_all(extender, &call, &answer);
    if (answer.decision.kept == 0 && answer.count > 0)
        tell_unplaced(extender, call.pod, answer.by_reason, answer.count);
    /* Also of a pod without devices: its bind call may come before the watch shows it. */
    history_put(extender->history, &answer.decision);
    extender_json_write_filter_result(out, &call.args, answer.nodes, answer.count);
    return 0;
}
