/* SPDX-License-Identifier: Apache-2.0 */
/* pod_views - the list of pods that concern us, and one pod with its placement or its reasons. */
#include "views.h"
#include "topofit/mem.h"
#include "topofit/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DETAIL_MAX 320 /* bytes of a refusal's numbers */

/* One pod from all we know of it. */
struct pod_facts {
    struct pod *pod; /* a reference, or NULL */
    struct holding_view holding;
    bool holds;
    struct decision decision;
    bool has_decision;
};

static void facts_clear(struct pod_facts *facts)
{
    pod_unref(facts->pod);
    holding_view_clear(&facts->holding);
    decision_clear(&facts->decision);
}

/* Gather the facts of a pod; `pod` is a reference to take over, or NULL to look for it. */
static void gather(struct extender *extender, struct pod *steal_pod, const char *namespace,
                   const char *name, struct pod_facts *out)
{
    *out = (struct pod_facts){.pod = steal_pod};
    out->has_decision = steal_pod != NULL
                            ? history_find_by_uid(extender->history, steal_pod->uid, &out->decision)
                            : history_find(extender->history, namespace, name, &out->decision);
    if (out->pod == NULL)
        out->pod = cluster_find_pod(extender->cluster, namespace, name);
    if (out->pod == NULL && out->has_decision)
        out->pod = pod_ref(out->decision.pod);
    if (out->pod != NULL)
        out->holds = cluster_find_holding(extender->cluster, out->pod->uid, &out->holding);
}

static const char *phase_of(const struct pod_facts *facts)
{
    if (facts->pod->finished)
        return "finished";
    if (facts->holds)
        return facts->pod->deleting ? "terminating" : holding_state_name(facts->holding.state);
    return facts->pod->node[0] != '\0' ? "bound" : "pending";
}

/* --- the request ----------------------------------------------------------------------------- */

static void describe_request(const struct request *request, struct buf *out)
{
    if (request->problem != NULL)
        buf_add_text(out, "unreadable");
    for (size_t i = 0; i < request->ask_count && request->problem == NULL; i++)
        view_describe_ask(&request->asks[i], out);
}

static json_t *request_view(const struct request *request)
{
    json_t *items = json_array();

    for (size_t i = 0; i < request->ask_count; i++) {
        const struct ask *ask = &request->asks[i];
        json_t *item = view_ask(ask);

        json_object_set_new(item, "container",
                            view_string(request->containers[ask->container].name));
        json_array_append_new(items, item);
    }
    return items;
}

/* --- the placement --------------------------------------------------------------------------- */

static json_t *placement_view(const struct holding_view *holding)
{
    json_t *containers = json_object(), *view;

    for (size_t i = 0; i < holding->allocation.container_count; i++) {
        const struct allocated_container *container = &holding->allocation.containers[i];
        json_t *ids = json_array();

        for (size_t k = 0; k < container->device_count; k++)
            json_array_append_new(ids, view_string(container->devices[k].id));
        if (json_object_set_new(containers, container->name, ids) < 0)
            json_object_set_new(containers, "?", json_array());
    }
    view = json_pack("{s:o,s:o,s:i,s:b,s:s}", "node", view_string(holding->node), "containers",
                     containers, "tier", (int)holding->allocation.tier, "degraded",
                     holding->allocation.degraded, "state", holding_state_name(holding->state));
    view_add_partitions(&holding->allocation, view);
    return view;
}

static void describe_placement(const struct holding_view *holding, struct buf *out)
{
    for (size_t i = 0; i < holding->allocation.container_count; i++) {
        const struct allocated_container *container = &holding->allocation.containers[i];

        for (size_t k = 0; k < container->device_count; k++) {
            buf_addf(out, "%s%s", out->length > 0 ? "," : "", container->devices[k].id);
            view_describe_partition(&container->devices[k].partition, out);
        }
    }
    if (holding->unattributed > 0)
        buf_addf(out, "%s%u of the node's, its record does not tell which",
                 out->length > 0 ? ", " : "", holding->unattributed);
}

/* --- the reasons ----------------------------------------------------------------------------- */

static json_t *reasons_view(const struct decision *decision)
{
    json_t *items = json_array();

    for (size_t i = 0; i < decision->refusal_count; i++) {
        const struct outcome *outcome = decision->refusals[i].outcome;
        char detail[DETAIL_MAX];

        outcome_describe(outcome, detail, sizeof detail);
        json_array_append_new(
            items,
            json_pack("{s:o,s:s,s:b,s:o}", "node", view_string(decision_refused_node(decision, i)),
                      "reason", reason_name(outcome->reason), "evictionCouldCure",
                      reason_is_curable(outcome->reason), "detail", view_string(detail)));
    }
    return items;
}

/* One line on why a pod that has no devices yet is where it is. */
static void describe_why(const struct pod_facts *facts, struct buf *out)
{
    if (facts->pod->request.problem != NULL) {
        buf_add_text(out, facts->pod->request.problem);
        return;
    }
    if (!facts->has_decision || facts->holds)
        return;
    buf_addf(out, "%u of %u nodes fit", facts->decision.kept, facts->decision.considered);
    for (unsigned r = 0; r < REASON_COUNT; r++) {
        if (r != REASON_OK && facts->decision.by_reason[r] > 0)
            buf_addf(out, ", %u %s", facts->decision.by_reason[r], reason_name((enum reason)r));
    }
}

/* --- one pod --------------------------------------------------------------------------------- */

static json_t *pod_item(const struct pod_facts *facts)
{
    AUTO(buf_clear) struct buf why = buf_with_max(4096);
    const struct pod *pod = facts->pod;
    json_t *item = json_pack("{s:o,s:o,s:o,s:s,s:o}", "namespace", view_string(pod->namespace),
                             "name", view_string(pod->name), "uid", view_string(pod->uid), "phase",
                             phase_of(facts), "request", request_view(&pod->request));

    describe_why(facts, &why);
    json_object_set_new(item, "why", view_string(buf_text(&why)));
    if (facts->holds && facts->holding.has_allocation)
        json_object_set_new(item, "placement", placement_view(&facts->holding));
    if (pod->record_problem != NULL)
        json_object_set_new(item, "recordProblem", view_string(pod->record_problem));
    return item;
}

static void add_decision(const struct pod_facts *facts, json_t *document)
{
    char when[MOMENT_TEXT_BYTES];

    if (!facts->has_decision)
        return;
    moment_write(facts->decision.unix_ms, 0, when);
    json_object_set_new(
        document, "lastDecision",
        json_pack("{s:s,s:i,s:i,s:i}", "at", when, "considered", (int)facts->decision.considered,
                  "kept", (int)facts->decision.kept, "attempts", (int)facts->decision.attempts));
    /* A placed pod carries no left-over reasons. */
    if (!facts->holds)
        json_object_set_new(document, "reasons", reasons_view(&facts->decision));
}

/* A tier is told of sets of several devices whose links are known. */
static bool has_tier(const struct allocation *allocation)
{
    bool several = false;

    for (size_t i = 0; i < allocation->container_count; i++)
        several = several || allocation->containers[i].device_count > 1;
    return several && allocation->tier != TIER_UNKNOWN;
}

static void write_placement_text(const struct pod_facts *facts, struct buf *out)
{
    AUTO(buf_clear) struct buf devices = buf_with_max(8192);

    describe_placement(&facts->holding, &devices);
    buf_addf(out, "node:     %s\ngpus:     %s\n", facts->holding.node, buf_text(&devices));
    if (facts->holding.has_allocation && !has_tier(&facts->holding.allocation))
        buf_add_text(out, "tier:     -\n");
    else if (facts->holding.has_allocation)
        buf_addf(out, "tier:     %d (%s)\n", (int)facts->holding.allocation.tier,
                 tier_name(facts->holding.allocation.tier));
    if (facts->pod->record_problem != NULL)
        buf_addf(out, "record:   %s\n", facts->pod->record_problem);
}

static void write_reasons_text(const struct decision *decision, struct buf *out)
{
    static const char *const headers[] = {"NODE", "REASON", "DETAIL"};
    AUTO(table_free_pointer) struct table *table = table_new(headers, ARRAY_LEN(headers));

    for (size_t i = 0; i < decision->refusal_count; i++) {
        const struct outcome *outcome = decision->refusals[i].outcome;
        char detail[DETAIL_MAX];

        outcome_describe(outcome, detail, sizeof detail);
        table_add(table, decision_refused_node(decision, i));
        table_add(table, reason_name(outcome->reason));
        table_add(table, detail);
    }
    buf_add_byte(out, '\n');
    table_write(table, out);
}

static void write_pod_text(const struct pod_facts *facts, struct buf *out)
{
    AUTO(buf_clear) struct buf line = buf_with_max(8192);

    describe_request(&facts->pod->request, &line);
    buf_addf(out, "pod:      %s/%s\nphase:    %s\nrequest:  %s\n", facts->pod->namespace,
             facts->pod->name, phase_of(facts), buf_text(&line));
    if (facts->holds) {
        write_placement_text(facts, out);
        return;
    }
    buf_reset(&line);
    describe_why(facts, &line);
    buf_addf(out, "why:      %s\n", line.length > 0 ? buf_text(&line) : "not asked about yet");
    if (facts->has_decision && facts->decision.refusal_count > 0)
        write_reasons_text(&facts->decision, out);
}

int view_pod(struct extender *extender, const char *namespace, const char *name, struct moment now,
             enum view_format format, struct buf *out, struct error *err)
{
    AUTO(facts_clear) struct pod_facts facts;
    json_t *document;

    gather(extender, NULL, namespace, name, &facts);
    if (facts.pod == NULL)
        return error_set(err, ERR_NOT_FOUND, "pod %s/%s is not known", namespace, name);
    if (format == VIEW_TEXT) {
        write_pod_text(&facts, out);
        return 0;
    }
    document = view_document("Pod", now);
    json_object_update_new(document, pod_item(&facts));
    add_decision(&facts, document);
    view_write(document, out);
    return 0;
}

/* --- the list -------------------------------------------------------------------------------- */

static bool concerns_us(const struct pod_facts *facts)
{
    return facts->holds || request_wants_devices(&facts->pod->request);
}

static void add_row(const struct pod_facts *facts, struct table *table)
{
    AUTO(buf_clear) struct buf line = buf_with_max(8192);

    table_add(table, facts->pod->namespace);
    table_add(table, facts->pod->name);
    table_add(table, phase_of(facts));
    describe_request(&facts->pod->request, &line);
    table_add(table, buf_text(&line));
    table_add(table, facts->holds ? facts->holding.node : facts->pod->node);
    buf_reset(&line);
    if (facts->holds)
        describe_placement(&facts->holding, &line);
    else
        describe_why(facts, &line);
    table_addf(table, "%s", buf_text(&line));
}

/* A pod that only the scheduler has shown us, and that holds devices (embedded mode, watch lag). */
static void add_unlisted(struct extender *extender, struct pod ***pods, size_t *count)
{
    size_t holding_count = 0;
    struct holding_view *views = cluster_holdings(extender->cluster, NULL, &holding_count);

    *pods = xreallocarray(*pods, *count + holding_count, sizeof **pods);
    for (size_t i = 0; i < holding_count; i++) {
        AUTO(pod_unref_pointer)
        struct pod *listed = cluster_find_pod_by_uid(extender->cluster, views[i].uid);
        struct pod *seen;

        if (listed == NULL &&
            (seen = history_find_pod_by_uid(extender->history, views[i].uid)) != NULL)
            (*pods)[(*count)++] = seen;
    }
    holding_views_free(views, holding_count);
}

void view_pods(struct extender *extender, struct moment now, enum view_format format,
               struct buf *out)
{
    static const char *const headers[] = {"NAMESPACE", "POD",  "PHASE",
                                          "REQUEST",   "NODE", "GPUS OR WHY"};
    AUTO(table_free_pointer) struct table *table = table_new(headers, ARRAY_LEN(headers));
    json_t *document = view_document("PodList", now);
    json_t *items = json_array();
    size_t count = 0;
    struct pod **pods = cluster_pods(extender->cluster, &count);

    add_unlisted(extender, &pods, &count);
    for (size_t i = 0; i < count; i++) {
        AUTO(facts_clear) struct pod_facts facts;

        gather(extender, pods[i], pods[i]->namespace, pods[i]->name, &facts);
        if (concerns_us(&facts) && format == VIEW_TEXT)
            add_row(&facts, table);
        else if (concerns_us(&facts))
            json_array_append_new(items, pod_item(&facts));
    }
    free(pods);
    json_object_set_new(document, "items", items);
    if (format == VIEW_TEXT) {
        table_write(table, out);
        json_decref(document);
    } else {
        view_write(document, out);
    }
}
