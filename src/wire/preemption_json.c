/* SPDX-License-Identifier: Apache-2.0 */
/* preemption_json - the bodies of kube-scheduler's preempt call (extender/v1). */
#include "topofit/preemption_json.h"

#include "kube_reading.h"
#include "topofit/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct args_reading {
    struct kube_reading reading; /* first: ctx of the pods' shapes */
    struct kube_pod victim;      /* the whole pod that is open */
    size_t victim_count;         /* over all nodes */
    struct preemption_args args;
};

/* --- life ------------------------------------------------------------------------------------ */

static void drop_victims(struct proposal *proposal)
{
    for (size_t i = 0; i < proposal->victim_count; i++) {
        free(proposal->victims[i].uid);
        free(proposal->victims[i].node);
    }
    proposal->victim_count = 0;
}

static void drop_proposals(struct preemption_args *args)
{
    for (size_t i = 0; i < args->proposal_count; i++) {
        drop_victims(&args->proposals[i]);
        free(args->proposals[i].victims);
        free(args->proposals[i].node);
    }
    args->proposal_count = 0;
}

void preemption_args_clear(struct preemption_args *args)
{
    drop_proposals(args);
    free(args->proposals);
    kube_pod_clear(&args->pod);
    *args = (struct preemption_args){0};
}

static void clear_reading(struct args_reading *reading)
{
    kube_reading_clear(&reading->reading);
    kube_pod_clear(&reading->victim);
    preemption_args_clear(&reading->args);
}

/* --- the preemptor --------------------------------------------------------------------------- */

static int begin_pod(void *ctx, const char *key, struct error *err)
{
    struct args_reading *reading = ctx;

    (void)key, (void)err;
    kube_pod_clear(&reading->args.pod);
    kube_reading_begin_pod(&reading->reading, &reading->args.pod);
    reading->args.has_pod = true;
    return 0;
}

static int end_pod(void *ctx, struct error *err)
{
    struct args_reading *reading = ctx;

    (void)err;
    kube_reading_end(&reading->reading);
    return 0;
}

/* --- the proposals --------------------------------------------------------------------------- */

static int begin_victims(void *ctx, const char *key, struct error *err)
{
    struct args_reading *reading = ctx;

    (void)key, (void)err;
    drop_proposals(&reading->args);
    reading->args.has_victims = true;
    return 0;
}

static int begin_meta_victims(void *ctx, const char *key, struct error *err)
{
    struct args_reading *reading = ctx;

    (void)key, (void)err;
    drop_proposals(&reading->args);
    reading->args.has_meta_victims = true;
    return 0;
}

static int begin_node(void *ctx, const char *key, struct error *err)
{
    struct args_reading *reading = ctx;
    struct preemption_args *args = &reading->args;

    if (args->proposal_count == EXTENDER_NODES_MAX)
        return error_set(err, ERR_LIMIT, "more than %d nodes", EXTENDER_NODES_MAX);
    if (strlen(key) > EXTENDER_NAME_MAX)
        return error_set(err, ERR_LIMIT, "a node name of more than %d bytes", EXTENDER_NAME_MAX);
    args->proposals = mem_grow(args->proposals, args->proposal_count, &args->proposal_capacity,
                               sizeof *args->proposals);
    args->proposals[args->proposal_count++] = (struct proposal){.node = xstrdup(key)};
    return 0;
}

static struct proposal *open_proposal(struct args_reading *reading)
{
    return &reading->args.proposals[reading->args.proposal_count - 1];
}

static int take_violations(void *ctx, const struct json_value *value, struct error *err)
{
    long long count = 0;

    if (json_value_int(value, 0, INT32_MAX, &count, err) < 0)
        return -(int)err->code;
    open_proposal(ctx)->pdb_violations = (uint32_t)count;
    return 0;
}

static int begin_pods(void *ctx, const char *key, struct error *err)
{
    (void)key, (void)err;
    drop_victims(open_proposal(ctx));
    return 0;
}

static int add_victim(struct args_reading *reading, struct error *err)
{
    struct proposal *proposal = open_proposal(reading);

    if (reading->victim_count == EXTENDER_VICTIMS_MAX)
        return error_set(err, ERR_LIMIT, "more than %d victims", EXTENDER_VICTIMS_MAX);
    reading->victim_count++;
    proposal->victims = mem_grow(proposal->victims, proposal->victim_count,
                                 &proposal->victim_capacity, sizeof *proposal->victims);
    proposal->victims[proposal->victim_count++] = (struct proposed_victim){.uid = xstrdup("")};
    return 0;
}

static struct proposed_victim *open_victim(struct args_reading *reading)
{
    struct proposal *proposal = open_proposal(reading);

    return &proposal->victims[proposal->victim_count - 1];
}

/* --- a victim by its uid --------------------------------------------------------------------- */

static int begin_meta_victim(void *ctx, const char *key, struct error *err)
{
    (void)key;
    return add_victim(ctx, err);
}

static int take_uid(void *ctx, const struct json_value *value, struct error *err)
{
    if (value->length > EXTENDER_NAME_MAX)
        return error_set(err, ERR_LIMIT, "a uid of more than %d bytes", EXTENDER_NAME_MAX);
    return json_value_copy(value, &open_victim(ctx)->uid, err);
}

/* --- a victim as a whole pod ----------------------------------------------------------------- */

static int begin_victim(void *ctx, const char *key, struct error *err)
{
    struct args_reading *reading = ctx;

    (void)key;
    if (add_victim(reading, err) < 0)
        return -(int)err->code;
    kube_pod_clear(&reading->victim);
    kube_reading_begin_pod(&reading->reading, &reading->victim);
    return 0;
}

static int end_victim(void *ctx, struct error *err)
{
    struct args_reading *reading = ctx;
    struct kube_pod *pod = &reading->victim;
    struct proposed_victim *victim = open_victim(reading);

    kube_reading_end(&reading->reading);
    if (strlen(pod->meta.uid) > EXTENDER_NAME_MAX || strlen(pod->node_name) > EXTENDER_NAME_MAX)
        return error_set(err, ERR_LIMIT, "a uid or node name of more than %d bytes",
                         EXTENDER_NAME_MAX);
    free(victim->uid);
    *victim = (struct proposed_victim){.uid = steal_ptr(&pod->meta.uid),
                                       .node = steal_ptr(&pod->node_name),
                                       .priority = pod->priority};
    return 0;
}

/* --- shapes ---------------------------------------------------------------------------------- */

static const struct json_field meta_victim_shape[] = {
    {.key = "UID", .on_value = take_uid, .any_case = true},
    {0},
};

static const struct json_field meta_pods_shape[] = {
    {.key = JSON_ELEMENT, .shape = meta_victim_shape, .on_begin = begin_meta_victim},
    {0},
};

static const struct json_field pods_shape[] = {
    {.key = JSON_ELEMENT, .shape = kube_pod_shape, .on_begin = begin_victim, .on_end = end_victim},
    {0},
};

#define VIOLATIONS {.key = "NumPDBViolations", .on_value = take_violations, .any_case = true}

static const struct json_field meta_node_shape[] = {
    {.key = "Pods", .shape = meta_pods_shape, .on_begin = begin_pods, .any_case = true},
    VIOLATIONS,
    {0},
};

static const struct json_field node_shape[] = {
    {.key = "Pods", .shape = pods_shape, .on_begin = begin_pods, .any_case = true},
    VIOLATIONS,
    {0},
};

static const struct json_field meta_nodes_shape[] = {
    {.key = JSON_ANY_KEY, .shape = meta_node_shape, .on_begin = begin_node},
    {0},
};

static const struct json_field nodes_shape[] = {
    {.key = JSON_ANY_KEY, .shape = node_shape, .on_begin = begin_node},
    {0},
};

static const struct json_field args_shape[] = {
    {.key = "Pod",
     .shape = kube_pod_shape,
     .on_begin = begin_pod,
     .on_end = end_pod,
     .any_case = true},
    {.key = "NodeNameToVictims", .shape = nodes_shape, .on_begin = begin_victims, .any_case = true},
    {.key = "NodeNameToMetaVictims",
     .shape = meta_nodes_shape,
     .on_begin = begin_meta_victims,
     .any_case = true},
    {0},
};

int preemption_json_read_args(const char *bytes, size_t length, struct preemption_args *out,
                              struct error *err)
{
    AUTO(clear_reading) struct args_reading reading = {0};

    kube_pod_init(&reading.args.pod);
    kube_pod_init(&reading.victim);
    if (json_read(args_shape, &reading, bytes, length, err) < 0)
        return -(int)err->code;
    preemption_args_clear(out);
    *out = reading.args;
    reading.args = (struct preemption_args){0};
    return 0;
}

/* --- the answer ------------------------------------------------------------------------------ */

static void write_node(struct buf *out, const struct victim_list *node)
{
    buf_add_json_string(out, node->node);
    buf_add_text(out, ":{\"Pods\":[");
    for (size_t i = 0; i < node->count; i++) {
        buf_add_text(out, i > 0 ? ",{\"UID\":" : "{\"UID\":");
        buf_add_json_string(out, node->uids[i]);
        buf_add_byte(out, '}');
    }
    buf_addf(out, "],\"NumPDBViolations\":%" PRIu32 "}", node->pdb_violations);
}

void preemption_json_write_result(struct buf *out, const struct victim_list *nodes, size_t count)
{
    buf_add_text(out, "{\"NodeNameToMetaVictims\":{");
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buf_add_byte(out, ',');
        write_node(out, &nodes[i]);
    }
    buf_add_text(out, "}}");
}
