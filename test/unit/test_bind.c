/* SPDX-License-Identifier: Apache-2.0 */
#include "support/harness.h"

#include <stdlib.h>

#define CARD_MIB 16384

static struct harness *held(void)
{
    struct harness *harness = harness_new();

    harness->port = PORT_HOLDS;
    api_node(harness, "n1", 2, CARD_MIB);
    api_node(harness, "n2", 2, CARD_MIB);
    api_pod(harness, "p", "gpu 1, mem 1000, cores 30");
    return harness;
}

/* The bind is refused at once, nothing is submitted and nothing is held. */
static void expect_no_bind(struct harness *harness, const char *pod, const char *node,
                           const char *why)
{
    const char *error = ask_bind(harness, pod, node);

    assert_non_null(error);
    assert_contains(error, why);
    assert_int_equal(harness->submitted, 0);
    assert_int_equal(used_mib(harness, "n1"), 0);
}

/* --- the Binding ----------------------------------------------------------------------------- */

static void test_bind__the_job_names_the_pod_by_uid_and_carries_the_record(void **state)
{
    AUTO(harness_free) struct harness *harness = held();
    const struct bind_job *job;

    (void)state;
    assert_null(ask_bind(harness, "p", "n1"));
    job = harness->job;
    assert_string_equal(job->namespace, "default");
    assert_string_equal(job->name, "p");
    assert_string_equal(job->uid, "uid-p");
    assert_string_equal(job->node, "n1");
    assert_string_equal(job->record_key, "topofit.io/allocation");
    assert_string_equal(
        bind_job_annotation(job, "topofit.io/allocation"),
        "{\"version\":1,\"node\":\"n1\",\"podUID\":\"uid-p\",\"tier\":0,\"degraded\":false,"
        "\"containers\":[{\"name\":\"c0\",\"kind\":\"app\",\"devices\":[{\"id\":"
        "\"GPU-n1-0\",\"memoryMiB\":1000,\"cores\":30,\"slots\":1,"
        "\"mode\":\"soft\"}]}]}");
    assert_string_equal(bind_job_annotation(job, "devices.topofit.io/c0"), "GPU-n1-0");
    assert_int_equal(job->annotation_count, 2);
}

static void test_bind__asks_for_the_lock_that_the_nodes_device_plugin_needs(void **state)
{
    static const struct {
        const char *plugin, *asks;
        enum node_lock lock;
    } cases[] = {
        {NULL, "gpu 1, mem 1000", NODE_LOCK_NONE},
        {"hami", "gpu 1, mem 1000", NODE_LOCK_NAMED},
        {"HAMi", "gpu 2", NODE_LOCK_NAMED},
        {"hami", "", NODE_LOCK_NONE},         /* no device, so no plugin is asked */
        {"another", "gpu 1", NODE_LOCK_NONE}, /* told as a problem of the node */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(harness_free) struct harness *harness = harness_new();

        harness->port = PORT_HOLDS;
        api_node(harness, "n1", 2, CARD_MIB, .plugin = cases[i].plugin);
        api_pod(harness, "p", cases[i].asks);
        assert_null(ask_bind(harness, "p", "n1"));
        assert_int_equal(harness->job->lock, cases[i].lock);
    }
}

static void test_bind__asked_again_after_a_lost_answer_locks_the_node_again(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    harness->port = PORT_HOLDS;
    api_node(harness, "n1", 2, CARD_MIB, .plugin = "hami");
    api_pod(harness, "p", "gpu 1");
    assert_null(ask_bind(harness, "p", "n1"));
    end_job(harness, BIND_UNCLEAR, "lost");
    ask_bind(harness, "p", "n1");
    assert_int_equal(harness->submitted, 2);
    assert_int_equal(harness->job->lock, NODE_LOCK_NAMED);
}

static void test_bind__the_deadline_is_now_and_the_configured_time(void **state)
{
    AUTO(harness_free) struct harness *harness = held();

    (void)state;
    harness->extender.options.bind_timeout_ms = 1234;
    ask_bind(harness, "p", "n1");
    assert_int_equal(harness->job->deadline_ms, 5000 + 1234);
}

static int check_in_term_7(void *ctx, uint64_t *term, struct error *err)
{
    (void)ctx, (void)err;
    *term = 7;
    return 0;
}

static void test_bind__the_job_carries_the_term_from_before_its_devices_were_booked(void **state)
{
    AUTO(harness_free) struct harness *harness = held();

    (void)state;
    harness->extender.binder.check = check_in_term_7;
    ask_bind(harness, "p", "n1");
    assert_int_equal(harness->job->term, 7);
}

static int check_not_leading(void *ctx, uint64_t *term, struct error *err)
{
    (void)ctx, (void)term;
    return error_set(err, ERR_BUSY, "this topofit is not the leader");
}

static void test_bind__nothing_is_booked_by_who_may_not_bind(void **state)
{
    AUTO(harness_free) struct harness *harness = held();

    (void)state;
    harness->extender.binder.check = check_not_leading;
    ask_bind(harness, "p", "n1");
    assert_contains(harness->bound, "not the leader");
    assert_null(harness->job);
    assert_int_equal(use_of(harness, "n1", 0).memory_mib, 0);
}

static void test_bind__the_devices_are_reserved_while_the_job_is_on_its_way(void **state)
{
    AUTO(harness_free) struct harness *harness = held();
    size_t counts[HOLDING_BOUND + 1];

    (void)state;
    ask_bind(harness, "p", "n1");
    cluster_count_holdings(harness->cluster, counts);
    assert_int_equal(counts[HOLDING_RESERVED], 1);
    assert_int_equal(use_of(harness, "n1", 0).memory_mib, 1000);
    end_job(harness, BIND_BOUND, "");
    cluster_count_holdings(harness->cluster, counts);
    assert_int_equal(counts[HOLDING_BOUND], 1);
    assert_string_equal(harness->bound, "");
}

static void test_bind__a_pod_that_only_filter_has_seen_is_bound(void **state)
{
    AUTO(harness_free) struct harness *harness = held();

    (void)state;
    api_pod(harness, "fresh", "gpu 2", .unseen = true);
    expect_kept(harness, "fresh", "n1", "n1");
    assert_null(ask_bind(harness, "fresh", "n1"));
    end_job(harness, BIND_BOUND, "");
    assert_int_equal(devices_of(harness, "fresh"), 0x3);
}

static void test_bind__the_watch_may_confirm_before_the_answer_comes(void **state)
{
    AUTO(harness_free) struct harness *harness = held();
    size_t counts[HOLDING_BOUND + 1];

    (void)state;
    ask_bind(harness, "p", "n1");
    api_executes(harness);
    watch_pod(harness, "p");
    end_job(harness, BIND_UNCLEAR, "no answer");
    cluster_count_holdings(harness->cluster, counts);
    assert_int_equal(counts[HOLDING_BOUND], 1);
    assert_int_equal(counts[HOLDING_UNKNOWN], 0);
    assert_int_equal(use_of(harness, "n1", 0).slots, 1);
}

static void test_bind__a_pod_deleted_meanwhile_holds_nothing_whatever_the_answer(void **state)
{
    static const enum bind_outcome outcomes[] = {BIND_BOUND, BIND_FAILED, BIND_UNCLEAR};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(outcomes); i++) {
        AUTO(harness_free) struct harness *harness = held();

        ask_bind(harness, "p", "n1");
        api_delete_pod(harness, "p");
        end_job(harness, outcomes[i], outcomes[i] == BIND_BOUND ? "" : "why");
        assert_int_equal(used_mib(harness, "n1"), 0);
        assert_int_equal(use_of(harness, "n1", 0).slots, 0);
    }
}

/* --- refusals -------------------------------------------------------------------------------- */

static void test_bind__all_four_names_are_needed(void **state)
{
    static const char *const bodies[] = {
        "{}",
        "{\"PodNamespace\":\"default\",\"PodUID\":\"uid-p\",\"Node\":\"n1\"}",
        "{\"PodName\":\"p\",\"PodUID\":\"uid-p\",\"Node\":\"n1\"}",
        "{\"PodName\":\"p\",\"PodNamespace\":\"default\",\"Node\":\"n1\"}",
        "{\"PodName\":\"p\",\"PodNamespace\":\"default\",\"PodUID\":\"uid-p\"}",
        "{\"PodName\":\"p\",\"PodNamespace\":\"default\",\"PodUID\":\"uid-p\",\"Node\":\"\"}",
    };
    AUTO(harness_free) struct harness *harness = held();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        AUTO_FREE char *error = ask_bind_body(harness, bodies[i]);

        assert_contains(error, "all needed");
    }
    assert_int_equal(harness->submitted, 0);
}

static void test_bind__a_pod_nobody_knows_is_refused(void **state)
{
    AUTO(harness_free) struct harness *harness = held();

    (void)state;
    api_pod(harness, "stranger", "gpu 1", .unseen = true);
    expect_no_bind(harness, "stranger", "n1", "not known yet");
}

/* The watch knows no such pod, and filter saw the uid under another name. */
static void test_bind__the_uid_of_a_pod_of_another_name_or_namespace_is_refused(void **state)
{
    static const char *const bodies[] = {
        "{\"PodName\":\"q\",\"PodNamespace\":\"default\",\"PodUID\":\"uid-fresh\",\"Node\":\"n1\"}",
        "{\"PodName\":\"fresh\",\"PodNamespace\":\"ml\",\"PodUID\":\"uid-fresh\",\"Node\":\"n1\"}",
    };
    AUTO(harness_free) struct harness *harness = held();

    (void)state;
    api_pod(harness, "fresh", "gpu 2", .unseen = true);
    expect_kept(harness, "fresh", "n1", "n1");
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        AUTO_FREE char *error = ask_bind_body(harness, bodies[i]);

        assert_contains(error, "a pod with another name");
    }
    assert_int_equal(harness->submitted, 0);
}

static void test_bind__pods_that_cannot_be_bound_any_more_are_refused(void **state)
{
    AUTO(harness_free) struct harness *harness = held();

    (void)state;
    api_pod(harness, "going", "gpu 1");
    api_set_deleting(harness, "going");
    expect_no_bind(harness, "going", "n1", "being deleted");
    api_pod(harness, "done", "gpu 1");
    api_set_phase(harness, "done", "Failed");
    expect_no_bind(harness, "done", "n1", "has ended");
    api_pod(harness, "bad", "gpu 1, mem -1");
    expect_no_bind(harness, "bad", "n1", "nvidia.com/gpumem");
    api_pod(harness, "gated", "gpu 1");
    json_object_set_new(json_object_get(api_pod_json(harness, "gated"), "spec"), "schedulingGates",
                        json_pack("[{s:s}]", "name", "wait"));
    watch_pod(harness, "gated");
    expect_no_bind(harness, "gated", "n1", "scheduling gates");
}

static void test_bind__an_unknown_node_is_refused(void **state)
{
    AUTO(harness_free) struct harness *harness = held();

    (void)state;
    expect_no_bind(harness, "p", "ghost", "cache");
}

static void test_bind__before_the_first_lists_nothing_is_bound(void **state)
{
    AUTO(harness_free) struct harness *harness = held();

    (void)state;
    harness_restart(harness);
    relist_nodes(harness);
    expect_no_bind(harness, "p", "n1", "has not listed");
}

static void test_bind__a_full_port_frees_the_devices_and_says_so(void **state)
{
    AUTO(harness_free) struct harness *harness = held();

    (void)state;
    harness->port = PORT_IS_FULL;
    assert_contains(ask_bind(harness, "p", "n1"), "too many Bindings");
    assert_int_equal(used_mib(harness, "n1"), 0);
    harness->port = PORT_EXECUTES;
    place(harness, "p", "n1");
}

static void test_bind__a_record_too_big_for_a_pod_is_refused_and_frees_the_devices(void **state)
{
    AUTO(harness_free) struct harness *harness = held();
    AUTO(buf_clear) struct buf devices = buf_with_max(1 << 20), wants = buf_with_max(1 << 20);
    json_t *annotations =
        json_object_get(json_object_get(api_node_json(harness, "n1"), "metadata"), "annotations");

    (void)state;
    for (unsigned i = 0; i < 64; i++)
        buf_addf(&devices, "%s{\"id\":\"GPU-%0100u\",\"memoryMiB\":%d,\"slots\":100}",
                 i > 0 ? "," : "{\"devices\":[", i, CARD_MIB);
    buf_add_text(&devices, "]}");
    for (unsigned i = 0; i < 32; i++)
        buf_add_text(&wants, "gpu 64, mem 1;");
    json_object_set_new(annotations, "topofit.io/inventory", json_string(buf_text(&devices)));
    watch_node(harness, "n1");
    api_pod(harness, "huge", buf_text(&wants));
    expect_no_bind(harness, "huge", "n1", "devices in all");
    assert_false(holds(harness, "huge"));
}

/* --- pods that are bound already ------------------------------------------------------------- */

static void test_bind__a_pod_bound_past_us_to_the_same_node_is_fine(void **state)
{
    AUTO(harness_free) struct harness *harness = held();

    (void)state;
    api_pod(harness, "cpu", "none", .node = "n1");
    assert_string_equal(ask_bind(harness, "cpu", "n1"), "");
    assert_contains(ask_bind(harness, "cpu", "n2"), "another node");
    assert_int_equal(harness->submitted, 0);
}

/* --- counting -------------------------------------------------------------------------------- */

static void keep_report(void *ctx, const struct bind_report *report)
{
    snprintf(ctx, 256, "%s/%s %s: %s", report->namespace, report->name, report->node, report->text);
}

static void test_bind__tells_the_observer_why_it_was_refused(void **state)
{
    AUTO(harness_free) struct harness *harness = held();
    char told[256] = "";

    (void)state;
    harness->extender.binder.check = check_not_leading;
    harness->extender.observer = (struct observer){.ctx = told, .on_bind_end = keep_report};
    ask_bind(harness, "p", "n1");
    assert_string_equal(told, "default/p n1: this topofit is not the leader");
}

static void count_end(void *ctx, const struct bind_report *report)
{
    ((unsigned *)ctx)[report->end]++;
}

static void test_bind__the_observer_is_told_every_end_once(void **state)
{
    static const enum bind_outcome outcomes[] = {BIND_FAILED, BIND_UNCLEAR, BIND_BOUND};
    AUTO(harness_free) struct harness *harness = held();
    unsigned ends[BIND_END_REFUSED + 1] = {0};

    (void)state;
    harness->extender.observer = (struct observer){.ctx = ends, .on_bind_end = count_end};
    for (size_t i = 0; i < ARRAY_LEN(outcomes); i++) {
        ask_bind(harness, "p", "n1");
        end_job(harness, outcomes[i], outcomes[i] == BIND_BOUND ? "" : "why");
    }
    ask_bind(harness, "p", "n2");
    assert_int_equal(ends[BIND_END_FAILED], 1);
    assert_int_equal(ends[BIND_END_UNCLEAR], 1);
    assert_int_equal(ends[BIND_END_BOUND], 1);
    assert_int_equal(ends[BIND_END_REFUSED], 1);
}

static void on_bound_unexpected(void *ctx, const char *body, size_t length)
{
    (void)ctx, (void)body, (void)length;
    fail_msg("a call that was refused must not be answered as well");
}

static void test_bind__what_is_no_request_is_an_error_and_not_answered(void **state)
{
    static const char *const bodies[] = {"", "[]", "{\"PodName\":7}"};
    AUTO(harness_free) struct harness *harness = held();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct error err = {0};

        assert_true(extender_bind(&harness->extender, bodies[i], strlen(bodies[i]),
                                  (struct moment){0}, on_bound_unexpected, NULL, &err) < 0);
        assert_int_equal(err.code, ERR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bind__the_job_names_the_pod_by_uid_and_carries_the_record),
        cmocka_unit_test(test_bind__asks_for_the_lock_that_the_nodes_device_plugin_needs),
        cmocka_unit_test(test_bind__asked_again_after_a_lost_answer_locks_the_node_again),
        cmocka_unit_test(test_bind__the_deadline_is_now_and_the_configured_time),
        cmocka_unit_test(test_bind__the_job_carries_the_term_from_before_its_devices_were_booked),
        cmocka_unit_test(test_bind__nothing_is_booked_by_who_may_not_bind),
        cmocka_unit_test(test_bind__tells_the_observer_why_it_was_refused),
        cmocka_unit_test(test_bind__the_devices_are_reserved_while_the_job_is_on_its_way),
        cmocka_unit_test(test_bind__a_pod_that_only_filter_has_seen_is_bound),
        cmocka_unit_test(test_bind__the_watch_may_confirm_before_the_answer_comes),
        cmocka_unit_test(test_bind__a_pod_deleted_meanwhile_holds_nothing_whatever_the_answer),
        cmocka_unit_test(test_bind__all_four_names_are_needed),
        cmocka_unit_test(test_bind__a_pod_nobody_knows_is_refused),
        cmocka_unit_test(test_bind__the_uid_of_a_pod_of_another_name_or_namespace_is_refused),
        cmocka_unit_test(test_bind__pods_that_cannot_be_bound_any_more_are_refused),
        cmocka_unit_test(test_bind__an_unknown_node_is_refused),
        cmocka_unit_test(test_bind__before_the_first_lists_nothing_is_bound),
        cmocka_unit_test(test_bind__a_full_port_frees_the_devices_and_says_so),
        cmocka_unit_test(test_bind__a_record_too_big_for_a_pod_is_refused_and_frees_the_devices),
        cmocka_unit_test(test_bind__a_pod_bound_past_us_to_the_same_node_is_fine),
        cmocka_unit_test(test_bind__the_observer_is_told_every_end_once),
        cmocka_unit_test(test_bind__what_is_no_request_is_an_error_and_not_answered),
    };

    return cmocka_run_group_tests_name("bind", tests, NULL, NULL);
}
