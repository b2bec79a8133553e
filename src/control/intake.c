/* SPDX-License-Identifier: Apache-2.0 */
/* intake - what the API server tells, into the cluster. */
#include "topofit/intake.h"

#include "topofit/dialect.h"
#include "topofit/mem.h"

#include <stdlib.h>

struct intake {
    struct cluster *cluster;
    const struct class_table *classes;
    struct intake_listener listener;
    struct node **nodes; /* of the list that is arriving */
    size_t node_count, node_capacity;
    struct pod **pods;
    size_t pod_count, pod_capacity;
    struct quota **quotas;
    size_t quota_count, quota_capacity;
};

struct intake *intake_new(struct cluster *cluster, const struct class_table *classes,
                          const struct intake_listener *listener)
{
    struct intake *intake = xcalloc(1, sizeof *intake);

    intake->cluster = cluster;
    intake->classes = classes;
    intake->listener = *listener;
    return intake;
}

const struct class_table *intake_classes(const struct intake *intake)
{
    return intake->classes;
}

/* A node as the model knows it; its problem is told if it is new. */
static struct node *understand_node(struct intake *intake, const struct kube_object *object)
{
    struct node *node = dialect_node(&object->node, intake->classes);

    if (intake->listener.on_node_problem != NULL &&
        cluster_is_new_node_problem(intake->cluster, node))
        intake->listener.on_node_problem(intake->listener.ctx, node->name, node->problem);
    return node;
}

static struct pod *understand_pod(struct intake *intake, const struct kube_object *object)
{
    struct pod *pod = dialect_pod(&object->pod, intake->classes);

    if (intake->listener.on_record_problem != NULL &&
        cluster_is_new_record_problem(intake->cluster, pod))
        intake->listener.on_record_problem(intake->listener.ctx, pod);
    return pod;
}

static void tell_conflicts(struct intake *intake)
{
    struct conflict conflict;

    while (intake->listener.on_conflict != NULL &&
           cluster_next_conflict(intake->cluster, &conflict)) {
        intake->listener.on_conflict(intake->listener.ctx, &conflict);
        conflict_clear(&conflict);
    }
}

/* --- nodes ----------------------------------------------------------------------------------- */

static void drop_nodes(struct intake *intake)
{
    for (size_t i = 0; i < intake->node_count; i++)
        node_unref(intake->nodes[i]);
    intake->node_count = 0;
}

static void begin_nodes(void *ctx)
{
    drop_nodes(ctx);
}

static void add_node(void *ctx, struct kube_object *object)
{
    struct intake *intake = ctx;

    intake->nodes =
        mem_grow(intake->nodes, intake->node_count, &intake->node_capacity, sizeof *intake->nodes);
    intake->nodes[intake->node_count] = understand_node(intake, object);
    cluster_share_words(intake->cluster, intake->nodes[intake->node_count++]);
}

static void commit_nodes(void *ctx)
{
    struct intake *intake = ctx;

    cluster_replace_nodes(intake->cluster, intake->nodes, intake->node_count);
    tell_conflicts(intake);
    intake->node_count = 0;
}

static void upsert_node(void *ctx, struct kube_object *object)
{
    struct intake *intake = ctx;

    cluster_put_node(intake->cluster, understand_node(intake, object));
    tell_conflicts(intake);
}

static void remove_node(void *ctx, struct kube_object *object)
{
    struct intake *intake = ctx;

    cluster_remove_node(intake->cluster, object->node.meta.name);
}

struct reflector_sink intake_nodes(struct intake *intake)
{
    return (struct reflector_sink){.ctx = intake,
                                   .begin = begin_nodes,
                                   .item = add_node,
                                   .commit = commit_nodes,
                                   .upsert = upsert_node,
                                   .remove = remove_node};
}

/* --- pods ------------------------------------------------------------------------------------ */

static void drop_pods(struct intake *intake)
{
    for (size_t i = 0; i < intake->pod_count; i++)
        pod_unref(intake->pods[i]);
    intake->pod_count = 0;
}

static void begin_pods(void *ctx)
{
    struct intake *intake = ctx;

    drop_pods(intake);
    cluster_announce_pod_list(intake->cluster);
}

static void add_pod(void *ctx, struct kube_object *object)
{
    struct intake *intake = ctx;

    intake->pods =
        mem_grow(intake->pods, intake->pod_count, &intake->pod_capacity, sizeof *intake->pods);
    intake->pods[intake->pod_count++] = understand_pod(intake, object);
}

static void commit_pods(void *ctx)
{
    struct intake *intake = ctx;

    cluster_replace_pods(intake->cluster, intake->pods, intake->pod_count);
    tell_conflicts(intake);
    intake->pod_count = 0;
}

static void upsert_pod(void *ctx, struct kube_object *object)
{
    struct intake *intake = ctx;

    cluster_put_pod(intake->cluster, understand_pod(intake, object));
    tell_conflicts(intake);
}

static void remove_pod(void *ctx, struct kube_object *object)
{
    struct intake *intake = ctx;
    const struct kube_meta *meta = &object->pod.meta;

    cluster_remove_pod(intake->cluster, meta->namespace, meta->name, meta->uid);
}

struct reflector_sink intake_pods(struct intake *intake)
{
    return (struct reflector_sink){.ctx = intake,
                                   .begin = begin_pods,
                                   .item = add_pod,
                                   .commit = commit_pods,
                                   .upsert = upsert_pod,
                                   .remove = remove_pod};
}

/* --- quotas ---------------------------------------------------------------------------------- */

/* Its remarks are told if they are new. */
static struct quota *understand_quota(struct intake *intake, const struct kube_object *object)
{
    struct quota *quota = dialect_quota(&object->quota, intake->classes);

    if (intake->listener.on_quota_remark == NULL ||
        !cluster_has_new_remarks(intake->cluster, quota))
        return quota;
    for (size_t i = 0; i < quota->remark_count; i++)
        intake->listener.on_quota_remark(intake->listener.ctx, quota, quota->remarks[i]);
    return quota;
}

static void drop_quotas(struct intake *intake)
{
    for (size_t i = 0; i < intake->quota_count; i++)
        quota_free(intake->quotas[i]);
    intake->quota_count = 0;
}

static void begin_quotas(void *ctx)
{
    drop_quotas(ctx);
}

static void add_quota(void *ctx, struct kube_object *object)
{
    struct intake *intake = ctx;

    intake->quotas = mem_grow(intake->quotas, intake->quota_count, &intake->quota_capacity,
                              sizeof *intake->quotas);
    intake->quotas[intake->quota_count++] = understand_quota(intake, object);
}

static void commit_quotas(void *ctx)
{
    struct intake *intake = ctx;

    cluster_replace_quotas(intake->cluster, intake->quotas, intake->quota_count);
    intake->quota_count = 0;
}

static void upsert_quota(void *ctx, struct kube_object *object)
{
    struct intake *intake = ctx;

    cluster_put_quota(intake->cluster, understand_quota(intake, object));
}

static void remove_quota(void *ctx, struct kube_object *object)
{
    struct intake *intake = ctx;
    const struct kube_meta *meta = &object->quota.meta;

    cluster_remove_quota(intake->cluster, meta->namespace, meta->name, meta->uid);
}

struct reflector_sink intake_quotas(struct intake *intake)
{
    return (struct reflector_sink){.ctx = intake,
                                   .begin = begin_quotas,
                                   .item = add_quota,
                                   .commit = commit_quotas,
                                   .upsert = upsert_quota,
                                   .remove = remove_quota};
}

struct reflector_sink intake_sink(struct intake *intake, enum kube_kind kind)
{
    static struct reflector_sink (*const sinks[KUBE_KINDS])(struct intake *) = {
        [KUBE_NODE] = intake_nodes, [KUBE_POD] = intake_pods, [KUBE_QUOTA] = intake_quotas};

    return sinks[kind](intake);
}

void intake_free(struct intake *intake)
{
    if (intake == NULL)
        return;
    drop_nodes(intake);
    drop_pods(intake);
    drop_quotas(intake);
    free(intake->quotas);
    free(intake->nodes);
    free(intake->pods);
    free(intake);
}
