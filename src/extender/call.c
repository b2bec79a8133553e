/* SPDX-License-Identifier: Apache-2.0 */
/* call - what filter and prioritize have in common. */
#include "call.h"

#include "topofit/dialect.h"
#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

#define POD_NAME_MAX 253 /* source: RFC 1123 names, as the API server checks them */

static void find_trouble(struct extender *extender, const struct extender_args *args,
                         struct error *out)
{
    if (!args->has_pod)
        error_set(out, ERR_INVALID, "the request has no Pod");
    else if (strlen(args->pod.meta.name) > POD_NAME_MAX ||
             strlen(args->pod.meta.namespace) > POD_NAME_MAX ||
             strlen(args->pod.meta.uid) > POD_NAME_MAX)
        error_set(out, ERR_INVALID, "a name of the Pod is longer than %d bytes", POD_NAME_MAX);
    else if (args->has_names == args->has_nodes)
        error_set(out, ERR_INVALID, "the request must have exactly one of NodeNames and Nodes");
    else if (!cluster_is_synced(extender->cluster))
        error_set(out, ERR_BUSY, "topofit has not listed the cluster's nodes and pods yet");
}

int call_open(struct extender *extender, const char *bytes, size_t length, struct call *out,
              struct error *err)
{
    *out = (struct call){0};
    extender_args_init(&out->args);
    if (extender_json_read_args(bytes, length, &out->args, err) < 0)
        return -(int)err->code;
    find_trouble(extender, &out->args, &out->trouble);
    out->count = out->args.has_nodes ? out->args.node_count : out->args.name_count;
    if (out->trouble.code != ERR_NONE)
        return 0;
    out->pod = dialect_pod(&out->args.pod, extender->classes);
    out->holds = cluster_find_holding(extender->cluster, out->pod->uid, &out->own);
    out->snapshot = cluster_snapshot(extender->cluster);
    out->effort.trials_left = DECIDE_CALL_TRIALS_MAX;
    out->policy = extender->options.policy;
    out->policy.effort = &out->effort;
    return 0;
}

const char *call_name(const struct call *call, size_t i)
{
    return call->args.has_nodes ? call->args.nodes[i].meta.name : call->args.names[i];
}

void call_clear(struct call *call)
{
    extender_args_clear(&call->args);
    pod_unref(call->pod);
    holding_view_clear(&call->own);
    snapshot_unref(call->snapshot);
    *call = (struct call){0};
}

/*
 * Is the end of an earlier Binding of the pod not known? It may have been executed, so only its own
 * node will do; there, what it reserved is meant for the pod.
 */
static bool holds_unsettled(const struct call *call)
{
    return call->holds && call->own.state != HOLDING_BOUND;
}

void call_node(struct extender *extender, const struct call *call, size_t i,
               struct called_node *out)
{
    const struct node_state *state;
    struct node *given = NULL;

    *out = (struct called_node){0};
    out->name = call_name(call, i);
    state = snapshot_find(call->snapshot, out->name);
    if (call->args.has_nodes)
        given = dialect_node(&call->args.nodes[i], extender->classes);
    if (state != NULL)
        out->host_used = state->host_used;
    if (state != NULL && (given == NULL || node_equal(given, state->node))) {
        out->node = node_ref(state->node);
        out->use = state->use;
        out->nominees = nominees_ref(state->nominees);
        node_unref(given);
    } else if (given != NULL) {
        /* A simulator's node, or one newer than ours: what it says counts. */
        out->node = given;
        cluster_sum_use(extender->cluster, given, NULL, &out->use);
        out->nominees = cluster_nominees(extender->cluster, given);
    }
    if (out->node != NULL && holds_unsettled(call) && strcmp(call->own.node, out->name) == 0) {
        cluster_sum_use(extender->cluster, out->node, call->pod->uid, &out->use);
        nominees_unref(steal_ptr(&out->nominees)); /* it has its booking */
    }
}

void called_node_clear(struct called_node *called)
{
    node_unref(called->node);
    nominees_unref(called->nominees);
    called->node = NULL;
    called->nominees = NULL;
}

void call_decide(struct extender *extender, const struct call *call,
                 const struct called_node *called, struct plan *plan, struct verdict *verdict)
{
    const struct nominees *nominees = called->nominees;
    const struct site site = {.node = called->node,
                              .use = &called->use,
                              .nominees = nominees != NULL ? nominees->items : NULL,
                              .nominee_count = nominees != NULL ? nominees->count : 0};

    *verdict = (struct verdict){0};
    if (holds_unsettled(call) && strcmp(call->own.node, called->name) != 0)
        verdict->reason = REASON_UNSETTLED;
    else if (call->pod->request.problem != NULL)
        verdict->reason = REASON_BAD_REQUEST;
    else if (called->node == NULL)
        verdict->reason = REASON_NODE_UNKNOWN;
    else
        holds_decide(&site, call->pod, &call->policy, extender->memo, plan, verdict);
}

void ranking_begin(struct ranking *ranking, const struct extender *extender,
                   const struct snapshot *snapshot, const struct pod *pod)
{
    *ranking =
        (struct ranking){.pod = pod,
                         .memo = extender->waste_memo,
                         .packing = decide_packing(&extender->options.policy, &pod->request)};
    waste_memo_load(ranking->memo, snapshot->mix, &ranking->models);
    scarcity_of(snapshot->mix, &snapshot->supply, &ranking->scarcity);
}

void ranking_end(struct ranking *ranking)
{
    waste_memo_store(ranking->memo, &ranking->models);
}

/* All devices of a plan are of one node, and nearly always of one product. */
static const struct text *product_of(const struct node *node, const struct plan *plan)
{
    return node->devices[mask_first(plan->sets[0])].product;
}

struct ranked_node ranking_judge(struct ranking *ranking, const struct called_node *called,
                                 const struct plan *plan)
{
    const struct request *request = &ranking->pod->request;
    const struct worth_question question = {.node = called->node,
                                            .use = &called->use,
                                            .host_used = called->host_used,
                                            .request = request,
                                            .host = ranking->pod->host,
                                            .plan = plan};
    struct worth worth;

    worth_of(&question, &ranking->models, &worth);
    worth_charge(&worth, scarcity_cost_milli(&ranking->scarcity, product_of(called->node, plan),
                                             worth.taken_milli));
    return (struct ranked_node){.name = called->name,
                                .merit = worth_merit(&worth, ranking->packing),
                                .grade_1_10 = worth_grade_1_10(&worth, request, ranking->packing)};
}
