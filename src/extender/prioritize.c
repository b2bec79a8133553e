/* SPDX-License-Identifier: Apache-2.0 */
/* prioritize - how good each of the nodes asked about is for the pod. */
#include "call.h"
#include "topofit/mem.h"

#include <stdlib.h>

static void free_nodes(struct ranked_node **nodes)
{
    free(*nodes);
}

static void free_merits(uint64_t **merits)
{
    free(*merits);
}

static void free_ranking(struct ranking **ranking)
{
    free(*ranking);
}

/* A pod without devices fits everywhere, and should leave the hosts of idle devices alone. */
static void consider_bystander(const struct call *call, const struct called_node *called,
                               struct ranked_node *out)
{
    if (called->node == NULL)
        return;
    out->merit =
        worth_merit_without_devices(called->node, &called->use, called->host_used, call->pod->host);
    out->grade_1_10 = worth_grade_without_devices_1_10(called->node, &called->use);
}

static void consider(struct extender *extender, const struct call *call, size_t i,
                     struct ranking *ranking, struct ranked_node *out)
{
    AUTO(called_node_clear) struct called_node called = {0};
    struct verdict verdict;
    struct plan plan;

    call_node(extender, call, i, &called);
    *out = (struct ranked_node){.name = called.name};
    if (!request_wants_devices(&call->pod->request)) {
        consider_bystander(call, &called, out);
        return;
    }
    call_decide(extender, call, &called, &plan, &verdict);
    if (verdict.reason == REASON_OK)
        *out = ranking_judge(ranking, &called, &plan);
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
    AUTO(free_merits) uint64_t *merits = NULL;
    AUTO(free_ranking) struct ranking *ranking = NULL;

    (void)now;
    if (call_open(extender, bytes, length, &call, err) < 0)
        return -(int)err->code;
    /* The answer has no place for a text: a failed call makes kube-scheduler go on without us. */
    if (call.trouble.code != ERR_NONE)
        return error_set(err, call.trouble.code, "%s", call.trouble.text);
    nodes = xcalloc(call.count, sizeof *nodes);
    merits = xcalloc(call.count, sizeof *merits);
    ranking = xmalloc(sizeof *ranking);
    ranking_begin(ranking, extender, call.snapshot, call.pod);
    for (size_t i = 0; i < call.count; i++)
        consider(extender, &call, i, ranking, &nodes[i]);
    ranking_end(ranking);
    rank_nodes(nodes, call.count, extender->options.policy.scores, merits);
    write_scores(nodes, call.count, out);
    return 0;
}
