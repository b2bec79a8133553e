/* SPDX-License-Identifier: Apache-2.0 */
/*
 * property_ledger - random histories of a cluster, and what the ledger makes of them.
 *
 * The test plays the API server (support/pod_server), kube-scheduler and the binder: events are
 * late, watches break and are replaced by lists that were answered some time ago, Bindings and
 * their answers get lost or come late, others bind pods too, nodes change underneath. A model of
 * plain arrays says after every step who holds what and what the sums are.
 * TOPOFIT_SEED repeats one history.
 */
#include "support/builders.h"
#include "support/ledger_model.h"
#include "support/node_set.h"
#include "support/pod_server.h"
#include "support/test.h"

#include "topofit/bind_job.h"
#include "topofit/cluster.h"
#include "topofit/decide.h"

#include <stdlib.h>

#define SEEDS 16
#define STEPS 15000
#define JOBS_MAX 8

/* A Binding on its way. */
struct job {
    unsigned number, name;
    int node;
    const struct allocation *record;
    enum { ON_ITS_WAY = 0, EXECUTED, REFUSED } arrival;
    uint64_t token;
    bool resumed;   /* sent after another one whose end is unknown */
    bool abandoned; /* nobody waits for the answer any more */
};

enum pod_copy { WATCHING = 0, ANNOUNCED, ANSWERED };

struct history {
    uint64_t chance;
    struct pod_server server;
    struct cluster *cluster;
    struct ledger_model model;
    struct node_set nodes;
    /* the list on its way */
    enum pod_copy copy;
    struct pod_version listed[SERVER_NAMES];
    struct job jobs[JOBS_MAX];
    size_t job_count;
    struct snapshot *old_snapshot;
    unsigned booked, conflicts, unclear, unsent,
        lists; /* so that we know the test does something */
};

static unsigned below(struct history *h, unsigned limit)
{
    return chance_below(&h->chance, limit);
}

/* --- checks -------------------------------------------------------------------------------------
 */

/* However late the events are: a pod that we bound and that has not ended holds its node. */
static void check_nothing_is_lost(const struct history *h)
{
    for (unsigned name = 0; name < SERVER_NAMES; name++) {
        const struct pod_version *pod = &h->server.pods[name];
        AUTO(holding_view_clear) struct holding_view view = {0};

        if (pod->number == 0 || pod->node < 0 || pod->finished || !pod->by_us)
            continue;
        assert_true(cluster_find_holding(h->cluster, uid_of(pod->number), &view));
        assert_string_equal(view.node, node_name_of(pod->node));
    }
}

/* What each pod says of itself is what the ledger holds for it. */
static void check_booked_right(const struct history *h)
{
    size_t count;
    AUTO_FREE struct pod_picture *pictures = cluster_picture_pods(h->cluster, &count);

    for (size_t i = 0; i < count; i++) {
        assert_true(pictures[i].booked_right);
        pod_unref(pictures[i].pod);
    }
}

static void check(struct history *h)
{
    cluster_check(h->cluster);
    check_booked_right(h);
    model_check(&h->model, h->cluster, h->nodes.items);
    check_nothing_is_lost(h);
}

/* --- the copy of the pods: events and lists -----------------------------------------------------
 */

static void deliver(struct history *h)
{
    struct pod_event event;

    if (h->copy != WATCHING || !pod_server_take_event(&h->server, &event))
        return;
    if (event.deleted) {
        AUTO(pod_unref_pointer) struct pod *pod = pod_of(&event.pod);

        cluster_remove_pod(h->cluster, pod->namespace, pod->name, pod->uid);
        model_gone(&h->model, event.pod.name, event.pod.number);
        return;
    }
    cluster_put_pod(h->cluster, pod_of(&event.pod));
    model_pod(&h->model, &event.pod);
}

static void announce(struct history *h)
{
    cluster_announce_pod_list(h->cluster);
    h->model.list_number++;
    h->copy = ANNOUNCED;
}

/* The server reads its store; what happened before will not be told by the watch after it. */
static void answer_list(struct history *h)
{
    memcpy(h->listed, h->server.pods, sizeof h->listed);
    h->server.event_count = 0;
    h->copy = ANSWERED;
}

static void commit_list(struct history *h)
{
    struct pod *pods[SERVER_NAMES];
    size_t count = 0;

    for (unsigned name = 0; name < SERVER_NAMES; name++) {
        if (h->listed[name].number != 0)
            pods[count++] = pod_of(&h->listed[name]);
    }
    cluster_replace_pods(h->cluster, pods, count);
    model_list(&h->model, h->listed);
    h->copy = WATCHING;
    h->lists++;
}

static void move_copy(struct history *h)
{
    switch (h->copy) {
    case WATCHING:
        if (below(h, 12) == 0)
            announce(h);
        else
            deliver(h);
        return;
    case ANNOUNCED:
        if (below(h, 3) == 0)
            answer_list(h);
        return;
    case ANSWERED:
        if (below(h, 3) == 0)
            commit_list(h);
        else if (below(h, 6) == 0)
            announce(h); /* it broke half way */
        return;
    }
}

/* --- what is told of Bindings -------------------------------------------------------------------
 */

static void confirm(struct history *h, unsigned number, uint64_t token)
{
    cluster_confirm(h->cluster, uid_of(number), token);
    model_confirm(&h->model, number, token);
}

static void release(struct history *h, unsigned number, uint64_t token)
{
    cluster_release(h->cluster, uid_of(number), token);
    model_release(&h->model, number, token);
}

static void abandon(struct history *h, unsigned number, uint64_t token)
{
    cluster_abandon(h->cluster, uid_of(number), token);
    model_abandon(&h->model, number, token);
}

static unsigned jobs_of(const struct history *h, unsigned number)
{
    unsigned count = 0;

    for (size_t i = 0; i < h->job_count; i++)
        count += h->jobs[i].number == number;
    return count;
}

/* A look at a pod of which no Binding is on its way any more. */
static void find_out(struct history *h, const struct job *job)
{
    if (pod_server_is_bound_by(&h->server, job->name, job->number, job->node, job->record))
        confirm(h, job->number, job->token);
    else if (!h->server.pods[job->name].by_us) /* else somebody changed the record since */
        release(h, job->number, job->token);
}

/* --- binding ------------------------------------------------------------------------------------
 */

static struct job *add_job(struct history *h, const struct pod_version *pod, int node,
                           const struct allocation *record)
{
    struct job *job = &h->jobs[h->job_count++];

    *job = (struct job){.number = pod->number, .name = pod->name, .node = node, .record = record};
    return job;
}

/* Could not be handed over; what came before may be found out about just then. */
static void withdraw(struct history *h, const struct job *earlier, uint64_t token)
{
    if (below(h, 2) == 0 && jobs_of(h, earlier->number) == 0)
        find_out(h, earlier);
    release(h, earlier->number, token);
    h->unsent++;
}

/* As the binder: the new job answers for those before it that nobody waits for any more. */
static void take_over(struct history *h, const struct job *earlier, uint64_t token)
{
    abandon(h, earlier->number, earlier->token);
    for (size_t i = 0; i < h->job_count; i++) {
        if (h->jobs[i].number == earlier->number)
            h->jobs[i].token = token;
    }
}

/* Does anybody else hold devices of this pod? */
static bool is_contested(struct history *h, const char *uid)
{
    AUTO(holding_view_clear) struct holding_view holding = {0};
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(h->cluster);
    const struct node_state *state;
    bool contested = false;

    assert_true(cluster_find_holding(h->cluster, uid, &holding));
    state = snapshot_find(snapshot, holding.node);
    for (unsigned d = 0; state != NULL && d < state->node->device_count; d++) {
        const struct device_use *use = &state->use.devices[d];

        for (size_t c = 0; use->conflicted && c < holding.allocation.container_count; c++) {
            const struct allocated_container *container = &holding.allocation.containers[c];

            for (size_t i = 0; i < container->device_count; i++)
                contested =
                    contested || strcmp(container->devices[i].id, state->node->devices[d].id) == 0;
        }
    }
    return contested;
}

/* Only what is unknown is sent again, and not what others hold by now. */
static void try_again(struct history *h, const struct pod_version *pod, const struct claim *claim)
{
    const struct job earlier = {.number = pod->number,
                                .name = pod->name,
                                .node = claim->node,
                                .record = claim->record,
                                .token = claim->last};
    bool is_unknown = claim->state == HOLDING_UNKNOWN;
    uint64_t token = cluster_resume(h->cluster, uid_of(pod->number));
    struct job *job;

    assert_true(is_unknown || token == 0);
    if (is_unknown)
        assert_int_equal(token != 0, !is_contested(h, uid_of(pod->number)));
    if (token == 0)
        return;
    model_resume(&h->model, pod->number, token);
    check(h);
    if (below(h, 4) == 0) {
        withdraw(h, &earlier, token);
        return;
    }
    take_over(h, &earlier, token);
    job = add_job(h, pod, earlier.node, earlier.record);
    job->resumed = true;
    job->token = token;
}

/* The scheduler's idea of a pod to bind; false when there is none. */
static bool choose_pod(struct history *h, struct pod_version *out)
{
    unsigned name = below(h, SERVER_NAMES);
    const struct pod_version *seen = &h->model.seen[name];

    *out = h->server.pods[name];
    /* Now and then the scheduler is late as well. */
    if (seen->number != 0 && (seen->number == out->number || below(h, 8) == 0))
        *out = *seen;
    if (out->number == 0 || out->node >= 0 || (seen->number != 0 && seen->number != out->number))
        return false;
    return !(out->finished || out->deleting) || below(h, 6) == 0;
}

static void check_no_new_conflict(const struct history *h, const struct node_state *before)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(h->cluster);
    const struct node_state *after = snapshot_find(snapshot, before->node->name);

    for (unsigned i = 0; i < after->use.device_count; i++)
        assert_int_equal(after->use.devices[i].conflicted, before->use.devices[i].conflicted);
}

/* What cluster_reserve() has to say about a state that may be old by now. */
static enum error_code expect_reserve(const struct history *h, const struct pod *pod,
                                      const struct node_state *expected)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(h->cluster);
    AUTO(holding_view_clear) struct holding_view view = {0};
    const struct node_state *present = snapshot_find(snapshot, expected->node->name);

    if (present == NULL)
        return ERR_NOT_FOUND;
    if (present != expected)
        return ERR_CONFLICT;
    return cluster_find_holding(h->cluster, pod->uid, &view) ? ERR_BUSY : ERR_NONE;
}

static void reserve(struct history *h, const struct pod_version *version, int node,
                    const struct node_state *state, const struct plan *plan)
{
    AUTO(allocation_clear) struct allocation allocation;
    AUTO(pod_unref_pointer) struct pod *pod = pod_of(version);
    struct error err = {0};
    const struct allocation *record;
    enum error_code want;
    uint64_t token = 0;

    plan_allocation(plan, state->node, version->request, &allocation);
    for (unsigned meanwhile = below(h, 4) == 0 ? 1 + below(h, 3) : 0; meanwhile > 0; meanwhile--)
        move_copy(h);
    want = expect_reserve(h, pod, state);
    assert_int_equal(cluster_reserve(h->cluster, pod, &allocation, state, &token, &err),
                     -(int)want);
    if (want != ERR_NONE) {
        h->conflicts++;
        return;
    }
    check_no_new_conflict(h, state);
    record = pod_server_keep(&h->server, &allocation);
    h->model.claims[h->model.claim_count++] =
        (struct claim){version->number,    HOLDING_RESERVED,     node,  record,
                       version->init_done, h->model.list_number, token, 0};
    h->booked++;
    if (below(h, 8) > 0) {
        add_job(h, version, node, record)->token = token;
        return;
    }
    release(h, version->number, token); /* could not be handed over */
    h->unsent++;
}

/* As extender_bind: decide on the present state, or try again what is not settled. */
static void bind(struct history *h)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(h->cluster);
    int node = (int)below(h, SERVER_NODES);
    const struct node_state *state = snapshot_find(snapshot, node_name_of(node));
    struct decide_policy policy = decide_policy_default();
    struct pod_version pod;
    const struct claim *claim;
    struct verdict verdict;
    struct plan plan;

    if (!choose_pod(h, &pod) || state == NULL || h->job_count == JOBS_MAX ||
        h->model.claim_count == CLAIMS_MAX)
        return;
    claim = model_claim(&h->model, pod.number);
    if (claim != NULL) {
        if (claim->node == node)
            try_again(h, &pod, claim);
        return;
    }
    decide_node(state->node, &state->use, pod.request, &policy, NULL, &plan, &verdict);
    if (verdict.reason == REASON_OK)
        reserve(h, &pod, node, state, &plan);
}

/* --- what becomes of Bindings -------------------------------------------------------------------
 */

static void arrive(struct history *h, struct job *job)
{
    if (h->server.event_count + 2 >= SERVER_EVENTS_MAX)
        return;
    job->arrival = pod_server_bind(&h->server, job->name, job->number, job->node, job->record)
                       ? EXECUTED
                       : REFUSED;
}

static void tell_end(struct history *h, const struct job *job, enum bind_outcome outcome)
{
    switch (outcome) {
    case BIND_BOUND:
        confirm(h, job->number, job->token);
        return;
    case BIND_FAILED:
        release(h, job->number, job->token);
        return;
    case BIND_UNCLEAR:
        cluster_mark_unknown(h->cluster, uid_of(job->number), job->token);
        model_mark_unknown(&h->model, job->number, job->token);
        h->unclear++;
        return;
    }
}

/* The last Binding of a pod that may have been on its way has arrived, or never will. */
static void settle(struct history *h, const struct job *job)
{
    if (jobs_of(h, job->number) == 1 && below(h, 4) > 0)
        find_out(h, job);
}

/* An answer, or what a look at the pod tells instead. */
static enum bind_outcome learn_outcome(struct history *h, const struct job *job)
{
    const struct pod_version *pod = &h->server.pods[job->name];

    if (job->arrival == EXECUTED && below(h, 3) > 0)
        return BIND_BOUND; /* 201; the pod may have been deleted since */
    if (job->arrival == EXECUTED)
        return pod->number == job->number ? BIND_BOUND : BIND_FAILED;
    return pod_server_is_bound_by(&h->server, job->name, job->number, job->node, job->record)
               ? BIND_BOUND
               : BIND_FAILED;
}

static void step_job(struct history *h)
{
    struct job *job = &h->jobs[h->job_count > 0 ? below(h, (unsigned)h->job_count) : 0];

    if (h->job_count == 0)
        return;
    if (job->arrival == ON_ITS_WAY && below(h, 4) > 0) {
        arrive(h, job);
        if (!job->abandoned || job->arrival == ON_ITS_WAY)
            return;
    } else if (job->arrival == ON_ITS_WAY && !job->abandoned) {
        /* After an earlier one that is not settled, one that was not sent has failed nothing. */
        bool failed = !job->resumed && below(h, 2) == 0;

        tell_end(h, job, failed ? BIND_FAILED : BIND_UNCLEAR);
        job->abandoned = true;
        if (!failed)
            return;
    } else if (!job->abandoned) {
        tell_end(h, job, learn_outcome(h, job));
    }
    if (job->abandoned)
        settle(h, job);
    *job = h->jobs[--h->job_count];
}

/* --- histories ----------------------------------------------------------------------------------
 */

static void begin(struct history *h, uint64_t seed)
{
    *h = (struct history){.chance = seed * 7919};
    pod_server_init(&h->server, seed);
    h->cluster = cluster_new(&test_key);
    node_set_init(&h->nodes, h->cluster, &h->chance);
}

static void end(struct history *h)
{
    snapshot_unref(h->old_snapshot);
    cluster_free(h->cluster);
    node_set_clear(&h->nodes);
    pod_server_clear(&h->server);
}

static void step(struct history *h)
{
    unsigned kind = below(h, 100);

    if (kind < 15) {
        pod_server_step(&h->server);
    } else if (kind < 45) {
        move_copy(h);
    } else if (kind < 75) {
        bind(h);
    } else if (kind < 97) {
        step_job(h);
    } else if (kind < 99) {
        node_set_step(&h->nodes, h->cluster, &h->chance);
    } else {
        snapshot_unref(h->old_snapshot);
        h->old_snapshot = cluster_snapshot(h->cluster);
    }
}

/* Nothing happens any more, and everything is told. */
static void calm_down(struct history *h)
{
    while (h->job_count > 0) {
        h->server.event_count = 0;
        step_job(h);
    }
    announce(h);
    answer_list(h);
    commit_list(h);
    /* Bindings that never arrived: a look at the pod says so. */
    while (h->model.claim_count > 0) {
        assert_int_equal(h->model.claims[0].state, HOLDING_UNKNOWN);
        abandon(h, h->model.claims[0].number, h->model.claims[0].before);
        release(h, h->model.claims[0].number, h->model.claims[0].last);
    }
}

/* A restart: the lists alone. */
static void restart(struct history *h)
{
    cluster_free(h->cluster);
    h->cluster = cluster_new(&test_key);
    h->model = (struct ledger_model){0};
    assert_false(cluster_is_synced(h->cluster));
    node_set_list(&h->nodes, h->cluster);
    announce(h);
    answer_list(h);
    commit_list(h);
    assert_true(cluster_is_synced(h->cluster));
}

static void check_only_the_bound_hold(struct history *h)
{
    size_t counts[HOLDING_BOUND + 1], bound = 0;

    check(h);
    for (unsigned name = 0; name < SERVER_NAMES; name++) {
        const struct pod_version *pod = &h->server.pods[name];

        bound += pod->number != 0 && pod->node >= 0 && !pod->finished;
    }
    cluster_count_holdings(h->cluster, counts);
    assert_int_equal(counts[HOLDING_RESERVED] + counts[HOLDING_UNKNOWN], 0);
    assert_int_equal(counts[HOLDING_BOUND], bound);
}

static void run(uint64_t seed)
{
    struct history *h = xcalloc(1, sizeof *h);

    print_message("TOPOFIT_SEED=%llu: ", (unsigned long long)seed);
    begin(h, seed);
    for (unsigned i = 0; i < STEPS; i++) {
        step(h);
        check(h);
    }
    calm_down(h);
    check_only_the_bound_hold(h);
    restart(h);
    check_only_the_bound_hold(h);
    print_message("%u booked, %u overtaken, %u unclear, %u unsent, %u lists\n", h->booked,
                  h->conflicts, h->unclear, h->unsent, h->lists);
    assert_true(h->booked > STEPS / 100 && h->lists > STEPS / 1000 && h->unclear > 0 &&
                h->unsent > 0);
    end(h);
    free(h);
}

static void test_cluster__agrees_with_a_model_over_random_histories(void **state)
{
    const char *one = getenv("TOPOFIT_SEED");

    (void)state;
    if (one != NULL) {
        run(strtoull(one, NULL, 10));
        return;
    }
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cluster__agrees_with_a_model_over_random_histories),
    };

    return cmocka_run_group_tests_name("ledger_property", tests, NULL, NULL);
}
