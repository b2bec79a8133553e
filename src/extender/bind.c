/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind - decide again, reserve, hand the Binding over, and answer when it has ended.
 */
#include "topofit/core_choice.h"
#include "topofit/dialect.h"
#include "topofit/extender.h"
#include "topofit/extender_json.h"
#include "pod_events.h"
#include "pod_quota.h"
#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

#define RESERVE_TRIES_MAX 64 /* each lost try is another pod's success */

/* A bind call on its way. */
struct binding {
    struct extender extender; /* as it was when we were asked */
    struct extender_binding_args args;
    struct pod *pod;
    uint64_t deadline_ms;
    uint64_t unix_ms;         /* when we were asked */
    uint64_t term;            /* of our lead, from before anything was booked */
    uint64_t token;           /* names the Binding to the cluster; 0 for a pod without devices */
    struct kube_pairs record; /* annotations of the Binding */
    extender_on_bound done;
    void *ctx;
};

static void binding_free(struct binding *binding)
{
    extender_binding_args_clear(&binding->args);
    pod_unref(binding->pod);
    kube_pairs_clear(&binding->record);
    free(binding);
}

/* Answer the call. text "" = success. */
static void answer(struct binding *binding, enum bind_end end, const char *text)
{
    const struct observer *observer = &binding->extender.observer;
    AUTO(buf_clear) struct buf body = buf_with_max(4096);

    const struct bind_report report = {.end = end,
                                       .namespace = binding->args.pod_namespace,
                                       .name = binding->args.pod_name,
                                       .node = binding->args.node,
                                       .text = text};

    if (observer->on_bind_end != NULL)
        observer->on_bind_end(observer->ctx, &report);
    extender_json_write_binding_result(&body, text);
    binding->done(binding->ctx, buf_text(&body), body.length);
}

/* Answer the call and end it. */
static void finish(struct binding *binding, enum bind_end end, const char *text)
{
    answer(binding, end, text);
    binding_free(binding);
}

/* The Binding has ended, or its caller waits no longer; called from wherever the port runs. */
static void on_job_done(void *ctx, enum bind_outcome outcome, const char *text)
{
    struct binding *binding = ctx;
    struct cluster *cluster = binding->extender.cluster;
    const char *uid = binding->pod->uid;

    switch (outcome) {
    case BIND_BOUND:
        cluster_confirm(cluster, uid, binding->token);
        tell_assigned(&binding->extender, binding->pod, binding->args.node);
        finish(binding, BIND_END_BOUND, "");
        return;
    case BIND_FAILED:
        cluster_release(cluster, uid, binding->token);
        tell_bind_failed(&binding->extender, binding->pod, text);
        finish(binding, BIND_END_FAILED, text);
        return;
    case BIND_UNCLEAR:
        cluster_mark_unknown(cluster, uid, binding->token);
        answer(binding, BIND_END_UNCLEAR, text);
        return;
    }
}

/* What became of a Binding that was unclear. Still unclear: the watch or the next one tells. */
static void on_job_settled(void *ctx, enum bind_outcome outcome)
{
    static void (*const tell[])(struct cluster *, const char *, uint64_t) = {
        [BIND_BOUND] = cluster_confirm,
        [BIND_FAILED] = cluster_release,
        [BIND_UNCLEAR] = cluster_abandon,
    };
    struct binding *binding = ctx;

    tell[outcome](binding->extender.cluster, binding->pod->uid, binding->token);
    binding_free(binding);
}

/* --- the pod --------------------------------------------------------------------------------- */

/* The pod to bind, with a reference: as the watch knows it, else as filter saw it last. */
static struct pod *find_pod(struct extender *extender, const struct extender_binding_args *args)
{
    struct pod *pod = cluster_find_pod(extender->cluster, args->pod_namespace, args->pod_name);

    if (pod == NULL)
        pod = history_find_pod_by_uid(extender->history, args->pod_uid);
    return pod;
}

/* Why a pod cannot be bound at all, or NULL. */
static const char *check_pod(const struct pod *pod, const struct extender_binding_args *args)
{
    if (pod == NULL)
        return "the pod is not known yet";
    if (strcmp(pod->namespace, args->pod_namespace) != 0 || strcmp(pod->name, args->pod_name) != 0)
        return "the uid is that of a pod with another name";
    if (strcmp(pod->uid, args->pod_uid) != 0)
        return "the pod was replaced by another one of the same name";
    if (pod->deleting || pod->finished)
        return "the pod is being deleted or has ended";
    if (pod->gated)
        return "the pod has scheduling gates";
    if (pod->node[0] != '\0' && strcmp(pod->node, args->node) != 0)
        return "the pod is already bound to another node";
    if (pod->request.problem != NULL)
        return pod->request.problem;
    return NULL;
}

static const char *check_args(struct binding *binding, struct error *err)
{
    const struct extender_binding_args *args = &binding->args;
    const struct bind_port *port = &binding->extender.binder;

    if (args->pod_name[0] == '\0' || args->pod_namespace[0] == '\0' || args->pod_uid[0] == '\0' ||
        args->node[0] == '\0')
        return "PodName, PodNamespace, PodUID and Node are all needed";
    if (!cluster_is_synced(binding->extender.cluster))
        return "topofit has not listed the cluster's nodes and pods yet";
    if (port->check != NULL && port->check(port->ctx, &binding->term, err) < 0)
        return err->text;
    return NULL;
}

/* --- the job --------------------------------------------------------------------------------- */

/* Write the record of an allocation on its node, NULL when that is not known any more. */
static int write_record(struct binding *binding, const struct allocation *allocation,
                        const struct node *node, struct error *err)
{
    const struct dialect_placement placement = {allocation, node, &binding->pod->request,
                                                binding->unix_ms};

    kube_pairs_clear(&binding->record);
    return dialect_write_record(&placement, &binding->record, err);
}

/* The lock of the class first asked for, on nodes whose plugins want one. */
static enum node_lock lock_for(const struct binding *binding)
{
    AUTO(snapshot_unref_pointer)
    struct snapshot *snapshot = cluster_snapshot(binding->extender.cluster);
    const struct node_state *state = snapshot_find(snapshot, binding->args.node);
    const struct request *request = &binding->pod->request;
    enum node_lock lock = NODE_LOCK_NONE;

    if (state == NULL || !state->node->wants_lock)
        return NODE_LOCK_NONE;
    for (size_t i = 0; i < request->ask_count && lock == NODE_LOCK_NONE; i++)
        lock = request->asks[i].class->lock;
    return lock;
}

/*
 * Hand the Binding over, with the record if the pod has devices. When it cannot be handed over it
 * is released: the pod holds what an earlier one has left in doubt, or nothing.
 */
static void submit(struct binding *binding)
{
    struct bind_port *port = &binding->extender.binder;
    struct bind_job *job = bind_job_new(binding->pod->namespace, binding->pod->name,
                                        binding->pod->uid, binding->args.node);
    struct error err = {0};

    job->deadline_ms = binding->deadline_ms;
    job->term = binding->term;
    job->done = on_job_done;
    job->settled = on_job_settled;
    job->ctx = binding;
    if (binding->record.count > 0) {
        job->record_key = dialect_record_key();
        job->lock = lock_for(binding);
    }
    for (size_t i = 0; i < binding->record.count; i++)
        bind_job_add_annotation(job, binding->record.items[i].key, binding->record.items[i].value);
    if (port->submit(port->ctx, job, &err) == 0)
        return;
    bind_job_free(job);
    cluster_release(binding->extender.cluster, binding->pod->uid, binding->token);
    finish(binding, BIND_END_REFUSED, err.text);
}

/* --- deciding -------------------------------------------------------------------------------- */

/* What the plan gives the pod, and the record of it: all that is to be known before it is booked.
 */
static int make_record(struct binding *binding, const struct plan *plan,
                       const struct node_state *state, struct allocation *out, struct error *err)
{
    plan_allocation(plan, state->node, &binding->pod->request, out);
    if (!cores_choose(out, state->node, &state->use))
        return error_set(err, ERR_CONFLICT, "%s", reason_text(REASON_CORES));
    free(out->pod_uid);
    out->pod_uid = xstrdup(binding->pod->uid);
    return write_record(binding, out, state->node, err);
}

/*
 * Plan on the present state of the node and book the plan on exactly that state; when another
 * pod was faster, plan again.
 */
static int reserve(struct binding *binding, struct allocation *out, struct error *err)
{
    struct extender *extender = &binding->extender;

    for (unsigned tries = 0; tries < RESERVE_TRIES_MAX; tries++) {
        AUTO(snapshot_unref_pointer)
        struct snapshot *snapshot = cluster_snapshot(extender->cluster);
        const struct node_state *state = snapshot_find(snapshot, binding->args.node);
        struct decide_policy policy = extender->options.policy;
        struct pod_quota quota;
        struct verdict verdict;
        struct site site;
        struct plan plan;

        error_clear(err); /* of the last try */
        if (state == NULL)
            return error_set(err, ERR_NOT_FOUND, "%s", reason_text(REASON_NODE_UNKNOWN));
        site = node_state_site(state);
        pod_quota_ask(extender->cluster, binding->pod, &quota, &policy);
        holds_decide(&site, binding->pod, &policy, extender->memo, &plan, &verdict);
        if (verdict.reason != REASON_OK)
            return error_set(err, ERR_CONFLICT, "%s", reason_text(verdict.reason));
        if (make_record(binding, &plan, state, out, err) < 0) {
            allocation_clear(out);
            return -(int)err->code;
        }
        if (cluster_reserve(extender->cluster, binding->pod, out, state, &binding->token, err) == 0)
            return 0;
        allocation_clear(out);
        if (err->code != ERR_CONFLICT)
            return -(int)err->code;
    }
    return -(int)err->code;
}

static void bind_new(struct binding *binding)
{
    AUTO(allocation_clear) struct allocation allocation = {0};
    struct error err = {0};

    if (binding->pod->request.ask_count > 0 && reserve(binding, &allocation, &err) < 0) {
        finish(binding, BIND_END_REFUSED, err.text);
        return;
    }
    submit(binding);
}

/*
 * The record of what the pod holds. Since it was resumed it is ours; before, it may have been given
 * back and booked anew.
 */
static int record_again(struct binding *binding, struct error *err)
{
    AUTO(holding_view_clear) struct holding_view holding = {0};
    AUTO(snapshot_unref_pointer)
    struct snapshot *snapshot = cluster_snapshot(binding->extender.cluster);
    const struct node_state *state = snapshot_find(snapshot, binding->args.node);

    if (!cluster_find_holding(binding->extender.cluster, binding->pod->uid, &holding) ||
        strcmp(holding.node, binding->args.node) != 0)
        return error_set(err, ERR_CONFLICT, "what this pod holds has changed meanwhile");
    return write_record(binding, &holding.allocation, state != NULL ? state->node : NULL, err);
}

/* The pod holds something already: asked twice, or an earlier answer was lost. */
static void bind_again(struct binding *binding, const struct holding_view *holding)
{
    struct cluster *cluster = binding->extender.cluster;
    const char *uid = binding->pod->uid;
    struct error err = {0};

    if (strcmp(holding->node, binding->args.node) != 0) {
        finish(binding, BIND_END_REFUSED,
               "an earlier binding of this pod to another node is not settled");
        return;
    }
    if (holding->state == HOLDING_BOUND) {
        finish(binding, BIND_END_BOUND, "");
        return;
    }
    binding->token = cluster_resume(cluster, uid);
    if (binding->token == 0) {
        finish(binding, BIND_END_REFUSED,
               holding->state == HOLDING_UNKNOWN
                   ? "an earlier binding of this pod is not settled, and others have its devices"
                   : "a binding of this pod is in flight");
        return;
    }
    if (record_again(binding, &err) == 0) {
        submit(binding);
        return;
    }
    cluster_release(cluster, uid, binding->token);
    finish(binding, BIND_END_REFUSED, err.text);
}

int extender_bind(struct extender *extender, const char *bytes, size_t length, struct moment now,
                  extender_on_bound done, void *ctx, struct error *err)
{
    AUTO(holding_view_clear) struct holding_view holding = {0};
    struct extender_binding_args args = {0};
    struct error trouble_text = {0};
    struct binding *binding;
    const char *trouble;

    if (extender_json_read_binding_args(bytes, length, &args, err) < 0)
        return -(int)err->code;
    binding = xcalloc(1, sizeof *binding);
    *binding = (struct binding){.extender = *extender,
                                .args = args,
                                .deadline_ms = now.monotonic_ms + extender->options.bind_timeout_ms,
                                .unix_ms = now.unix_ms,
                                .done = done,
                                .ctx = ctx};
    trouble = check_args(binding, &trouble_text);
    if (trouble == NULL) {
        binding->pod = find_pod(extender, &args);
        trouble = check_pod(binding->pod, &args);
    }
    if (trouble != NULL)
        finish(binding, BIND_END_REFUSED, trouble);
    else if (cluster_find_holding(extender->cluster, binding->pod->uid, &holding))
        bind_again(binding, &holding);
    else if (binding->pod->node[0] != '\0')
        finish(binding, BIND_END_BOUND,
               ""); /* bound to the node asked for, without devices of ours */
    else
        bind_new(binding);
    return 0;
}
