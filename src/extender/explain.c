/* SPDX-License-Identifier: Apache-2.0 */
/* explain - what would happen to a pod now, on every node. */
#include "topofit/explain.h"

#include "call.h"
#include "criteria_columns.h"
#include "pod_quota.h"
#include "views.h"
#include "topofit/dialect.h"
#include "topofit/mem.h"
#include "topofit/table.h"

#include <stdlib.h>
#include <string.h>

#define DETAIL_MAX 320
#define UNSCHEDULABLE "the node is unschedulable (cordoned): kube-scheduler leaves it out"
#define NO_DEVICE "the pod asks for no device of a known class"
#define ANY_NODE NO_DEVICE ": every node will do"

/* One node's answer. */
struct row {
    struct ranked_node ranked;
    bool kept;
    bool linked; /* it has a set of several devices, and how they are linked is known */
    enum tier tier;
    unsigned quality_0_100;
    const struct node_state *state; /* borrowed from the snapshot */
    struct verdict verdict;
    struct allocation allocation; /* when kept */
};

struct explanation {
    struct pod *pod;
    struct snapshot *snapshot;
    struct row *rows;            /* [snapshot->count] best first */
    enum packing_policy packing; /* the pod's */
    enum rank_scores scores;     /* as configured */
    struct ranking *ranking;
    struct pod_quota quota;
    struct decide_policy policy; /* points to it */
    size_t kept;
    json_t *remarks; /* on the pod: lines for people */
    bool misspelt;   /* a resource that looks like one of a class is of none */
};

static void explanation_clear(struct explanation *explanation)
{
    for (size_t i = 0; explanation->rows != NULL && i < explanation->snapshot->count; i++)
        allocation_clear(&explanation->rows[i].allocation);
    free(explanation->rows);
    free(explanation->ranking);
    json_decref(explanation->remarks);
    snapshot_unref(explanation->snapshot);
    pod_unref(explanation->pod);
}

/* Tier and quality of a plan say something: a set of several devices, whose links are known. */
static bool has_known_links(const struct plan *plan, const struct request *request)
{
    bool several = false;

    for (size_t a = 0; a < request->ask_count; a++)
        several = several || mask_count(plan->sets[a]) > 1;
    return several && plan->tier != TIER_UNKNOWN;
}

static void explain_node(struct extender *extender, const struct explanation *explanation,
                         struct row *row)
{
    const struct node_state *state = row->state;
    const struct site site = node_state_site(state);
    const struct request *request = &explanation->pod->request;
    const struct called_node called = {
        .name = state->node->name, .node = state->node, .use = &state->use, .rank = state->rank};
    struct plan plan;

    row->ranked.name = called.name;
    if (request->problem != NULL) {
        row->verdict.reason = REASON_BAD_REQUEST;
        return;
    }
    holds_decide(&site, explanation->pod, &explanation->policy, extender->memo, &plan,
                 &row->verdict);
    if (row->verdict.reason != REASON_OK)
        return;
    row->kept = true;
    row->linked = has_known_links(&plan, request);
    row->tier = plan.tier;
    row->quality_0_100 = plan.quality_0_100;
    row->ranked = ranking_judge(explanation->ranking, &called, &plan);
    plan_allocation(&plan, state->node, request, &row->allocation);
}

/* By what kube-scheduler is told: of scores by grade the best merit need not have the best. */
static int compare_rows(const void *a, const void *b)
{
    const struct ranked_node *first = &((const struct row *)a)->ranked;
    const struct ranked_node *second = &((const struct row *)b)->ranked;

    if (first->score_0_10 != second->score_0_10)
        return first->score_0_10 > second->score_0_10 ? -1 : 1;
    return rank_compare(first, second);
}

static void score(const struct extender *extender, struct explanation *explanation)
{
    size_t count = explanation->snapshot->count;
    struct ranked_node *nodes = xcalloc(count, sizeof *nodes);
    uint64_t *merits = xcalloc(count, sizeof *merits);
    struct rank_limits limits = {0};

    for (size_t i = 0; i < count; i++)
        nodes[i] = explanation->rows[i].ranked;
    rank_nodes(nodes, count, extender->options.policy.scores, &limits, merits);
    for (size_t i = 0; i < count; i++)
        explanation->rows[i].ranked = nodes[i];
    free(merits);
    free(nodes);
}

static void fill(struct extender *extender, struct explanation *explanation)
{
    size_t count = explanation->snapshot->count;

    explanation->rows = xcalloc(count, sizeof *explanation->rows);
    explanation->ranking = xmalloc(sizeof *explanation->ranking);
    ranking_begin(explanation->ranking, extender, explanation->snapshot, explanation->pod);
    for (size_t i = 0; i < count; i++) {
        struct row *row = &explanation->rows[i];

        row->state = snapshot_state(explanation->snapshot, i);
        explain_node(extender, explanation, row);
        explanation->kept += row->kept;
    }
    ranking_end(explanation->ranking);
    score(extender, explanation);
    if (count > 0)
        qsort(explanation->rows, count, sizeof *explanation->rows, compare_rows);
}

static void describe_devices(const struct row *row, struct buf *out)
{
    for (size_t c = 0; c < row->allocation.container_count; c++) {
        const struct allocated_container *container = &row->allocation.containers[c];

        for (size_t k = 0; k < container->device_count; k++) {
            int position = node_find_device(row->state->node, container->devices[k].id);

            buf_addf(out, "%s%u",
                     out->length == 0 ? ""
                     : k == 0         ? " + "
                                      : ",",
                     row->state->node->devices[position].index);
            view_describe_partition(&container->devices[k].partition, out);
        }
    }
}

/* What there is to say of a node that fits: nothing, often. */
static void describe_kept(const struct row *row, char *text, size_t size)
{
    AUTO(buf_clear) struct buf out = buf_with_max(size - 1);
    const struct node *node = row->state->node;

    if (node->unschedulable)
        buf_add_text(&out, UNSCHEDULABLE);
    if (node->problem != NULL)
        buf_addf(&out, "%s%s", out.length > 0 ? "; " : "", node->problem);
    if (row->linked)
        buf_addf(&out, "%slink quality %u%%", out.length > 0 ? "; " : "", row->quality_0_100);
    memcpy(text, buf_text(&out), out.length + 1);
}

static void describe_reason(const struct explanation *explanation, const struct row *row,
                            char *text, size_t size)
{
    if (row->kept)
        describe_kept(row, text, size);
    else if (row->verdict.reason == REASON_BAD_REQUEST)
        snprintf(text, size, "%s", explanation->pod->request.problem);
    else
        verdict_describe(&row->verdict, row->state->node, text, size);
}

static void add_score(const struct row *row, struct table *table)
{
    if (row->kept)
        table_addf(table, "%d", row->ranked.score_0_10);
    else
        table_add(table, "");
}

static void write_table(const struct explanation *explanation, struct buf *out)
{
    static const char *const headers[] = {"NODE", "SCORE", "GPUS", "TIER", "ANSWER", "DETAIL"};
    AUTO(table_free_pointer) struct table *table = table_new(headers, ARRAY_LEN(headers));

    for (size_t i = 0; i < explanation->snapshot->count; i++) {
        const struct row *row = &explanation->rows[i];
        AUTO(buf_clear) struct buf devices = buf_with_max(DETAIL_MAX);
        char detail[DETAIL_MAX];

        describe_devices(row, &devices);
        describe_reason(explanation, row, detail, sizeof detail);
        table_add(table, row->ranked.name);
        add_score(row, table);
        table_add(table, buf_text(&devices));
        table_add(table, row->linked ? tier_name(row->tier) : "");
        table_add(table, row->kept ? "fits" : reason_name(row->verdict.reason));
        table_add(table, detail);
    }
    table_write(table, out);
}

/* --- by criteria ------------------------------------------------------------------------------ */

#define COLUMNS_BEFORE 2 /* NODE, SCORE */
#define COLUMNS_MAX (COLUMNS_BEFORE + CRITERION_COUNT + 2)

static size_t fill_headers(const struct explanation *explanation, const char *headers[COLUMNS_MAX])
{
    unsigned count;
    const enum criterion *order = worth_order(explanation->packing, &count);
    size_t columns = 0;

    headers[columns++] = "NODE";
    headers[columns++] = "SCORE";
    for (unsigned i = 0; i < count; i++)
        headers[columns++] = criterion_header(order[i]);
    headers[columns++] = "GPUS";
    headers[columns++] = "ANSWER";
    return columns;
}

static void add_criteria(const struct explanation *explanation, const struct row *row,
                         struct table *table)
{
    unsigned count;
    const enum criterion *order = worth_order(explanation->packing, &count);
    struct worth worth;

    worth_of_merit(row->ranked.merit, explanation->packing, &worth);
    for (unsigned i = 0; i < count; i++) {
        char text[CRITERION_TEXT_MAX];

        criterion_describe(&worth, order[i], text);
        table_add(table, row->kept ? text : "");
    }
}

static void write_criteria_table(const struct explanation *explanation, struct buf *out)
{
    const char *headers[COLUMNS_MAX];
    size_t columns = fill_headers(explanation, headers);
    AUTO(table_free_pointer) struct table *table = table_new(headers, columns);

    for (size_t i = 0; i < explanation->snapshot->count; i++) {
        const struct row *row = &explanation->rows[i];
        AUTO(buf_clear) struct buf devices = buf_with_max(DETAIL_MAX);

        describe_devices(row, &devices);
        table_add(table, row->ranked.name);
        add_score(row, table);
        add_criteria(explanation, row, table);
        table_add(table, buf_text(&devices));
        table_add(table, row->kept ? "fits" : reason_name(row->verdict.reason));
    }
    table_write(table, out);
    buf_addf(out,
             "\n%s: %s\n"
             "Of LINKS and SETTLED more is better, of all others less.\n",
             packing_policy_name(explanation->packing),
             explanation->scores == RANK_WINNER
                 ? "the first column from the left in which nodes differ decides, then the name."
                 : "packing.scores is graded: SCORE says how good each node is in itself, and\n"
                   "kube-scheduler adds it to the scores of its own plugins. The columns decide "
                   "only where scores: winner.");
}

static void write_text(const struct explanation *explanation, enum explain_columns columns,
                       struct buf *out)
{
    if (explanation->snapshot->count == 0)
        buf_add_text(out, "there is no node to put the pod on\n");
    else if (columns == EXPLAIN_CRITERIA)
        write_criteria_table(explanation, out);
    else
        write_table(explanation, out);
}

/* --- as JSON ---------------------------------------------------------------------------------- */

/* In the order they count. */
static json_t *criteria_view(const struct explanation *explanation, const struct row *row)
{
    unsigned count;
    const enum criterion *order = worth_order(explanation->packing, &count);
    json_t *items = json_array();
    struct worth worth;

    worth_of_merit(row->ranked.merit, explanation->packing, &worth);
    for (unsigned i = 0; i < count; i++) {
        char text[CRITERION_TEXT_MAX];

        criterion_describe(&worth, order[i], text);
        json_array_append_new(
            items, json_pack("{s:s,s:s}", "name", criterion_name(order[i]), "value", text));
    }
    return items;
}

static json_t *row_view(const struct explanation *explanation, const struct row *row)
{
    char detail[DETAIL_MAX];
    json_t *item = json_object();
    json_t *containers = json_object();

    describe_reason(explanation, row, detail, sizeof detail);
    json_object_set_new(item, "node", view_string(row->ranked.name));
    json_object_set_new(item, "fits", json_boolean(row->kept));
    json_object_set_new(item, "reason", json_string(reason_name(row->verdict.reason)));
    json_object_set_new(item, "detail", view_string(detail));
    if (!row->kept) {
        json_decref(containers);
        return item;
    }
    for (size_t c = 0; c < row->allocation.container_count; c++) {
        const struct allocated_container *container = &row->allocation.containers[c];
        json_t *ids = json_array();

        for (size_t k = 0; k < container->device_count; k++)
            json_array_append_new(ids, view_string(container->devices[k].id));
        json_object_set_new(containers, container->name, ids);
    }
    json_object_set_new(item, "score", json_integer(row->ranked.score_0_10));
    json_object_set_new(item, "tier",
                        row->linked ? json_integer((json_int_t)row->tier) : json_null());
    json_object_set_new(item, "linkQuality",
                        row->linked ? json_integer(row->quality_0_100) : json_null());
    json_object_set_new(item, "criteria", criteria_view(explanation, row));
    json_object_set_new(item, "containers", containers);
    view_add_partitions(&row->allocation, item);
    return item;
}

/* --- remarks --------------------------------------------------------------------------------- */

static void add_remark(void *ctx, const char *text)
{
    json_array_append_new(ctx, view_string(text));
}

static void write_remarks(const struct explanation *explanation, struct buf *out)
{
    const json_t *remark;
    size_t i;

    json_array_foreach(explanation->remarks, i, remark)
        buf_addf(out, "%s\n", json_string_value(remark));
}

/* --- no device ------------------------------------------------------------------------------- */

/* A pod that asks for no device: every node will do, or it did not mean to ask for none. */
static void write_any_node(const struct explanation *explanation, struct moment now,
                           enum view_format format, struct buf *out)
{
    AUTO_FREE const struct node_state **states = snapshot_by_name(explanation->snapshot);
    const char *detail = explanation->misspelt ? NO_DEVICE : ANY_NODE;
    json_t *document, *nodes;

    if (format == VIEW_TEXT) {
        write_remarks(explanation, out);
        buf_addf(out, "%s\n", detail);
        return;
    }
    document = view_document("Explanation", now);
    nodes = json_array();
    for (size_t i = 0; i < explanation->snapshot->count; i++)
        json_array_append_new(
            nodes, json_pack("{s:o,s:b,s:s,s:s}", "node", view_string(states[i]->node->name),
                             "fits", !explanation->misspelt, "reason",
                             reason_name(explanation->misspelt ? REASON_BAD_REQUEST : REASON_OK),
                             "detail", detail));
    json_object_set_new(document, "nodes", nodes);
    json_object_set(document, "remarks", explanation->remarks);
    view_write(document, out);
}

static void write_json(const struct explanation *explanation, struct moment now, struct buf *out)
{
    json_t *document = view_document("Explanation", now);
    json_t *nodes = json_array();

    json_object_set_new(document, "policy", json_string(packing_policy_name(explanation->packing)));
    for (size_t i = 0; i < explanation->snapshot->count; i++)
        json_array_append_new(nodes, row_view(explanation, &explanation->rows[i]));
    json_object_set_new(document, "nodes", nodes);
    json_object_set(document, "remarks", explanation->remarks);
    view_write(document, out);
}

size_t explain_pod(struct extender *extender, const struct kube_pod *pod, struct moment now,
                   enum view_format format, enum explain_columns columns, struct buf *out)
{
    AUTO(explanation_clear)
    struct explanation explanation = {.pod = dialect_pod(pod, extender->classes),
                                      .remarks = json_array()};

    explanation.misspelt =
        dialect_pod_remarks(pod, extender->classes, add_remark, explanation.remarks);
    cluster_tell_time(extender->cluster, now.unix_ms);
    explanation.snapshot = cluster_snapshot(extender->cluster);
    if (!request_wants_devices(&explanation.pod->request)) {
        write_any_node(&explanation, now, format, out);
        return explanation.misspelt ? 0 : explanation.snapshot->count;
    }
    explanation.policy = extender->options.policy;
    pod_quota_ask(extender->cluster, explanation.pod, &explanation.quota, &explanation.policy);
    explanation.scores = extender->options.policy.scores;
    explanation.packing = decide_packing(&extender->options.policy, &explanation.pod->request);
    fill(extender, &explanation);
    if (format == VIEW_TEXT) {
        write_remarks(&explanation, out);
        write_text(&explanation, columns, out);
    } else {
        write_json(&explanation, now, out);
    }
    return explanation.kept;
}
