/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/extender_json.h"

static struct extender_args read_args(const char *json, size_t length)
{
    struct extender_args args = {0};
    struct error err = {0};

    assert_ok(extender_json_read_args(json, length, NULL, &args, &err), &err);
    return args;
}

static struct error args_error(const char *json, size_t length)
{
    AUTO(extender_args_clear) struct extender_args args = {0};
    struct error err = {0};

    assert_true(extender_json_read_args(json, length, NULL, &args, &err) < 0);
    assert_null(args.pod.meta.name);
    return err;
}

static void assert_name(const struct extender_args *args, size_t i, const char *want)
{
    struct name_slice name = extender_args_name(args, i);

    assert_int_equal(name.length, strlen(want));
    assert_memory_equal(name.text, want, name.length);
}

static void test_extender_json_read_args__reads_names_of_a_real_scheduler(void **state)
{
    size_t length;
    AUTO_FREE char *json = test_read_file(
        TEST_DATA "/captured/A-cachecap-ignoredByScheduler.filter.request.json", &length);
    AUTO(extender_args_clear) struct extender_args args = read_args(json, length);

    (void)state;
    assert_true(args.has_pod);
    assert_string_equal(args.pod.meta.name, "a1");
    assert_string_equal(args.pod.meta.uid, "e23b5074-5cc8-4106-887e-1e0d0ae0352e");
    assert_string_equal(kube_pairs_get(&args.pod.containers[0].limits, "example.com/gpu"), "2");
    assert_true(args.has_names);
    assert_false(args.has_nodes);
    assert_int_equal(args.name_count, 3);
    assert_name(&args, 0, "gpu-2");
    assert_name(&args, 1, "gpu-0");
    assert_name(&args, 2, "gpu-1");
}

static void test_extender_json_read_args__reads_a_nominated_pod_of_a_real_scheduler(void **state)
{
    size_t length;
    AUTO_FREE char *json = test_read_file(
        TEST_DATA "/captured/B-cachecap.filter-after-preemption-nominated.request.json", &length);
    AUTO(extender_args_clear) struct extender_args args = read_args(json, length);

    (void)state;
    assert_string_equal(args.pod.nominated_node, "gpu-2");
    assert_int_equal(args.pod.priority, 1000);
}

/* The items of the captured file, put together again, are the file's own list. */
static void test_extender_json_read_args__keeps_real_nodes_byte_for_byte(void **state)
{
    size_t length;
    AUTO_FREE char *json =
        test_read_file(TEST_DATA "/captured/C-nodes.filter.request.json", &length);
    AUTO(extender_args_clear) struct extender_args args = read_args(json, length);
    AUTO(buf_clear) struct buf list = buf_with_max(1 << 20);

    (void)state;
    assert_true(args.has_nodes);
    assert_false(args.has_names);
    assert_true(args.node_count > 1);
    buf_add_text(&list, "\"Nodes\":{\"metadata\":{},\"items\":[");
    for (size_t i = 0; i < args.node_count; i++) {
        buf_addf(&list, "%s%s", i > 0 ? "," : "", args.node_bytes[i]);
        assert_string_equal(kube_pairs_get(&args.nodes[i].allocatable, "example.com/gpu"), "8");
    }
    buf_add_text(&list, "]},\"NodeNames\":null}");
    assert_contains(json, buf_text(&list));
    assert_string_equal(args.nodes[0].meta.name, "gpu-1");
}

static void test_extender_json_read_args__keeps_odd_nodes_byte_for_byte(void **state)
{
    static const char first[] =
        "{ \"x\" : [ { } , \"}\\\"]\" ],\n\t\"metadata\":{\"name\":\"n\\u0031\"} }";
    static const char second[] = "{\"metadata\":{\"name\":\"\xc3\xa9\"},\"metadata\":{}}";
    AUTO_FREE char *json =
        xasprintf(" { \"nodes\" : { \"ITEMS\" : [ %s ,\n%s ] } } ", first, second);
    AUTO(extender_args_clear) struct extender_args args = read_args(json, strlen(json));

    (void)state;
    assert_int_equal(args.node_count, 2);
    assert_string_equal(args.node_bytes[0], first);
    assert_string_equal(args.node_bytes[1], second);
    assert_string_equal(args.nodes[0].meta.name, "n1");
    assert_string_equal(args.nodes[1].meta.name, "\xc3\xa9");
}

/* F38: odd input. */
static void test_extender_json_read_args__takes_null_and_missing_for_the_same(void **state)
{
    static const struct {
        const char *json;
        bool has_pod, has_names, has_nodes;
        size_t count;
    } cases[] = {
        {"{}", false, false, false, 0},
        {"{\"Pod\":null,\"Nodes\":null,\"NodeNames\":null}", false, false, false, 0},
        {"{\"Pod\":null,\"NodeNames\":[\"n1\"]}", false, true, false, 1},
        {"{\"Pod\":{},\"NodeNames\":[]}", true, true, false, 0},
        {"{\"Pod\":{},\"Nodes\":{\"items\":[]}}", true, false, true, 0},
        {"{\"Pod\":{},\"Nodes\":{\"items\":null}}", true, false, true, 0},
        {"{\"Pod\":{},\"Nodes\":{}}", true, false, true, 0},
        {"{\"Pod\":{},\"Nodes\":{},\"NodeNames\":[\"n1\",\"n1\"]}", true, true, true, 2},
        {"{\"pod\":{\"metadata\":{\"name\":\"p\"}},\"nodenames\":[\"n1\"]}", true, true, false, 1},
        {"{\"NodeNames\":[\"a\",\"b\"],\"NodeNames\":[\"c\"]}", false, true, false, 1},
        {"{\"unknown\":{\"Pod\":{}},\"Other\":[1]}", false, false, false, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(extender_args_clear)
        struct extender_args args = read_args(cases[i].json, strlen(cases[i].json));

        assert_int_equal(args.has_pod, cases[i].has_pod);
        assert_int_equal(args.has_names, cases[i].has_names);
        assert_int_equal(args.has_nodes, cases[i].has_nodes);
        assert_int_equal(args.name_count, cases[i].count);
    }
}

static void test_extender_json_read_args__takes_the_last_of_repeated_members(void **state)
{
    static const char json[] =
        "{\"Pod\":{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"}}},"
        "\"pod\":{\"metadata\":{\"name\":\"b\"}},\"NodeNames\":[\"x\"],\"nodeNames\":[\"longer\"],"
        "\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"n1\"}}]},"
        "\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"n2\"}}]}}";
    AUTO(extender_args_clear) struct extender_args args = read_args(json, strlen(json));

    (void)state;
    assert_string_equal(args.pod.meta.name, "b");
    assert_int_equal(args.pod.meta.labels.count, 0);
    assert_int_equal(args.name_count, 1);
    assert_int_equal(args.names[0].length, strlen("longer"));
    assert_memory_equal(args.name_base + args.names[0].start, "longer", strlen("longer"));
    assert_int_equal(args.node_count, 1);
    assert_string_equal(args.nodes[0].meta.name, "n2");
}

static void test_extender_json_read_args__refuses_what_is_not_the_question(void **state)
{
    static const char *const cases[] = {
        "",
        " ",
        "null",
        "7",
        "\"x\"",
        "[]",
        "not json",
        "{\"Pod\":[]}",
        "{\"Pod\":7}",
        "{\"NodeNames\":{}}",
        "{\"NodeNames\":\"n1\"}",
        "{\"NodeNames\":[7]}",
        "{\"NodeNames\":[null]}",
        "{\"NodeNames\":[\"a\\u0000b\"]}",
        "{\"NodeNames\":[\"\xff\"]}",
        "{\"Nodes\":[]}",
        "{\"Nodes\":{\"items\":{}}}",
        "{\"Nodes\":{\"items\":[{}]}}",
        "{\"Nodes\":{\"items\":[{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"}}]}}",
        "{\"NodeNames\":[\"n1\"]",
        "{\"NodeNames\":[\"n1\"]}x",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = args_error(cases[i], strlen(cases[i]));

        assert_int_equal(err.code, ERR_INVALID);
        assert_contains(err.text, "byte ");
    }
}

static char *names_json(size_t count, size_t length)
{
    struct buf json = buf_with_max(64 << 20);

    buf_add_text(&json, "{\"NodeNames\":[");
    for (size_t i = 0; i < count; i++)
        buf_addf(&json, "%s\"%0*zu\"", i > 0 ? "," : "", (int)length, i);
    buf_add_text(&json, "]}");
    return buf_steal(&json);
}

static void test_extender_json_read_args__limits_names_in_number_and_length(void **state)
{
    static const struct {
        size_t count, length;
        int want;
    } cases[] = {
        {EXTENDER_NODES_MAX, 5, 0},
        {EXTENDER_NODES_MAX + 1, 5, -ERR_LIMIT},
        {2, EXTENDER_NAME_MAX, 0},
        {2, EXTENDER_NAME_MAX + 1, -ERR_LIMIT},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *json = names_json(cases[i].count, cases[i].length);
        AUTO(extender_args_clear) struct extender_args args = {0};
        struct error err = {0};

        assert_int_equal(extender_json_read_args(json, strlen(json), NULL, &args, &err),
                         cases[i].want);
        if (cases[i].want == 0)
            assert_int_equal(args.name_count, cases[i].count);
    }
}

static void test_extender_json_read_args__limits_nodes(void **state)
{
    AUTO(buf_clear) struct buf json = buf_with_max(64 << 20);
    struct error err = {0};

    (void)state;
    buf_add_text(&json, "{\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"n\"}}");
    for (size_t i = 0; i < EXTENDER_NODES_MAX; i++)
        buf_add_text(&json, ",{\"metadata\":{\"name\":\"n\"}}");
    buf_add_text(&json, "]}}");
    err = args_error(json.data, json.length);
    assert_int_equal(err.code, ERR_LIMIT);
}

static void test_extender_json_read_args__bounds_the_depth(void **state)
{
    AUTO(buf_clear) struct buf json = buf_with_max(1 << 20);

    (void)state;
    buf_add_text(&json, "{\"Pod\":");
    for (size_t i = 0; i < 10000; i++)
        buf_add_byte(&json, '[');
    assert_int_equal(args_error(json.data, json.length).code, ERR_INVALID); /* a pod is no list */
    buf_reset(&json);
    for (size_t i = 0; i < 10000; i++)
        buf_add_text(&json, "{\"Other\":");
    assert_int_equal(args_error(json.data, json.length).code, ERR_LIMIT);
}

static void
test_extender_json_read_binding_args__reads_the_question_of_a_real_scheduler(void **state)
{
    AUTO(extender_binding_args_clear) struct extender_binding_args args = {0};
    size_t length;
    AUTO_FREE char *json = test_read_file(TEST_DATA "/captured/C-nodes.bind.request.json", &length);
    struct error err = {0};

    (void)state;
    assert_ok(extender_json_read_binding_args(json, length, &args, &err), &err);
    assert_string_equal(args.pod_name, "c1");
    assert_string_equal(args.pod_namespace, "default");
    assert_string_equal(args.pod_uid, "325a7bfc-0bbf-4650-88ed-ea29c7c6db5a");
    assert_memory_equal(args.node, "gpu-", 4);
}

static void test_extender_json_read_binding_args__leaves_missing_texts_empty(void **state)
{
    static const char json[] = "{\"podname\":\"p\",\"NODE\":null}";
    AUTO(extender_binding_args_clear) struct extender_binding_args args = {0};
    struct error err = {0};

    (void)state;
    assert_ok(extender_json_read_binding_args(json, strlen(json), &args, &err), &err);
    assert_string_equal(args.pod_name, "p");
    assert_string_equal(args.pod_namespace, "");
    assert_string_equal(args.pod_uid, "");
    assert_string_equal(args.node, "");
}

static void test_extender_json_read_binding_args__refuses_wrong_types_and_lengths(void **state)
{
    static const struct {
        const char *json;
        int want;
    } cases[] = {
        {"", -ERR_INVALID},
        {"[]", -ERR_INVALID},
        {"{\"Node\":7}", -ERR_INVALID},
        {"{\"Node\":{}}", -ERR_INVALID},
        {"{\"Node\":\"\\u0000\"}", -ERR_INVALID},
    };
    AUTO_FREE char *too_long = xasprintf("{\"Node\":\"%0*d\"}", EXTENDER_NAME_MAX + 1, 0);
    AUTO(extender_binding_args_clear) struct extender_binding_args args = {0};
    struct error long_err = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = {0};

        assert_int_equal(
            extender_json_read_binding_args(cases[i].json, strlen(cases[i].json), &args, &err),
            cases[i].want);
    }
    assert_int_equal(extender_json_read_binding_args(too_long, strlen(too_long), &args, &long_err),
                     -ERR_LIMIT);
    assert_null(args.node);
}

static void sort_and_write(const struct extender_args *args,
                           const struct node_answer *const *answers, struct buf *out)
{
    AUTO(sorted_answers_clear) struct sorted_answers sorted;

    sorted_answers_init(&sorted, answers, extender_args_count(args));
    extender_json_write_filter_result(out, args, &sorted);
}

/* The result of a call whose first node is kept and the others are not. */
static void write_result(const struct extender_args *args, struct buf *out)
{
    AUTO(node_answer_clear)
    struct node_answer for_now = node_answer_refusal(NODE_REFUSED_FOR_NOW, "too few \"free\" GPUs");
    AUTO(node_answer_clear)
    struct node_answer refused = node_answer_refusal(NODE_REFUSED, "no GPUs");
    const struct node_answer kept = {.fate = NODE_KEPT};
    const struct node_answer *const answers[] = {&kept, &for_now, &refused};

    assert_true(extender_args_count(args) <= ARRAY_LEN(answers));
    sort_and_write(args, answers, out);
}

static void test_extender_json_write_filter_result__answers_names_with_names(void **state)
{
    static const char json[] = "{\"Pod\":{},\"NodeNames\":[\"n1\",\"n2\",\"n3\"]}";
    AUTO(extender_args_clear) struct extender_args args = read_args(json, strlen(json));
    AUTO(buf_clear) struct buf out = buf_with_max(10000);

    (void)state;
    write_result(&args, &out);
    assert_string_equal(buf_text(&out),
                        "{\"Nodes\":null,\"NodeNames\":[\"n1\"],"
                        "\"FailedNodes\":{\"n2\":\"too few \\\"free\\\" GPUs\"},"
                        "\"FailedAndUnresolvableNodes\":{\"n3\":\"no GPUs\"},\"Error\":\"\"}");
}

static void test_extender_json_write_filter_result__answers_objects_with_objects(void **state)
{
    static const char json[] =
        "{\"Pod\":{},\"Nodes\":{\"items\":["
        "{\"metadata\": {\"name\":\"n1\"},\"x\":1.50},"
        "{\"metadata\":{\"name\":\"n2\"}},{\"metadata\":{\"name\":\"n3\"}}]}}";
    AUTO(extender_args_clear) struct extender_args args = read_args(json, strlen(json));
    AUTO(buf_clear) struct buf out = buf_with_max(10000);

    (void)state;
    write_result(&args, &out);
    assert_string_equal(
        buf_text(&out),
        "{\"Nodes\":{\"metadata\":{},\"items\":[{\"metadata\": {\"name\":\"n1\"},\"x\":1.50}]},"
        "\"NodeNames\":null,\"FailedNodes\":{\"n2\":\"too few \\\"free\\\" GPUs\"},"
        "\"FailedAndUnresolvableNodes\":{\"n3\":\"no GPUs\"},\"Error\":\"\"}");
}

static void test_extender_json_write_filter_result__keeps_no_node_of_none(void **state)
{
    static const char json[] = "{\"Pod\":{},\"NodeNames\":[]}";
    AUTO(extender_args_clear) struct extender_args args = read_args(json, strlen(json));
    AUTO(buf_clear) struct buf out = buf_with_max(10000);

    (void)state;
    write_result(&args, &out);
    assert_string_equal(buf_text(&out), "{\"Nodes\":null,\"NodeNames\":[],\"FailedNodes\":{},"
                                        "\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}");
}

static void
test_extender_json_write_filter_result__answers_objects_when_both_were_sent(void **state)
{
    static const char json[] = "{\"Pod\":{},\"NodeNames\":[\"x\"],"
                               "\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"n1\"}}]}}";
    AUTO(extender_args_clear) struct extender_args args = read_args(json, strlen(json));
    AUTO(buf_clear) struct buf out = buf_with_max(10000);

    (void)state;
    write_result(&args, &out);
    assert_contains(buf_text(&out), "\"items\":[{\"metadata\":{\"name\":\"n1\"}}]");
    assert_contains(buf_text(&out), "\"NodeNames\":null");
}

/* All names of a call are kept. */
static void keep_all(const struct extender_args *args, struct buf *out)
{
    static const struct node_answer kept = {.fate = NODE_KEPT};
    AUTO_FREE const struct node_answer **answers = xcalloc(args->name_count + 1, sizeof(*answers));

    for (size_t i = 0; i < args->name_count; i++)
        answers[i] = &kept;
    sort_and_write(args, answers, out);
}

static void
test_extender_json_write_filter_result__escapes_and_keeps_order_at_any_length(void **state)
{
    static const char *const names[] = {"a",           "with \"quote", "12345678", "back\\slash",
                                        "1234567\x01", "\xc3\xa9",     ""};
    AUTO(buf_clear) struct buf json = buf_with_max(1 << 20);
    AUTO(buf_clear) struct buf list = buf_with_max(1 << 20);
    AUTO(buf_clear) struct buf out = buf_with_max(1 << 20);
    AUTO(buf_clear) struct buf want = buf_with_max(1 << 20);
    AUTO(extender_args_clear) struct extender_args args = {0};

    (void)state;
    for (size_t i = 0; i < 3000; i++) {
        buf_add_text(&list, i > 0 ? "," : "");
        buf_add_json_string(&list, i % 501 == 0 ? names[i / 501] : "plain");
    }
    buf_addf(&json, "{\"Pod\":{},\"NodeNames\":[%s]}", buf_text(&list));
    buf_addf(&want,
             "{\"Nodes\":null,\"NodeNames\":[%s],\"FailedNodes\":{},"
             "\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}",
             buf_text(&list));
    args = read_args(json.data, json.length);
    keep_all(&args, &out);
    assert_string_equal(buf_text(&out), buf_text(&want));
}

static void test_extender_json_write_filter_result__passes_reasons_of_any_length(void **state)
{
    static const char json[] = "{\"Pod\":{},\"NodeNames\":[\"n1\"]}";
    AUTO(extender_args_clear) struct extender_args args = read_args(json, strlen(json));
    AUTO(buf_clear) struct buf out = buf_with_max(1 << 20);
    AUTO(node_answer_clear) struct node_answer refused = {0};
    const struct node_answer *const answers[] = {&refused};
    char text[10000];

    (void)state;
    memset(text, 'n', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    refused = node_answer_refusal(NODE_REFUSED, text);
    sort_and_write(&args, answers, &out);
    assert_contains(buf_text(&out), text);
}

static void test_extender_json_write_filter_result__overflows_without_writing_beyond(void **state)
{
    static const char json[] = "{\"Pod\":{},\"NodeNames\":[\"n1\",\"n2\",\"n3\"]}";
    AUTO(extender_args_clear) struct extender_args args = read_args(json, strlen(json));

    (void)state;
    for (size_t max = 0; max < 200; max++) {
        AUTO(buf_clear) struct buf out = buf_with_max(max);

        write_result(&args, &out);
        assert_true(out.length <= max);
    }
}

static void test_extender_json_write_filter_error__says_percent_in_words(void **state)
{
    AUTO(buf_clear) struct buf out = buf_with_max(10000);

    (void)state;
    extender_json_write_filter_error(&out, "50% of \"x\"");
    assert_string_equal(
        buf_text(&out),
        "{\"Nodes\":null,\"NodeNames\":null,\"FailedNodes\":null,"
        "\"FailedAndUnresolvableNodes\":null,\"Error\":\"50 percent of \\\"x\\\"\"}");
}

static void test_extender_json_write_scores__writes_a_bare_list(void **state)
{
    static const char json[] = "{\"Pod\":{},\"NodeNames\":[\"n1\",\"n2\"]}";
    AUTO(extender_args_clear) struct extender_args args = read_args(json, strlen(json));
    AUTO(buf_clear) struct buf out = buf_with_max(10000);

    (void)state;
    extender_json_write_scores(&out, &args, (const uint8_t[]){0, 10});
    assert_string_equal(buf_text(&out),
                        "[{\"Host\":\"n1\",\"Score\":0},{\"Host\":\"n2\",\"Score\":10}]");
    buf_reset(&out);
    extender_json_write_scores(&out, &(struct extender_args){0}, NULL);
    assert_string_equal(buf_text(&out), "[]");
}

static void test_extender_json_write_binding_result__says_nothing_or_why(void **state)
{
    AUTO(buf_clear) struct buf out = buf_with_max(10000);

    (void)state;
    extender_json_write_binding_result(&out, "");
    assert_string_equal(buf_text(&out), "{\"Error\":\"\"}");
    buf_reset(&out);
    extender_json_write_binding_result(&out, "100%");
    assert_string_equal(buf_text(&out), "{\"Error\":\"100 percent\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extender_json_read_args__reads_names_of_a_real_scheduler),
        cmocka_unit_test(test_extender_json_read_args__reads_a_nominated_pod_of_a_real_scheduler),
        cmocka_unit_test(test_extender_json_read_args__keeps_real_nodes_byte_for_byte),
        cmocka_unit_test(test_extender_json_read_args__keeps_odd_nodes_byte_for_byte),
        cmocka_unit_test(test_extender_json_read_args__takes_null_and_missing_for_the_same),
        cmocka_unit_test(test_extender_json_read_args__takes_the_last_of_repeated_members),
        cmocka_unit_test(test_extender_json_read_args__refuses_what_is_not_the_question),
        cmocka_unit_test(test_extender_json_read_args__limits_names_in_number_and_length),
        cmocka_unit_test(test_extender_json_read_args__limits_nodes),
        cmocka_unit_test(test_extender_json_read_args__bounds_the_depth),
        cmocka_unit_test(
            test_extender_json_read_binding_args__reads_the_question_of_a_real_scheduler),
        cmocka_unit_test(test_extender_json_read_binding_args__leaves_missing_texts_empty),
        cmocka_unit_test(test_extender_json_read_binding_args__refuses_wrong_types_and_lengths),
        cmocka_unit_test(test_extender_json_write_filter_result__answers_names_with_names),
        cmocka_unit_test(test_extender_json_write_filter_result__answers_objects_with_objects),
        cmocka_unit_test(test_extender_json_write_filter_result__keeps_no_node_of_none),
        cmocka_unit_test(
            test_extender_json_write_filter_result__answers_objects_when_both_were_sent),
        cmocka_unit_test(
            test_extender_json_write_filter_result__escapes_and_keeps_order_at_any_length),
        cmocka_unit_test(test_extender_json_write_filter_result__passes_reasons_of_any_length),
        cmocka_unit_test(test_extender_json_write_filter_result__overflows_without_writing_beyond),
        cmocka_unit_test(test_extender_json_write_filter_error__says_percent_in_words),
        cmocka_unit_test(test_extender_json_write_scores__writes_a_bare_list),
        cmocka_unit_test(test_extender_json_write_binding_result__says_nothing_or_why),
    };

    return cmocka_run_group_tests_name("extender_json", tests, NULL, NULL);
}
