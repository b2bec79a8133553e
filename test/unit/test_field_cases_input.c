/* SPDX-License-Identifier: Apache-2.0 */
/* Field case F38: odd input must not bring the daemon down. */
#include "support/harness.h"

#include <malloc.h>
#include <stdlib.h>

#define POD_HEAD "{\"metadata\":{\"name\":\"p\",\"namespace\":\"default\",\"uid\":\"u\"},\"spec\":"
#define POD_OF(limits) \
    POD_HEAD "{\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":" limits "}}]}}"
#define ONE_GPU POD_OF("{\"nvidia.com/gpu\":\"1\"}")

/* How a call ends. */
enum end {
    REFUSED,   /* not a request of this form: 4xx */
    HAS_ERROR, /* answered, with a text in Error */
    ANSWERED,
};

/* A body, and how filter and bind end with it. prioritize cannot tell an Error: it refuses. */
static const struct {
    const char *body;
    enum end filter, bind;
} bodies[] = {
    {"", REFUSED, REFUSED},
    {" ", REFUSED, REFUSED},
    {"no JSON at all", REFUSED, REFUSED},
    {"<html></html>", REFUSED, REFUSED},
    {"null", REFUSED, REFUSED},
    {"true", REFUSED, REFUSED},
    {"[]", REFUSED, REFUSED},
    {"\"text\"", REFUSED, REFUSED},
    {"{", REFUSED, REFUSED},
    {"{}}", REFUSED, REFUSED},
    {"{\"Pod\":" ONE_GPU ",\"NodeNames\":[\"n1\"", REFUSED, REFUSED},
    {"{}", HAS_ERROR, HAS_ERROR},
    {"{\"Pod\":null,\"NodeNames\":[\"n1\"]}", HAS_ERROR, HAS_ERROR},
    {"{\"Pod\":null,\"Nodes\":null,\"NodeNames\":null}", HAS_ERROR, HAS_ERROR},
    {"{\"Pod\":[],\"NodeNames\":[\"n1\"]}", REFUSED, HAS_ERROR},
    {"{\"Pod\":\"p\",\"NodeNames\":[\"n1\"]}", REFUSED, HAS_ERROR},
    {"{\"Pod\":{},\"NodeNames\":[\"n1\"]}", ANSWERED, HAS_ERROR},
    {"{\"Pod\":" POD_HEAD "{}},\"NodeNames\":[\"n1\"]}", ANSWERED, HAS_ERROR},
    {"{\"Pod\":" POD_HEAD "{\"containers\":null}},\"NodeNames\":[\"n1\"]}", ANSWERED, HAS_ERROR},
    {"{\"Pod\":" POD_HEAD "null},\"NodeNames\":[\"n1\"]}", ANSWERED, HAS_ERROR},
    {"{\"Pod\":" ONE_GPU "}", HAS_ERROR, HAS_ERROR},
    {"{\"Pod\":" ONE_GPU ",\"Nodes\":null,\"NodeNames\":null}", HAS_ERROR, HAS_ERROR},
    {"{\"Pod\":" ONE_GPU ",\"Nodes\":{\"items\":[]},\"NodeNames\":[\"n1\"]}", HAS_ERROR, HAS_ERROR},
    {"{\"Pod\":" ONE_GPU ",\"NodeNames\":[]}", ANSWERED, HAS_ERROR},
    {"{\"Pod\":" ONE_GPU ",\"Nodes\":{\"items\":[]}}", ANSWERED, HAS_ERROR},
    {"{\"Pod\":" ONE_GPU ",\"Nodes\":{}}", ANSWERED, HAS_ERROR},
    {"{\"Pod\":" ONE_GPU ",\"Nodes\":{\"items\":[{}]}}", REFUSED, HAS_ERROR},
    {"{\"Pod\":" ONE_GPU ",\"NodeNames\":[\"ghost\",\"\",\"n1\"]}", ANSWERED, HAS_ERROR},
    {"{\"Pod\":" ONE_GPU ",\"NodeNames\":[null]}", REFUSED, HAS_ERROR},
    {"{\"Pod\":" ONE_GPU ",\"NodeNames\":[1,2]}", REFUSED, HAS_ERROR},
    {"{\"Pod\":" ONE_GPU ",\"NodeNames\":\"n1\"}", REFUSED, HAS_ERROR},
    {"{\"Pod\":" ONE_GPU ",\"NodeNames\":[\"\xff\xfe\"]}", REFUSED, REFUSED},
    {"{\"Pod\":" ONE_GPU ",\"NodeNames\":[\"\xc3\x28\"]}", REFUSED, REFUSED},
    {"{\"Pod\":" POD_OF("{\"nvidia.com/gpu\":\"99999999999999999999\"}") ",\"NodeNames\":[\"n1\"]}",
     ANSWERED, HAS_ERROR},
    {"{\"Pod\":" POD_OF("{\"nvidia.com/gpu\":\"4294967295\"}") ",\"NodeNames\":[\"n1\"]}", ANSWERED,
     HAS_ERROR},
    {"{\"Pod\":" POD_OF("{\"nvidia.com/gpu\":1e999}") ",\"NodeNames\":[\"n1\"]}", ANSWERED,
     HAS_ERROR},
    {"{\"Pod\":" POD_OF("{\"nvidia.com/gpu\":-1}") ",\"NodeNames\":[\"n1\"]}", ANSWERED, HAS_ERROR},
    {"{\"Pod\":" POD_OF(
         "{\"nvidia.com/gpu\":\"1\",\"nvidia.com/gpumem\":\"9223372036854775807\"}") ",\"NodeNames"
                                                                                     "\":[\"n1\"]}",
     ANSWERED, HAS_ERROR},
    {"{\"Pod\":" POD_OF("{\"nvidia.com/gpu\":{}}") ",\"NodeNames\":[\"n1\"]}", REFUSED, HAS_ERROR},
    {"{\"pod\":" ONE_GPU ",\"nodenames\":[\"n1\"]}", ANSWERED, HAS_ERROR},
    {"{\"podname\":\"p\",\"podnamespace\":\"default\",\"poduid\":\"u\",\"node\":\"n1\"}", HAS_ERROR,
     ANSWERED},
    {"{\"PodName\":\"ghost\",\"PodNamespace\":\"default\",\"PodUID\":\"g\",\"Node\":\"n1\"}",
     HAS_ERROR, HAS_ERROR},
    {"{\"PodName\":1,\"PodNamespace\":\"default\",\"PodUID\":\"g\",\"Node\":\"n1\"}", HAS_ERROR,
     REFUSED},
    {"{\"PodName\":\"\\u0000\",\"PodNamespace\":\"d\",\"PodUID\":\"g\",\"Node\":\"n1\"}", HAS_ERROR,
     REFUSED},
};

static struct harness *f38_new(void)
{
    struct harness *harness = harness_new();

    api_node(harness, "n1", 2, 16384);
    api_pod(harness, "normal", "gpu 1, mem 1000");
    return harness;
}

/* How a filter or bind answer ended. */
static enum end end_of(char *answer, const struct error *err)
{
    json_t *json;
    const char *text;
    enum end end;

    if (answer == NULL) {
        assert_true(err->code == ERR_INVALID || err->code == ERR_LIMIT);
        assert_true(strlen(err->text) > 0);
        return REFUSED;
    }
    json = json_loads(answer, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    text = json_string_value(json_object_get(json, "Error"));
    assert_non_null(text);
    end = text[0] != '\0' ? HAS_ERROR : ANSWERED;
    json_decref(json);
    return end;
}

static void keep_body(void *ctx, const char *body, size_t length)
{
    *(char **)ctx = xstrndup(body, length);
}

static enum end filter_with(struct harness *harness, const char *body)
{
    struct error err = {0};
    AUTO_FREE char *answer = ask_body(harness, extender_filter, body, &err);

    return end_of(answer, &err);
}

static enum end bind_with(struct harness *harness, const char *body)
{
    AUTO_FREE char *answer = NULL;
    struct error err = {0};
    int result = extender_bind(&harness->extender, body, strlen(body), (struct moment){0},
                               keep_body, &answer, &err);

    assert_int_equal(result < 0, answer == NULL);
    return end_of(answer, &err);
}

/* prioritize: a list of whole scores, or refused. */
static enum end prioritize_with(struct harness *harness, const char *body)
{
    struct error err = {0};
    AUTO_FREE char *answer = ask_body(harness, extender_prioritize, body, &err);
    json_t *json = answer != NULL ? json_loads(answer, 0, NULL) : NULL;
    const json_t *entry;
    size_t i;

    if (answer == NULL)
        return end_of(NULL, &err);
    assert_true(json_is_array(json));
    json_array_foreach(json, i, entry)
    {
        assert_true(json_is_integer(json_object_get(entry, "Score")));
        assert_in_range(json_integer_value(json_object_get(entry, "Score")), 0, 10);
    }
    json_decref(json);
    return ANSWERED;
}

static void expect_alive(struct harness *harness)
{
    expect_kept(harness, "normal", "n1", "n1");
    assert_string_equal(harness->answer,
                        "{\"Nodes\":null,\"NodeNames\":[\"n1\"],\"FailedNodes\":{},"
                        "\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}");
}

static void test_f38__every_odd_body_is_answered_and_a_normal_call_still_works(void **state)
{
    AUTO(harness_free) struct harness *harness = f38_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        enum end filter = filter_with(harness, bodies[i].body);
        enum end prioritize = prioritize_with(harness, bodies[i].body);
        enum end bind;

        api_pod(harness, "p", "gpu 1, mem 1000", .uid = "u");
        bind = bind_with(harness, bodies[i].body);
        api_delete_pod(harness, "p");
        if (filter != bodies[i].filter || bind != bodies[i].bind)
            fail_msg("filter %d, bind %d: %s", (int)filter, (int)bind, bodies[i].body);
        assert_int_equal(prioritize, filter == ANSWERED ? ANSWERED : REFUSED);
        expect_alive(harness);
    }
}

static void test_f38__unknown_nodes_are_refused_each_with_a_reason(void **state)
{
    AUTO(harness_free) struct harness *harness = f38_new();

    (void)state;
    expect_kept(harness, "normal", "ghost n1 phantom", "n1");
    assert_non_null(refusal_of(harness, "ghost"));
    assert_non_null(refusal_of(harness, "phantom"));
}

static void test_f38__a_node_gone_between_filter_and_prioritize_scores_0(void **state)
{
    AUTO(harness_free) struct harness *harness = f38_new();

    (void)state;
    api_node(harness, "n2", 1, 16384);
    expect_kept(harness, "normal", "n1 n2", "n1 n2");
    api_delete_node(harness, "n2");
    ask_prioritize(harness, "normal", "n1 n2");
    assert_int_equal(score_of(harness, "n2"), 0);
    assert_string_not_equal(ask_bind(harness, "normal", "n2"), "");
    expect_alive(harness);
}

static void test_f38__lower_case_keys_are_understood(void **state)
{
    AUTO(harness_free) struct harness *harness = f38_new();
    struct error err = {0};
    AUTO_FREE char *answer = ask_body(harness, extender_filter,
                                      "{\"pod\":" ONE_GPU ",\"nodenames\":[\"n1\",\"x\"]}", &err);
    AUTO_FREE char *scores = ask_body(harness, extender_prioritize,
                                      "{\"pod\":" ONE_GPU ",\"nodenames\":[\"n1\",\"x\"]}", &err);

    (void)state;
    assert_non_null(answer);
    assert_contains(answer, "\"NodeNames\":[\"n1\"]");
    assert_string_equal(scores, "[{\"Host\":\"n1\",\"Score\":10},{\"Host\":\"x\",\"Score\":0}]");
}

static void test_f38__ten_thousand_levels_are_refused(void **state)
{
    static const char *const places[] = {"{\"Pod\":%s}", "%s",
                                         "{\"Pod\":{\"metadata\":{\"name\":\"p\",\"x\":%s}}}",
                                         "{\"PodName\":%s}"};
    AUTO(harness_free) struct harness *harness = f38_new();
    AUTO(buf_clear) struct buf deep = buf_with_max(1 << 20);

    (void)state;
    for (unsigned i = 0; i < 10000; i++)
        buf_add_text(&deep, i % 2 == 0 ? "[" : "{\"a\":");
    buf_add_text(&deep, "1");
    for (unsigned i = 10000; i > 0; i--)
        buf_add_text(&deep, i % 2 == 1 ? "]" : "}");
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        AUTO(buf_clear) struct buf body = buf_with_max(1 << 20);
        const char *gap = strstr(places[i], "%s");

        buf_add(&body, places[i], (size_t)(gap - places[i]));
        buf_add(&body, deep.data, deep.length);
        buf_add_text(&body, gap + 2);
        assert_int_equal(filter_with(harness, body.data), REFUSED);
        assert_int_equal(prioritize_with(harness, body.data), REFUSED);
        assert_int_equal(bind_with(harness, body.data), REFUSED);
        expect_alive(harness);
    }
}

static void test_f38__a_body_of_ten_megabytes_is_read_or_refused(void **state)
{
    static const struct {
        const char *head, *tail;
        enum end end;
    } cases[] = {
        {"{\"Pod\":{\"metadata\":{\"name\":\"p\",\"annotations\":{\"big\":\"",
         "\"}}},\"NodeNames\":[\"n1\"]}", ANSWERED}, /* kept in part: no device is asked for */
        {"{\"Pod\":" ONE_GPU ",\"Ignored\":\"", "\",\"NodeNames\":[\"n1\"]}", ANSWERED},
        {"{\"Pod\":" ONE_GPU ",\"NodeNames\":[\"", "\"]}", REFUSED},
        {"", "", REFUSED},
    };
    AUTO(harness_free) struct harness *harness = f38_new();
    AUTO_FREE char *big = xmalloc((10 << 20) + 1);

    (void)state;
    memset(big, 'x', 10 << 20);
    big[10 << 20] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *body = xasprintf("%s%s%s", cases[i].head, big, cases[i].tail);

        assert_int_equal(filter_with(harness, body), cases[i].end);
        assert_int_equal(prioritize_with(harness, body), cases[i].end);
        assert_int_not_equal(bind_with(harness, body), ANSWERED);
        expect_alive(harness);
    }
}

static void test_f38__a_pod_that_was_kept_in_part_and_asks_for_devices_is_refused(void **state)
{
    AUTO(harness_free) struct harness *harness = f38_new();
    AUTO_FREE char *big = xmalloc((2 << 20) + 1);

    (void)state;
    memset(big, 'x', 2 << 20);
    big[2 << 20] = '\0';
    api_pod(harness, "p", "gpu 1", .annotations = {"big", big});
    expect_refused(harness, "p", "n1");
    assert_true(is_unresolvable(harness, "n1"));
}

/* Bytes in use, as the sanitizer or the C library counts them. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t allocated_bytes(void)
{
    if (__sanitizer_get_current_allocated_bytes != NULL)
        return __sanitizer_get_current_allocated_bytes();
    return mallinfo2().uordblks;
}

static void test_f38__a_thousand_rounds_leave_no_memory_behind(void **state)
{
    AUTO(harness_free) struct harness *harness = f38_new();
    size_t before = 0;

    (void)state;
    for (unsigned round = 0; round < 1000; round++) {
        api_pod(harness, "p", "gpu 1, mem 1000", .uid = "u");
        for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
            filter_with(harness, bodies[i].body);
            prioritize_with(harness, bodies[i].body);
            bind_with(harness, bodies[i].body);
        }
        api_delete_pod(harness, "p");
        if (round == 10)
            before = allocated_bytes();
    }
    assert_true(allocated_bytes() <= before + 16384);
    expect_alive(harness);
}

/* --- devices of size 0 -------------------------------------------------------------------------
 */

static const struct node_spec odd_nodes[] = {
    {.name = "no-memory", .count = 1, .memory_mib = 0},
    {.name = "no-cores", .count = 1, .memory_mib = 16384, .cores = -1},
    {.name = "no-slots", .count = 1, .memory_mib = 16384, .slots = -1},
    {.name = "nothing", .count = 1, .memory_mib = 0, .cores = -1, .slots = -1},
};
static const char *const wants[] = {"gpu 1", "gpu 1, mem 1", "gpu 1, pct 1", "gpu 1, pct 100",
                                    "gpu 1, mem 1, cores 100"};

static void test_f38__a_device_of_size_0_is_never_chosen_and_scores_a_plain_0(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
        for (unsigned packing = 0; packing < PACKING_POLICY_COUNT; packing++) {
            AUTO(harness_free) struct harness *harness = f38_new();

            harness->extender.options.policy.packing = (enum packing_policy)packing;
            api_pod(harness, "p", wants[i]);
            for (size_t k = 0; k < ARRAY_LEN(odd_nodes); k++) {
                AUTO_FREE char *names = xasprintf("n1 %s", odd_nodes[k].name);

                harness_put_node(harness, &odd_nodes[k]);
                expect_kept(harness, "p", names, "n1");
                ask_prioritize(harness, "p", names);
                assert_int_equal(score_of(harness, odd_nodes[k].name), 0);
                assert_string_not_equal(ask_bind(harness, "p", odd_nodes[k].name), "");
                json_decref(node_view(harness, odd_nodes[k].name));
            }
            assert_int_equal(harness->submitted, 0);
        }
    }
}

static void test_f38__beside_a_device_of_size_0_the_good_device_is_chosen(void **state)
{
    static const uint64_t sizes[] = {0, 16384, 0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
        AUTO(harness_free) struct harness *harness = f38_new();

        api_node(harness, "mixed", 3, 0, .memory_each = sizes);
        api_pod(harness, "p", wants[i]);
        api_pod(harness, "two", "gpu 2, mem 1");
        expect_refused(harness, "two", "mixed");
        ask_prioritize(harness, "p", "n1 mixed");
        place(harness, "p", "mixed");
        assert_int_equal(device_of(harness, "p"), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f38__every_odd_body_is_answered_and_a_normal_call_still_works),
        cmocka_unit_test(test_f38__unknown_nodes_are_refused_each_with_a_reason),
        cmocka_unit_test(test_f38__a_node_gone_between_filter_and_prioritize_scores_0),
        cmocka_unit_test(test_f38__lower_case_keys_are_understood),
        cmocka_unit_test(test_f38__ten_thousand_levels_are_refused),
        cmocka_unit_test(test_f38__a_body_of_ten_megabytes_is_read_or_refused),
        cmocka_unit_test(test_f38__a_pod_that_was_kept_in_part_and_asks_for_devices_is_refused),
        cmocka_unit_test(test_f38__a_thousand_rounds_leave_no_memory_behind),
        cmocka_unit_test(test_f38__a_device_of_size_0_is_never_chosen_and_scores_a_plain_0),
        cmocka_unit_test(test_f38__beside_a_device_of_size_0_the_good_device_is_chosen),
    };

    return cmocka_run_group_tests_name("field_cases_input", tests, NULL, NULL);
}
