/* SPDX-License-Identifier: Apache-2.0 */
/* Who may bind, and when; how it ends. The machines themselves have tests of their own. */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/controller.h"
#include "topofit/mem.h"

#include <stdlib.h>

#define T0 1000000u
#define CALLS_MAX 32
#define PODS_WAIT_MS 1000u /* for the lease, at the start */

#define EMPTY(kind, version) \
    "{\"kind\":\"" kind \
    "List\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" version \
    "\"},\"items\":[]}"
#define STATUS(code) \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"m\"," \
    "\"code\":" code "}"
#define LEASE(holder, version) \
    "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{\"name\":\"t\"," \
    "\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"" version "\"},\"spec\":{" \
    "\"holderIdentity\":\"" holder "\",\"leaseDurationSeconds\":15,\"renewTime\":" \
    "\"2026-01-01T00:00:0" version ".000000Z\",\"leaseTransitions\":1}}"
#define LEASE_PATH "/apis/coordination.k8s.io/v1/namespaces/n/leases"
#define BINDING_PATH "/api/v1/namespaces/default/pods/p/binding"

/* A controller, and the test as API server: what is in flight, and a made-up time. */
struct story {
    struct cluster *cluster;
    struct history *history;
    struct intake *intake;
    struct controller *controller;
    uint64_t now_ms;
    struct sent {
        uint64_t id;
        char method[8], path[256], body[1024];
    } sent[CALLS_MAX];
    size_t sent_count;
    unsigned done;
    enum bind_outcome outcome;
};

static struct moment now(const struct story *story)
{
    return (struct moment){story->now_ms, story->now_ms};
}

static struct story *story_with(bool elects, bool reads_quotas)
{
    static const struct lease_options lease = {"n", "t", "us", 15000, 10000, 2000, 0};
    struct story *story = xcalloc(1, sizeof *story);

    story->now_ms = T0;
    story->cluster = cluster_new(&test_key);
    story->history = history_new(&test_key);
    story->intake = intake_new(story->cluster, &test_classes, &(struct intake_listener){0});
    story->controller = controller_new(&(struct controller_options){
        .intake = story->intake,
        .cluster = story->cluster,
        .history = story->history,
        .binds_max = 4,
        .reads_quotas = reads_quotas,
        .lease = elects ? &lease : NULL,
        .key = test_key,
        .seed = 42,
    });
    return story;
}

static struct story *story_new(bool elects)
{
    return story_with(elects, false);
}

static void story_free(struct story **place)
{
    controller_free((*place)->controller);
    intake_free((*place)->intake);
    history_free((*place)->history);
    cluster_free((*place)->cluster);
    free(*place);
}

static size_t find_sent(const struct story *story, const char *method, const char *begin)
{
    size_t i = 0;

    while (i < story->sent_count && (strcmp(story->sent[i].method, method) != 0 ||
                                     strncmp(story->sent[i].path, begin, strlen(begin)) != 0))
        i++;
    return i;
}

static bool is_sent(const struct story *story, const char *method, const char *begin)
{
    return find_sent(story, method, begin) < story->sent_count;
}

static void forget_sent(struct story *story, size_t i)
{
    story->sent[i] = story->sent[--story->sent_count];
}

/* Let the controller do what it wants now. return when it wants to be asked again. */
static uint64_t drive(struct story *story)
{
    struct controller_wish wish;

    for (;;) {
        controller_next(story->controller, now(story), &wish);
        if (wish.action == CONTROLLER_WAIT)
            return wish.wait_until_ms;
        if (wish.action == CONTROLLER_SEND) {
            struct sent *sent = &story->sent[story->sent_count++];

            assert_true(story->sent_count < CALLS_MAX);
            sent->id = wish.request.id;
            snprintf(sent->method, sizeof sent->method, "%s", wish.request.method);
            snprintf(sent->path, sizeof sent->path, "%s", wish.request.path);
            snprintf(sent->body, sizeof sent->body, "%s",
                     wish.request.body != NULL ? wish.request.body : "");
        }
        for (size_t i = 0; wish.action == CONTROLLER_CANCEL && i < story->sent_count; i++) {
            if (story->sent[i].id == wish.request.id)
                forget_sent(story, i);
        }
    }
}

/* The request that begins so is answered, and the controller goes on. */
static void answer(struct story *story, const char *method, const char *begin, int status,
                   const char *body)
{
    size_t i = find_sent(story, method, begin);
    uint64_t id;

    if (i == story->sent_count)
        fail_msg("nothing in flight is %s %s", method, begin);
    id = story->sent[i].id;
    forget_sent(story, i);
    controller_on_begin(story->controller, id, status, 0, story->now_ms);
    controller_on_bytes(story->controller, id, body, strlen(body), story->now_ms);
    controller_on_end(story->controller, id, NULL, true, story->now_ms);
    drive(story);
}

static void pass(struct story *story, uint64_t ms)
{
    uint64_t until_ms = story->now_ms + ms;

    for (uint64_t due_ms; (due_ms = drive(story)) <= until_ms;)
        story->now_ms = due_ms > story->now_ms ? due_ms : story->now_ms + 1;
    story->now_ms = until_ms;
    drive(story);
}

static void on_done(void *ctx, enum bind_outcome outcome, const char *text)
{
    struct story *story = ctx;

    (void)text;
    story->done++;
    story->outcome = outcome;
}

/* return 0 when the job was taken. */
static int submit_with(struct story *story, enum node_lock lock)
{
    struct bind_job *job = bind_job_new("default", "p", "uid", "n1");
    struct controller_status status;
    struct error err = {0};
    int result;

    controller_read_status(story->controller, story->now_ms, &status);
    job->deadline_ms = story->now_ms + 6000;
    job->done = on_done;
    job->ctx = story;
    job->term = status.term;
    job->lock = lock;
    result = controller_submit_bind(story->controller, job, story->now_ms, &err);
    if (result < 0)
        bind_job_free(job);
    drive(story);
    return result;
}

static int submit(struct story *story)
{
    return submit_with(story, NODE_LOCK_NONE);
}

#define LIST_OF_N1 \
    "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"5\"}," \
    "\"items\":" \
    "[{\"metadata\":{\"name\":\"n1\",\"uid\":\"u\",\"resourceVersion\":\"4\"}}]}"
#define LOCKED_N1 \
    "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n1\",\"uid\":\"u\"," \
    "\"resourceVersion\":\"7\",\"annotations\":{\"hami.io/mutex.lock\":" \
    "\"1970-01-01T00:16:40Z,default,p\"}}}"

/* Without an election, with node n1 listed. */
static struct story *story_with_node(void)
{
    struct story *story = story_new(false);

    drive(story);
    answer(story, "GET", "/api/v1/nodes?limit", 200, LIST_OF_N1);
    answer(story, "GET", "/api/v1/pods?limit", 200, EMPTY("Pod", "6"));
    return story;
}

static bool may_bind(const struct story *story)
{
    struct controller_status status;

    controller_read_status(story->controller, story->now_ms, &status);
    return status.may_bind;
}

static void answer_lists(struct story *story, const char *version_of_pods)
{
    answer(story, "GET", "/api/v1/nodes?limit", 200, EMPTY("Node", "5"));
    answer(story, "GET", "/api/v1/pods?limit", 200, version_of_pods);
}

/* It leads, and has listed the pods since. */
static struct story *story_leading(void)
{
    struct story *story = story_new(true);

    drive(story);
    answer(story, "GET", LEASE_PATH "/t", 404, STATUS("404"));
    answer(story, "POST", LEASE_PATH, 201, LEASE("us", "1"));
    answer_lists(story, EMPTY("Pod", "6"));
    assert_true(may_bind(story));
    return story;
}

static void test_start__lists_the_pods_once_when_the_lease_is_to_be_had(void **state)
{
    AUTO(story_free) struct story *story = story_new(true);

    (void)state;
    drive(story);
    assert_true(is_sent(story, "GET", "/api/v1/nodes?limit"));
    assert_false(is_sent(story, "GET", "/api/v1/pods?limit"));
    answer(story, "GET", LEASE_PATH "/t", 404, STATUS("404"));
    assert_false(is_sent(story, "GET", "/api/v1/pods?limit"));
    answer(story, "POST", LEASE_PATH, 201, LEASE("us", "1"));
    answer_lists(story, EMPTY("Pod", "6"));
    assert_true(may_bind(story));
}

static void test_start__lists_the_pods_when_another_leads(void **state)
{
    AUTO(story_free) struct story *story = story_new(true);

    (void)state;
    drive(story);
    answer(story, "GET", LEASE_PATH "/t", 200, LEASE("them", "1"));
    assert_true(is_sent(story, "GET", "/api/v1/pods?limit"));
}

static void test_start__does_not_wait_for_the_lease_for_long(void **state)
{
    AUTO(story_free) struct story *story = story_new(true);

    (void)state;
    pass(story, PODS_WAIT_MS - 1);
    assert_false(is_sent(story, "GET", "/api/v1/pods?limit"));
    pass(story, 1);
    assert_true(is_sent(story, "GET", "/api/v1/pods?limit"));
}

static void test_bind__without_an_election_needs_both_lists_only(void **state)
{
    AUTO(story_free) struct story *story = story_new(false);

    (void)state;
    drive(story);
    assert_int_equal(submit(story), -ERR_BUSY);
    answer(story, "GET", "/api/v1/nodes?limit", 200, EMPTY("Node", "5"));
    assert_false(may_bind(story));
    answer(story, "GET", "/api/v1/pods?limit", 200, EMPTY("Pod", "6"));
    assert_true(may_bind(story));
    assert_int_equal(submit(story), 0);
    assert_true(is_sent(story, "POST", BINDING_PATH));
}

static void test_bind__with_a_lock_is_sent_when_the_node_is_locked(void **state)
{
    AUTO(story_free) struct story *story = story_with_node();

    (void)state;
    assert_int_equal(submit_with(story, NODE_LOCK_NAMED), 0);
    assert_false(is_sent(story, "POST", BINDING_PATH));
    answer(story, "PATCH", "/api/v1/nodes/n1", 200, LOCKED_N1);
    assert_true(is_sent(story, "POST", BINDING_PATH));
    answer(story, "POST", BINDING_PATH, 201, "{}");
    assert_int_equal(story->outcome, BIND_BOUND);
}

static void test_bind__counts_those_that_wait_for_a_lock(void **state)
{
    AUTO(story_free) struct story *story = story_with_node();
    struct controller_status status;

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(submit_with(story, NODE_LOCK_NAMED), 0);
    assert_int_equal(submit(story), 0);
    assert_int_equal(submit(story), -ERR_BUSY);
    assert_int_equal(submit_with(story, NODE_LOCK_NAMED), -ERR_BUSY);
    controller_read_status(story->controller, story->now_ms, &status);
    assert_int_equal(status.binds_in_flight, 4);
    assert_int_equal(status.locks_waiting, 3);
}

static void test_stop__waits_until_a_lock_written_in_vain_is_gone(void **state)
{
    AUTO(story_free) struct story *story = story_with_node();

    (void)state;
    submit_with(story, NODE_LOCK_NAMED);
    controller_stop(story->controller);
    drive(story);
    assert_int_equal(story->outcome, BIND_FAILED);
    assert_false(controller_is_stopped(story->controller, story->now_ms));
    answer(story, "PATCH", "/api/v1/nodes/n1", 200, LOCKED_N1);
    assert_false(controller_is_stopped(story->controller, story->now_ms));
    answer(story, "PATCH", "/api/v1/nodes/n1", 200,
           "{\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\",\"resourceVersion\":\"8\"}}");
    assert_true(controller_is_stopped(story->controller, story->now_ms));
}

static void test_bind__is_refused_while_another_leads(void **state)
{
    AUTO(story_free) struct story *story = story_new(true);

    (void)state;
    drive(story);
    answer(story, "GET", LEASE_PATH "/t", 200, LEASE("them", "1"));
    answer_lists(story, EMPTY("Pod", "6"));
    assert_false(may_bind(story));
    assert_int_equal(submit(story), -ERR_BUSY);
    assert_false(is_sent(story, "POST", BINDING_PATH));
}

static void test_leader__lists_the_pods_anew_before_it_binds(void **state)
{
    AUTO(story_free) struct story *story = story_new(true);

    (void)state;
    pass(story, PODS_WAIT_MS);
    answer_lists(story, EMPTY("Pod", "6"));
    assert_true(is_sent(story, "GET", "/api/v1/pods?watch=1"));
    answer(story, "GET", LEASE_PATH "/t", 404, STATUS("404"));
    answer(story, "POST", LEASE_PATH, 201, LEASE("us", "1"));
    assert_false(is_sent(story, "GET", "/api/v1/pods?watch=1"));
    assert_false(may_bind(story));
    assert_int_equal(submit(story), -ERR_BUSY);
    answer(story, "GET", "/api/v1/pods?limit", 200, EMPTY("Pod", "9"));
    assert_true(may_bind(story));
    assert_int_equal(submit(story), 0);
}

static void test_leader__does_not_believe_a_list_that_was_under_way(void **state)
{
    AUTO(story_free) struct story *story = story_new(true);
    uint64_t old_id;

    (void)state;
    pass(story, PODS_WAIT_MS);
    answer(story, "GET", "/api/v1/nodes?limit", 200, EMPTY("Node", "5"));
    old_id = story->sent[find_sent(story, "GET", "/api/v1/pods?limit")].id;
    answer(story, "GET", LEASE_PATH "/t", 404, STATUS("404"));
    answer(story, "POST", LEASE_PATH, 201, LEASE("us", "1"));
    assert_true(is_sent(story, "GET", "/api/v1/pods?limit"));
    assert_int_not_equal(old_id, story->sent[find_sent(story, "GET", "/api/v1/pods?limit")].id);
    controller_on_begin(story->controller, old_id, 200, 0, story->now_ms);
    controller_on_bytes(story->controller, old_id, EMPTY("Pod", "6"), strlen(EMPTY("Pod", "6")),
                        story->now_ms);
    controller_on_end(story->controller, old_id, NULL, true, story->now_ms);
    drive(story);
    assert_false(may_bind(story));
}

static void test_leader__whose_lease_has_run_out_sends_no_binding(void **state)
{
    AUTO(story_free) struct story *story = story_leading();

    (void)state;
    story->now_ms += 10000; /* a pause: nothing was done meanwhile */
    assert_int_equal(submit(story), -ERR_BUSY);
    assert_false(is_sent(story, "POST", BINDING_PATH));
}

static void test_leader__gives_a_binding_no_more_time_than_its_lease_has(void **state)
{
    AUTO(story_free) struct story *story = story_leading();
    const struct sent *sent;

    (void)state;
    story->now_ms += 9000;
    assert_int_equal(submit(story), 0);
    sent = &story->sent[find_sent(story, "POST", BINDING_PATH)];
    assert_string_equal(sent->path, BINDING_PATH "?timeout=500ms");
}

/* Its devices were booked when it led before: another one may have given them away since. */
static void test_leader__takes_no_job_of_an_earlier_term(void **state)
{
    AUTO(story_free) struct story *story = story_leading();
    struct bind_job *job = bind_job_new("default", "p", "uid", "n1");
    struct error err = {0};

    (void)state;
    job->deadline_ms = story->now_ms + 60000;
    job->done = on_done;
    job->ctx = story;
    assert_int_equal(controller_submit_bind(story->controller, job, story->now_ms, &err),
                     -ERR_BUSY);
    assert_contains(err.text, "not the leader for a while");
    bind_job_free(job);
}

static void test_stop__gives_the_lease_up_when_the_last_bind_has_ended(void **state)
{
    AUTO(story_free) struct story *story = story_leading();

    (void)state;
    assert_int_equal(submit(story), 0);
    controller_stop(story->controller);
    drive(story);
    assert_false(is_sent(story, "GET", "/api/v1/pods"));
    assert_false(is_sent(story, "PUT", LEASE_PATH "/t"));
    assert_int_equal(submit(story), -ERR_BUSY);
    answer(story, "POST", BINDING_PATH, 201, "{\"kind\":\"Status\",\"status\":\"Success\"}");
    assert_int_equal(story->done, 1);
    assert_false(controller_is_stopped(story->controller, story->now_ms));
    assert_contains(story->sent[find_sent(story, "PUT", LEASE_PATH "/t")].body,
                    "\"holderIdentity\":\"\"");
    answer(story, "PUT", LEASE_PATH "/t", 200, LEASE("", "2"));
    assert_true(controller_is_stopped(story->controller, story->now_ms));
}

static void test_stop__keeps_the_lease_when_a_binding_is_in_doubt(void **state)
{
    AUTO(story_free) struct story *story = story_leading();
    size_t i;

    (void)state;
    assert_int_equal(submit(story), 0);
    controller_stop(story->controller);
    i = find_sent(story, "POST", BINDING_PATH);
    controller_on_end(story->controller, story->sent[i].id,
                      &(struct error){.code = ERR_TIMEOUT, .text = "lost"}, true, story->now_ms);
    forget_sent(story, i);
    pass(story, 6100); /* no look at the pod is answered */
    assert_int_equal(story->done, 1);
    assert_int_equal(story->outcome, BIND_UNCLEAR);
    assert_false(controller_is_stopped(story->controller, story->now_ms));
    pass(story, 2100);
    assert_true(controller_is_stopped(story->controller, story->now_ms));
    for (size_t k = 0; k < story->sent_count; k++) /* renewed, at most */
        assert_null(strstr(story->sent[k].body, "\"holderIdentity\":\"\""));
}

static void test_stop__without_an_election_ends_when_nothing_is_left_to_do(void **state)
{
    AUTO(story_free) struct story *story = story_new(false);

    (void)state;
    drive(story);
    answer_lists(story, EMPTY("Pod", "6"));
    controller_stop(story->controller);
    drive(story);
    assert_true(controller_is_stopped(story->controller, story->now_ms));
    assert_int_equal(story->sent_count, 0);
}

/* --- quotas ---------------------------------------------------------------------------------- */

#define QUOTAS_WAIT_MS 5000u /* at the start */
#define QUOTAS "/api/v1/resourcequotas"

/* Nodes and pods are listed, quotas are not. */
static struct story *story_without_quotas(void)
{
    struct story *story = story_with(false, true);

    drive(story);
    answer_lists(story, EMPTY("Pod", "6"));
    assert_false(may_bind(story));
    assert_int_equal(submit(story), -ERR_BUSY);
    return story;
}

static void test_quotas__nothing_is_bound_before_they_are_listed(void **state)
{
    AUTO(story_free) struct story *story = story_without_quotas();

    (void)state;
    answer(story, "GET", QUOTAS "?limit", 200, EMPTY("ResourceQuota", "7"));
    assert_true(may_bind(story));
    assert_true(is_sent(story, "GET", QUOTAS "?watch=1"));
    assert_int_equal(submit(story), 0);
}

static void test_quotas__who_may_not_read_them_binds_and_says_so(void **state)
{
    AUTO(story_free) struct story *story = story_without_quotas();
    struct controller_status status;

    (void)state;
    answer(story, "GET", QUOTAS "?limit", 403, STATUS("403"));
    assert_true(may_bind(story));
    controller_read_status(story->controller, story->now_ms, &status);
    assert_contains(status.quotas.problem, "list of resourcequotas: HTTP 403");
    assert_string_equal(status.pods.problem, "");
}

static void test_quotas__are_not_waited_for_when_their_list_does_not_come(void **state)
{
    AUTO(story_free) struct story *story = story_without_quotas();

    (void)state;
    pass(story, QUOTAS_WAIT_MS - 1);
    assert_false(may_bind(story));
    pass(story, 1);
    assert_true(may_bind(story));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start__lists_the_pods_once_when_the_lease_is_to_be_had),
        cmocka_unit_test(test_start__lists_the_pods_when_another_leads),
        cmocka_unit_test(test_start__does_not_wait_for_the_lease_for_long),
        cmocka_unit_test(test_bind__without_an_election_needs_both_lists_only),
        cmocka_unit_test(test_bind__with_a_lock_is_sent_when_the_node_is_locked),
        cmocka_unit_test(test_bind__counts_those_that_wait_for_a_lock),
        cmocka_unit_test(test_stop__waits_until_a_lock_written_in_vain_is_gone),
        cmocka_unit_test(test_bind__is_refused_while_another_leads),
        cmocka_unit_test(test_leader__lists_the_pods_anew_before_it_binds),
        cmocka_unit_test(test_leader__does_not_believe_a_list_that_was_under_way),
        cmocka_unit_test(test_leader__whose_lease_has_run_out_sends_no_binding),
        cmocka_unit_test(test_leader__gives_a_binding_no_more_time_than_its_lease_has),
        cmocka_unit_test(test_leader__takes_no_job_of_an_earlier_term),
        cmocka_unit_test(test_stop__gives_the_lease_up_when_the_last_bind_has_ended),
        cmocka_unit_test(test_stop__keeps_the_lease_when_a_binding_is_in_doubt),
        cmocka_unit_test(test_quotas__nothing_is_bound_before_they_are_listed),
        cmocka_unit_test(test_quotas__who_may_not_read_them_binds_and_says_so),
        cmocka_unit_test(test_quotas__are_not_waited_for_when_their_list_does_not_come),
        cmocka_unit_test(test_stop__without_an_election_ends_when_nothing_is_left_to_do),
    };

    return cmocka_run_group_tests_name("controller", tests, NULL, NULL);
}
