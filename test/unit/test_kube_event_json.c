/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/kube_json.h"

#include <stdlib.h>

/* The body in a captured exchange: what stands behind the status line. */
static const char *body_of(const char *exchange)
{
    const char *status = strstr(exchange, "-> HTTP ");

    assert_non_null(status);
    return strchr(status, '\n') + 1;
}

static struct kube_event read_event(enum kube_kind kind, const char *json, size_t length)
{
    struct kube_event event = {0};
    struct error err = {0};

    assert_ok(kube_json_read_event(kind, json, length, &event, &err), &err);
    return event;
}

static void test_kube_json_read_event__reads_the_lines_of_a_real_watch(void **state)
{
    static const struct {
        enum kube_event_type type;
        const char *name, *version;
        bool end;
    } want[] = {
        {KUBE_ADDED, "p1", "215", false},
        {KUBE_ADDED, "p2", "216", false},
        {KUBE_BOOKMARK, "", "218", true},
    };
    AUTO_FREE char *exchange = test_read_file(TEST_DATA "/captured/api/watch-list.txt", NULL);
    const char *line = body_of(exchange);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        size_t length = strcspn(line, "\n");
        AUTO(kube_event_clear) struct kube_event event = read_event(KUBE_POD, line, length);

        assert_int_equal(event.type, want[i].type);
        assert_string_equal(event.object.pod.meta.name, want[i].name);
        assert_string_equal(event.object.pod.meta.resource_version, want[i].version);
        assert_int_equal(event.initial_events_end, want[i].end);
        line += length + 1;
    }
}

static void test_kube_json_read_event__reads_a_real_error(void **state)
{
    AUTO_FREE char *exchange = test_read_file(TEST_DATA "/captured/api/watch-410.txt", NULL);
    const char *json = body_of(exchange);

    (void)state;
    for (enum kube_kind kind = KUBE_NODE; kind <= KUBE_POD; kind++) {
        AUTO(kube_event_clear) struct kube_event event = read_event(kind, json, strlen(json));

        assert_int_equal(event.type, KUBE_ERROR);
        assert_int_equal(event.status.code, 410);
        assert_string_equal(event.status.reason, "Expired");
        assert_string_equal(event.status.message, "too old resource version: 1 (226)");
    }
}

static void test_kube_json_read_event__does_not_care_for_the_order_of_members(void **state)
{
    static const char node[] =
        "{\"object\":{\"status\":{\"allocatable\":{\"g\":\"8\"}},\"metadata\":"
        "{\"name\":\"n\",\"resourceVersion\":\"5\"}},\"type\":\"MODIFIED\"}";
    static const char error[] = "{\"object\":{\"code\":429,\"status\":\"Failure\",\"details\":"
                                "{\"retryAfterSeconds\":7}},\"type\":\"ERROR\"}\n";
    AUTO(kube_event_clear)
    struct kube_event modified = read_event(KUBE_NODE, node, strlen(node));
    AUTO(kube_event_clear) struct kube_event failed = read_event(KUBE_POD, error, strlen(error));

    (void)state;
    assert_int_equal(modified.type, KUBE_MODIFIED);
    assert_string_equal(kube_object_meta(&modified.object)->name, "n");
    assert_string_equal(kube_pairs_get(&modified.object.node.allocatable, "g"), "8");
    assert_int_equal(failed.status.code, 429);
    assert_int_equal(failed.status.retry_after_seconds, 7);
}

static void test_kube_json_read_event__knows_its_types(void **state)
{
    static const struct {
        const char *word;
        enum kube_event_type type;
    } cases[] = {
        {"ADDED", KUBE_ADDED},     {"MODIFIED", KUBE_MODIFIED},
        {"DELETED", KUBE_DELETED}, {"BOOKMARK", KUBE_BOOKMARK},
        {"ERROR", KUBE_ERROR},     {"SOMETHING", KUBE_EVENT_OTHER},
        {"", KUBE_EVENT_OTHER},    {"ADDED\\u0041", KUBE_EVENT_OTHER},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *json = xasprintf("{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":"
                                         "\"p\",\"resourceVersion\":\"1\"}}}",
                                         cases[i].word);
        AUTO(kube_event_clear)
        struct kube_event event = read_event(KUBE_POD, json, strlen(json));

        assert_int_equal(event.type, cases[i].type);
        assert_false(event.initial_events_end);
    }
}

static void test_kube_json_read_event__sees_the_end_of_a_list_only_where_it_says_true(void **state)
{
    static const char json[] = "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{"
                               "\"resourceVersion\":\"1\",\"annotations\":{"
                               "\"k8s.io/initial-events-end\":\"false\"}}}}";
    AUTO(kube_event_clear) struct kube_event event = read_event(KUBE_POD, json, strlen(json));

    (void)state;
    assert_false(event.initial_events_end);
}

static void test_kube_json_read_event__takes_the_last_of_a_repeated_object(void **state)
{
    static const char json[] =
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"}}},"
        "\"object\":{\"metadata\":{\"name\":\"b\"}}}";
    AUTO(kube_event_clear) struct kube_event event = read_event(KUBE_POD, json, strlen(json));

    (void)state;
    assert_string_equal(event.object.pod.meta.name, "b");
    assert_int_equal(event.object.pod.meta.labels.count, 0);
}

static void test_kube_json_read_event__refuses_what_is_no_event(void **state)
{
    static const char *const cases[] = {
        "",
        "{}",
        "{\"type\":\"ADDED\"}",
        "{\"type\":7,\"object\":{}}",
        "{\"type\":null,\"object\":{}}",
        "{\"object\":{\"metadata\":{\"name\":\"p\"}}}",
        "{\"type\":\"ADDED\",\"object\":{}}",
        "{\"type\":\"ADDED\",\"object\":null}",
        "{\"type\":\"ADDED\",\"object\":[]}",
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Node\",\"metadata\":{\"name\":\"p\"}}}",
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"p\"}}}{",
        "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{}}}",
        "{\"type\":\"ERROR\",\"object\":{\"code\":\"410\"}}",
        "{\"type\":\"ERROR\",\"object\":{\"code\":-1}}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kube_event event = {0};
        struct error err = {0};

        if (kube_json_read_event(KUBE_POD, cases[i], strlen(cases[i]), &event, &err) !=
            -ERR_INVALID)
            fail_msg("accepted: %s", cases[i]);
        assert_null(event.object.pod.meta.name);
    }
}

static void test_kube_json_read_status__reads_the_answers_of_a_real_server(void **state)
{
    static const struct {
        const char *file;
        int code;
        const char *reason;
        int retry_after_seconds;
    } cases[] = {
        {TEST_DATA "/captured/api/binding-201.txt", 201, "", 0},
        {TEST_DATA "/captured/api/binding-403.txt", 403, "Forbidden", 0},
        {TEST_DATA "/captured/api/binding-404.txt", 404, "NotFound", 0},
        {TEST_DATA "/captured/api/binding-409-already-assigned.txt", 409, "Conflict", 0},
        {TEST_DATA "/captured/api/binding-409-wrong-uid.txt", 409, "Conflict", 0},
        {TEST_DATA "/captured/api/any-401.txt", 401, "Unauthorized", 0},
        {TEST_DATA "/captured/api/list-rv-future.txt", 504, "Timeout", 1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *exchange = test_read_file(cases[i].file, NULL);
        const char *json = body_of(exchange);
        struct kube_status status = {0};
        struct error err = {0};

        assert_ok(kube_json_read_status(json, strlen(json), &status, &err), &err);
        assert_int_equal(status.code, cases[i].code);
        assert_string_equal(status.reason, cases[i].reason);
        assert_int_equal(status.retry_after_seconds, cases[i].retry_after_seconds);
    }
}

static void test_kube_json_read_status__reads_the_cause(void **state)
{
    static const struct {
        const char *file, *cause;
    } cases[] = {
        {TEST_DATA "/captured/api/event-403-namespace-ends.txt", "NamespaceTerminating"},
        {TEST_DATA "/captured/api/event-403.txt", ""},
        {TEST_DATA "/captured/api/event-422.txt", "FieldValueInvalid"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *exchange = test_read_file(cases[i].file, NULL);
        const char *json = body_of(exchange);
        struct kube_status status = {0};
        struct error err = {0};

        assert_ok(kube_json_read_status(json, strlen(json), &status, &err), &err);
        assert_string_equal(status.cause, cases[i].cause);
    }
}

static void test_kube_json_read_status__cuts_long_texts(void **state)
{
    struct kube_status status = {0};
    char json[1000] = "{\"message\":\"";
    size_t used = strlen(json);
    struct error err = {0};

    (void)state;
    memset(json + used, 'm', sizeof status.message);
    memcpy(json + used + sizeof status.message, "\"}", 3);
    assert_ok(kube_json_read_status(json, strlen(json), &status, &err), &err);
    assert_int_equal(strlen(status.message), sizeof status.message - 1);
}

static void test_kube_json_read_status__refuses_what_is_not_json(void **state)
{
    static const char page[] = "<html>Bad Gateway</html>";
    struct kube_status status = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(kube_json_read_status(page, strlen(page), &status, &err), -ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kube_json_read_event__reads_the_lines_of_a_real_watch),
        cmocka_unit_test(test_kube_json_read_event__reads_a_real_error),
        cmocka_unit_test(test_kube_json_read_event__does_not_care_for_the_order_of_members),
        cmocka_unit_test(test_kube_json_read_event__knows_its_types),
        cmocka_unit_test(test_kube_json_read_event__sees_the_end_of_a_list_only_where_it_says_true),
        cmocka_unit_test(test_kube_json_read_event__takes_the_last_of_a_repeated_object),
        cmocka_unit_test(test_kube_json_read_event__refuses_what_is_no_event),
        cmocka_unit_test(test_kube_json_read_status__reads_the_answers_of_a_real_server),
        cmocka_unit_test(test_kube_json_read_status__reads_the_cause),
        cmocka_unit_test(test_kube_json_read_status__cuts_long_texts),
        cmocka_unit_test(test_kube_json_read_status__refuses_what_is_not_json),
    };

    return cmocka_run_group_tests_name("kube_event_json", tests, NULL, NULL);
}
