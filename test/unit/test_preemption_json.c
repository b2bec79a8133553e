/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/preemption_json.h"

static struct preemption_args read_args(const char *json, size_t length)
{
    struct preemption_args args = {0};
    struct error err = {0};

    assert_ok(preemption_json_read_args(json, length, &args, &err), &err);
    return args;
}

static struct error args_error(const char *json)
{
    AUTO(preemption_args_clear) struct preemption_args args = {0};
    struct error err = {0};

    assert_true(preemption_json_read_args(json, strlen(json), &args, &err) < 0);
    assert_null(args.pod.meta.name);
    return err;
}

/* --- what a real kube-scheduler sends -------------------------------------------------------- */

static void test_preemption_json_read_args__reads_uids_of_a_real_scheduler(void **state)
{
    size_t length;
    AUTO_FREE char *json =
        test_read_file(TEST_DATA "/captured/B-cachecap.preempt.request.json", &length);
    AUTO(preemption_args_clear) struct preemption_args args = read_args(json, length);

    (void)state;
    assert_true(args.has_pod && args.has_meta_victims && !args.has_victims);
    assert_string_equal(args.pod.meta.name, "high0");
    assert_int_equal(args.pod.priority, 1000);
    assert_int_equal(args.proposal_count, 4);
    assert_string_equal(args.proposals[1].node, "gpu-1");
    assert_int_equal(args.proposals[1].victim_count, 2);
    assert_string_equal(args.proposals[1].victims[0].uid, "6c0f4b5d-8600-4397-ab72-507ad1f8c44a");
    assert_null(args.proposals[1].victims[0].node);
    assert_int_equal(args.proposals[1].pdb_violations, 0);
}

static void test_preemption_json_read_args__reads_whole_pods_of_a_real_scheduler(void **state)
{
    size_t length;
    AUTO_FREE char *json =
        test_read_file(TEST_DATA "/captured/C-nodes.preempt.request.json", &length);
    AUTO(preemption_args_clear) struct preemption_args args = read_args(json, length);

    (void)state;
    assert_true(args.has_pod && args.has_victims && !args.has_meta_victims);
    assert_string_equal(args.pod.meta.name, "h");
    assert_int_equal(args.proposal_count, 4);
    assert_string_equal(args.proposals[0].node, "gpu-0");
    assert_int_equal(args.proposals[0].victim_count, 2);
    assert_string_equal(args.proposals[0].victims[1].uid, "1492753b-a7c2-46d6-a104-1551b80779a8");
    assert_string_equal(args.proposals[0].victims[1].node, "gpu-0");
    assert_int_equal(args.proposals[0].victims[1].priority, 500);
}

static void test_preemption_json_write_result__writes_the_form_of_the_go_types(void **state)
{
    static const char *const uids[] = {"u1", "u2"};
    const struct victim_list lists[] = {{"n1", uids, 2, 1}, {"n2", NULL, 0, 0}};
    AUTO(buf_clear) struct buf out = buf_with_max(1000);

    (void)state;
    preemption_json_write_result(&out, lists, ARRAY_LEN(lists));
    assert_string_equal(buf_text(&out),
                        "{\"NodeNameToMetaVictims\":{\"n1\":{\"Pods\":[{\"UID\":\"u1\"},"
                        "{\"UID\":\"u2\"}],\"NumPDBViolations\":1},"
                        "\"n2\":{\"Pods\":[],\"NumPDBViolations\":0}}}");
    buf_reset(&out);
    preemption_json_write_result(&out, NULL, 0);
    assert_string_equal(buf_text(&out), "{\"NodeNameToMetaVictims\":{}}");
}

/* --- odd input ------------------------------------------------------------------------------- */

static void test_preemption_json_read_args__takes_null_and_missing_for_the_same(void **state)
{
    static const struct {
        const char *json;
        bool has_victims, has_meta_victims;
        size_t nodes;
    } cases[] = {
        {"{}", false, false, 0},
        {"{\"Pod\":null,\"NodeNameToVictims\":null,\"NodeNameToMetaVictims\":null}", false, false,
         0},
        {"{\"NodeNameToVictims\":{}}", true, false, 0},
        {"{\"NodeNameToMetaVictims\":{\"n1\":{\"Pods\":null}}}", false, true, 1},
        {"{\"NodeNameToMetaVictims\":{\"n1\":{}}}", false, true, 1},
        {"{\"NodeNameToMetaVictims\":{\"n1\":null}}", false, true, 0},
        {"{\"nodenametometavictims\":{\"n1\":{\"pods\":[]}}}", false, true, 1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(preemption_args_clear)
        struct preemption_args args = read_args(cases[i].json, strlen(cases[i].json));

        assert_false(args.has_pod);
        assert_int_equal(args.has_victims, cases[i].has_victims);
        assert_int_equal(args.has_meta_victims, cases[i].has_meta_victims);
        assert_int_equal(args.proposal_count, cases[i].nodes);
        if (args.proposal_count > 0)
            assert_int_equal(args.proposals[0].victim_count, 0);
    }
}

static void
test_preemption_json_read_args__the_last_of_a_member_that_comes_twice_counts(void **state)
{
    static const char json[] =
        "{\"NodeNameToMetaVictims\":{\"n0\":{\"Pods\":[{\"UID\":\"x\"}]}},"
        "\"NodeNameToMetaVictims\":{\"n1\":{\"Pods\":[{\"UID\":\"a\"}],\"Pods\":[{\"uid\":\"b\","
        "\"UID\":\"c\"}],\"numPdbViolations\":3}},\"Other\":[1,{}]}";
    AUTO(preemption_args_clear) struct preemption_args args = read_args(json, strlen(json));

    (void)state;
    assert_int_equal(args.proposal_count, 1);
    assert_string_equal(args.proposals[0].node, "n1");
    assert_int_equal(args.proposals[0].victim_count, 1);
    assert_string_equal(args.proposals[0].victims[0].uid, "c");
    assert_int_equal(args.proposals[0].pdb_violations, 3);
}

static void test_preemption_json_read_args__both_forms_are_both_noted(void **state)
{
    static const char json[] = "{\"NodeNameToVictims\":{},\"NodeNameToMetaVictims\":{}}";
    AUTO(preemption_args_clear) struct preemption_args args = read_args(json, strlen(json));

    (void)state;
    assert_true(args.has_victims && args.has_meta_victims);
}

static void test_preemption_json_read_args__refuses_wrong_types_with_the_place(void **state)
{
    static const char *const bodies[] = {
        "",
        "{",
        "[]",
        "{\"Pod\":[]}",
        "{\"NodeNameToVictims\":[]}",
        "{\"NodeNameToVictims\":{\"n1\":7}}",
        "{\"NodeNameToMetaVictims\":{\"n1\":{\"Pods\":{}}}}",
        "{\"NodeNameToMetaVictims\":{\"n1\":{\"Pods\":[\"u\"]}}}",
        "{\"NodeNameToMetaVictims\":{\"n1\":{\"Pods\":[{\"UID\":7}]}}}",
        "{\"NodeNameToMetaVictims\":{\"n1\":{\"Pods\":[{\"UID\":\"a\\u0000b\"}]}}}",
        "{\"NodeNameToMetaVictims\":{\"n1\":{\"NumPDBViolations\":-1}}}",
        "{\"NodeNameToMetaVictims\":{\"n1\":{\"NumPDBViolations\":1.5}}}",
        "{\"NodeNameToMetaVictims\":{\"n1\":{\"NumPDBViolations\":\"1\"}}}",
        "{} {}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct error err = args_error(bodies[i]);

        assert_int_equal(err.code, ERR_INVALID);
        assert_contains(err.text, "byte ");
    }
}

static char long_name[EXTENDER_NAME_MAX + 2];

static void test_preemption_json_read_args__refuses_names_longer_than_any(void **state)
{
    static const char *const formats[] = {
        "{\"NodeNameToMetaVictims\":{\"%s\":{}}}",
        "{\"NodeNameToMetaVictims\":{\"n1\":{\"Pods\":[{\"UID\":\"%s\"}]}}}",
        "{\"NodeNameToVictims\":{\"n1\":{\"Pods\":[{\"metadata\":{\"uid\":\"%s\"}}]}}}",
        "{\"NodeNameToVictims\":{\"n1\":{\"Pods\":[{\"spec\":{\"nodeName\":\"%s\"}}]}}}",
    };

    (void)state;
    memset(long_name, 'x', sizeof long_name - 1);
    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        AUTO(buf_clear) struct buf body = buf_with_max(2000);
        const char *at = strstr(formats[i], "%s");

        buf_add(&body, formats[i], (size_t)(at - formats[i]));
        buf_add_text(&body, long_name);
        buf_add_text(&body, at + 2);
        assert_int_equal(args_error(buf_text(&body)).code, ERR_LIMIT);
    }
}

static void test_preemption_json_read_args__refuses_more_nodes_than_any_cluster_has(void **state)
{
    AUTO(buf_clear) struct buf body = buf_with_max(1 << 20);

    (void)state;
    buf_add_text(&body, "{\"NodeNameToMetaVictims\":{");
    for (unsigned i = 0; i <= EXTENDER_NODES_MAX; i++)
        buf_addf(&body, "%s\"n%u\":{}", i > 0 ? "," : "", i);
    buf_add_text(&body, "}}");
    assert_int_equal(args_error(buf_text(&body)).code, ERR_LIMIT);
}

static void test_preemption_json_read_args__refuses_more_victims_than_any_cluster_has(void **state)
{
    AUTO(buf_clear) struct buf body = buf_with_max(1 << 20);

    (void)state;
    buf_add_text(&body, "{\"NodeNameToMetaVictims\":{\"n\":{\"Pods\":[{}");
    for (unsigned i = 0; i < EXTENDER_VICTIMS_MAX; i++)
        buf_add_text(&body, ",{}");
    buf_add_text(&body, "]}}}");
    assert_int_equal(args_error(buf_text(&body)).code, ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_preemption_json_read_args__reads_uids_of_a_real_scheduler),
        cmocka_unit_test(test_preemption_json_read_args__reads_whole_pods_of_a_real_scheduler),
        cmocka_unit_test(test_preemption_json_write_result__writes_the_form_of_the_go_types),
        cmocka_unit_test(test_preemption_json_read_args__takes_null_and_missing_for_the_same),
        cmocka_unit_test(
            test_preemption_json_read_args__the_last_of_a_member_that_comes_twice_counts),
        cmocka_unit_test(test_preemption_json_read_args__both_forms_are_both_noted),
        cmocka_unit_test(test_preemption_json_read_args__refuses_wrong_types_with_the_place),
        cmocka_unit_test(test_preemption_json_read_args__refuses_names_longer_than_any),
        cmocka_unit_test(test_preemption_json_read_args__refuses_more_nodes_than_any_cluster_has),
        cmocka_unit_test(test_preemption_json_read_args__refuses_more_victims_than_any_cluster_has),
    };

    return cmocka_run_group_tests_name("preemption_json", tests, NULL, NULL);
}
