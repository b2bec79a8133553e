/* SPDX-License-Identifier: Apache-2.0 */
/* prioritize - how good each of the nodes asked about is for the pod. */
#include "call.h"
#include "topofit/mem.h"

#include <stdlib.h>

static void free_nodes(struct ranked_node **nodes)
{
    free(*nodes);
}

static void free_order(struct ranked_node ***order)
{
    free(*order);
}

static void consider(struct extender *extender, const struct call *call, size_t i,
                     struct ranked_node *out)
{
    AUTO(called_node_clear) struct called_node called = {0};
    struct verdict verdict;
    struct plan plan;

    call_node(extender, call, i, &called);
    *out = (struct ranked_node){.name = called.name};
    call_decide(extender, call, &called, &plan, &verdict);
    if (verdict.reason == REASON_OK)
        *out = call_rank(extender, called.name, &plan);
}

static void write_scores(const struct ranked_node *nodes, size_t count, struct buf *out)
{
    struct scored_node *scores = xcalloc(count, sizeof *scores);

    for (size_t i = 0; i < count; i++)
        scores[i] = (struct scored_node){nodes[i].name, nodes[i].score_0_10};
    extender_json_write_scores(out, scores, count);
    free(scores);
}

int extender_prioritize(struct extender *extender, const char *bytes, size_t length,
                        struct moment now, struct buf *out, struct error *err)
{
    AUTO(call_clear) struct call call = {0};
    AUTO(free_nodes) struct ranked_node *nodes = NULL;
    AUTO(free_order) struct ranked_node **order = NULL;
    bool is_ours;

    (void)now;
    if (call_open(extender, bytes, length, &call, err) < 0)
        return -(int)err->code;
    /* The answer has no place for a text: a failed call makes kube-scheduler go on without us. */
    if (call.trouble.code != ERR_NONE)
        return error_set(err, call.trouble.code, "%s", call.trouble.text);
    nodes = xcalloc(call.count, sizeof *nodes);
    order = xcalloc(call.count, sizeof(*order));
    is_ours = request_wants_devices(&call.pod->request);
    for (size_t i = 0; i < call.count; i++) {
        order[i] = &nodes[i];
        if (is_ours)
            consider(extender, &call, i, &nodes[i]);
        else
            nodes[i].name = call_name(&call, i);
    }
    rank_nodes(order, call.count);
    write_scores(nodes, call.count, out);
    return 0;
}
