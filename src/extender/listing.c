/* SPDX-License-Identifier: Apache-2.0 */
/* listing - the nodes of a call in order of merit. */
#include "listing.h"

#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

void listing_clear(struct listing *listing)
{
    free(listing->ranking);
    free(listing->nodes);
    free(listing->known);
    free(listing->scratch);
}

/* A pod without devices fits everywhere, and should leave the hosts of idle devices alone. */
static struct ranked_node rank_bystander(const struct call *call, const struct called_node *called)
{
    return (struct ranked_node){
        .name = called->name,
        .merit = worth_merit_without_devices(called->node, called->use, called->rank.host_used,
                                             call->pod->host),
        .grade_1_10 = worth_grade_without_devices_1_10(called->node, called->use),
    };
}

/* plan: of the pod on the node, or NULL for a pod without devices. */
static struct ranked_node rank_one(struct extender *extender, const struct call *call,
                                   struct ranking *ranking, size_t i, const struct plan *plan)
{
    AUTO(called_node_clear) struct called_node called;

    call_node(extender, call, i, &called);
    if (called.node == NULL)
        return (struct ranked_node){.name = ""};
    if (plan == NULL)
        return rank_bystander(call, &called);
    return ranking_judge(ranking, &called, plan);
}

/* What came out for a node, or NULL for a pod without devices. */
static const struct outcome *outcome_of(struct extender *extender, struct call *call, size_t i)
{
    const struct node_answer *answer;

    if (!request_wants_devices(&call->pod->request))
        return NULL;
    answer = call->answers != NULL ? call->answers[i] : call_consider_one(extender, call, i);
    return considered_of(answer)->outcome;
}

/* All of them, or those that are not known: few, when there is a kind. */
static void rank_unknown(struct extender *extender, struct call *call, struct listing *listing)
{
    listing->ranking = xmalloc(sizeof *listing->ranking);
    ranking_begin(listing->ranking, extender, call->snapshot, call->pod);
    if (call->kind == NULL && call->answers == NULL && request_wants_devices(&call->pod->request))
        call_consider(extender, call);
    for (size_t i = 0; i < call->count; i++) {
        const struct outcome *outcome;

        if (listing->known[i])
            continue;
        outcome = outcome_of(extender, call, i);
        if (outcome == NULL)
            listing->nodes[i] = rank_one(extender, call, listing->ranking, i, NULL);
        else if (outcome->reason == REASON_OK)
            listing->nodes[i] = rank_one(extender, call, listing->ranking, i, &outcome->plan);
        else
            listing->nodes[i] = (struct ranked_node){.name = ""};
    }
    ranking_end(listing->ranking);
}

/* Only the names of the best are looked at. */
static void name_best(const struct call *call, struct ranked_node *nodes)
{
    uint64_t best = 1;

    for (size_t i = 0; i < call->count; i++)
        best = nodes[i].merit > best ? nodes[i].merit : best;
    for (size_t i = 0; i < call->count; i++) {
        nodes[i].name = "";
        if (nodes[i].merit == best)
            nodes[i].name = name_table_name(call->snapshot->names, call->positions[i]);
    }
}

static void judge_all(struct extender *extender, struct call *call, struct listing *listing)
{
    const struct host_amounts host = call->pod->host;

    if (call->answers == NULL) /* else it was looked for when they were considered */
        call_find_kind(extender, call);
    if (call->kind == NULL) {
        rank_unknown(extender, call, listing);
        return;
    }
    if (kind_recall_merits(call->kind, call->snapshot, host, call->positions, call->count,
                           listing->nodes, listing->known, &listing->limits) > 0) {
        rank_unknown(extender, call, listing);
        kind_learn_merits(call->kind, call->snapshot, host, call->positions, call->count,
                          listing->nodes, listing->known);
    }
    name_best(call, listing->nodes);
}

static void rank_all(struct extender *extender, struct call *call, struct listing *listing)
{
    const struct rank_limits before = listing->limits;

    rank_nodes(listing->nodes, call->count, extender->options.policy.scores, &listing->limits,
               listing->scratch);
    if (call->kind != NULL && memcmp(&before, &listing->limits, sizeof before) != 0)
        kind_learn_limits(call->kind, call->snapshot, call->pod->host, &listing->limits);
}

void listing_make(struct extender *extender, struct call *call, struct listing *out)
{
    *out = (struct listing){0};
    out->nodes = xreallocarray(NULL, call->count, sizeof *out->nodes);
    out->known = xcalloc(call->count, sizeof *out->known);
    out->scratch = xreallocarray(NULL, call->count, sizeof *out->scratch);
    judge_all(extender, call, out);
    rank_all(extender, call, out);
}
