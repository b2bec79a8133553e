/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/lease_json.h"

#include <stdlib.h>

static struct lease_record read_lease(const char *json)
{
    struct lease_record record = {0};
    struct error err = {0};

    assert_ok(lease_json_read(json, strlen(json), &record, &err), &err);
    return record;
}

static char *write_lease(const struct lease_record *record)
{
    struct buf out = buf_with_max(LEASE_JSON_MAX_BYTES);
    struct lease_view view = lease_record_view(record);

    lease_json_write(&out, &view);
    assert_false(out.overflowed);
    return buf_steal(&out);
}

static char *captured(const char *name)
{
    AUTO_FREE char *path = xasprintf(TEST_DATA "/captured/api/%s", name);
    AUTO_FREE char *file = test_read_file(path, NULL);
    const char *body = strstr(file, "HTTP ");

    return xstrdup(strchr(body, '\n') + 1);
}

#define META "\"metadata\":{\"name\":\"topofit\",\"resourceVersion\":\"7\"}"

static void test_lease_json_read__reads_a_real_answer(void **state)
{
    AUTO_FREE char *json = captured("lease-200.txt");
    AUTO(lease_record_clear) struct lease_record record = read_lease(json);

    (void)state;
    assert_string_equal(record.meta.name, "topofit");
    assert_string_equal(record.holder, "host-a_1");
    assert_string_equal(record.wanted_by, "host-b_2");
    assert_int_equal(record.duration_s, 15);
    assert_string_equal(record.acquire_time, "2026-01-31T23:59:58.000001Z");
    assert_string_equal(record.renew_time, "2026-01-31T23:59:59.123456Z");
    assert_int_equal(record.transitions, 3);
    assert_true(record.meta.uid[0] != '\0' && record.meta.resource_version[0] != '\0');
}

static void test_lease_json_read__takes_what_is_absent_for_empty(void **state)
{
    static const char *const cases[] = {
        "{" META "}",
        "{" META ",\"spec\":{}}",
        "{" META ",\"spec\":null}",
        "{\"kind\":\"Lease\"," META ",\"spec\":{\"holderIdentity\":null,\"acquireTime\":null,"
        "\"leaseDurationSeconds\":null,\"renewTime\":null,\"leaseTransitions\":null}}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(lease_record_clear) struct lease_record record = read_lease(cases[i]);

        assert_string_equal(record.holder, "");
        assert_string_equal(record.wanted_by, "");
        assert_string_equal(record.renew_time, "");
        assert_int_equal(record.duration_s, 0);
        assert_int_equal(record.transitions, 0);
    }
}

static void test_lease_json_read__refuses_what_cannot_be_a_lease(void **state)
{
    static const struct {
        const char *json;
        enum error_code code;
    } cases[] = {
        {"", ERR_INVALID},
        {"[]", ERR_INVALID},
        {"{}", ERR_INVALID},
        {"{\"kind\":\"Lease\"," META, ERR_INVALID},
        {"{\"kind\":\"Pod\"," META "}", ERR_INVALID},
        {"{\"metadata\":{\"name\":\"topofit\"}}", ERR_INVALID},
        {"{\"metadata\":{\"resourceVersion\":\"7\"}}", ERR_INVALID},
        {"{" META ",\"spec\":{\"holderIdentity\":7}}", ERR_INVALID},
        {"{" META ",\"spec\":{\"leaseDurationSeconds\":1.5}}", ERR_INVALID},
        {"{\"metadata\":{\"name\":\"a\\u0000\",\"resourceVersion\":\"7\"}}", ERR_INVALID},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct lease_record record = {0};
        struct error err = {0};

        assert_int_equal(lease_json_read(cases[i].json, strlen(cases[i].json), &record, &err),
                         -(int)cases[i].code);
        assert_null(record.holder);
    }
}

/* `count` times a text. Free it. */
static char *repeated(const char *text, size_t count)
{
    struct buf out = buf_with_max(1 << 20);

    for (size_t i = 0; i < count; i++)
        buf_add_text(&out, text);
    return buf_steal(&out);
}

static void test_lease_json_read__cuts_texts_that_are_too_long(void **state)
{
    static const char *const pieces[] = {"x", "\xc3\xa9", "\\u0000", "\\u0001"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        AUTO_FREE char *text = repeated(pieces[i], LEASE_TEXT_MAX + 1);
        AUTO_FREE char *json =
            xasprintf("{\"metadata\":{\"name\":\"topofit\",\"resourceVersion\":\"7\","
                      "\"annotations\":{\"" LEASE_WANTED_BY "\":\"%s\"}},"
                      "\"spec\":{\"holderIdentity\":\"%s\",\"renewTime\":\"%s\"}}",
                      text, text, text);
        AUTO(lease_record_clear) struct lease_record record = read_lease(json);

        assert_in_range(strlen(record.holder), LEASE_TEXT_MAX - 1, LEASE_TEXT_MAX);
        assert_in_range(strlen(record.renew_time), LEASE_TEXT_MAX - 1, LEASE_TEXT_MAX);
        assert_true(strlen(record.wanted_by) <= LEASE_TEXT_MAX);
    }
}

static void test_lease_json_read__takes_a_holder_that_is_no_text_of_ours_for_somebody(void **state)
{
    AUTO(lease_record_clear)
    struct lease_record record =
        read_lease("{" META ",\"spec\":{\"holderIdentity\":\"\\u0000a\"}}");

    (void)state;
    assert_string_equal(record.holder, "?a");
}

static void test_lease_json_read__bounds_what_the_server_gives(void **state)
{
    AUTO_FREE char *text = repeated("x", LEASE_TEXT_MAX + 1);
    AUTO_FREE char *json =
        xasprintf("{\"metadata\":{\"name\":\"topofit\",\"resourceVersion\":\"%s\"}}", text);
    struct lease_record record = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(lease_json_read(json, strlen(json), &record, &err), -ERR_LIMIT);
}

#define FOREIGN \
    "{\"metadata\":{\"name\":\"topofit\",\"resourceVersion\":\"7\"," \
    "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"X\",\"name\":\"o\",\"uid\":\"1\"}]," \
    "\"finalizers\":[\"a/b\"],\"labels\":{\"l\":\"\\u0000\"}," \
    "\"annotations\":{\"k\":\"\\u0001\\\"\\\\\"},\"managedFields\":[{\"manager\":\"m\"}]}," \
    "\"spec\":{\"holderIdentity\":\"x\",\"strategy\":\"OldestEmulationVersion\"," \
    "\"preferredHolder\":\"y\",\"of a later version\":{\"n\":1}}}"

static void test_lease_json_write__keeps_what_it_does_not_know(void **state)
{
    AUTO(lease_record_clear) struct lease_record record = read_lease(FOREIGN);
    AUTO_FREE char *written = NULL;
    static const char *const kept[] = {
        "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"X\",\"name\":\"o\",\"uid\":\"1\"}]",
        "\"finalizers\":[\"a/b\"]",
        "\"labels\":{\"l\":\"\\u0000\"}",
        "\"k\":\"\\u0001\\\"\\\\\"",
        "\"managedFields\":[{\"manager\":\"m\"}]",
        "\"strategy\":\"OldestEmulationVersion\"",
        "\"preferredHolder\":\"y\"",
        "\"of a later version\":{\"n\":1}",
        "\"holderIdentity\":\"us\"",
        "\"leaseTransitions\":4",
    };

    (void)state;
    free(record.holder);
    record.holder = xstrdup("us");
    record.transitions = 4;
    written = write_lease(&record);
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        assert_contains(written, kept[i]);
}

static void test_lease_json_write__leaves_a_holder_that_is_not_to_change_as_it_is(void **state)
{
    AUTO_FREE char *holder = repeated("h", 3 * LEASE_TEXT_MAX);
    AUTO_FREE char *json = xasprintf("{" META ",\"spec\":{\"holderIdentity\":\"%s\"}}", holder);
    AUTO(lease_record_clear) struct lease_record record = read_lease(json);
    struct lease_view view = lease_record_view(&record);
    AUTO(buf_clear) struct buf out = buf_with_max(LEASE_JSON_MAX_BYTES);

    (void)state;
    view.holder = NULL;
    view.wanted_by = "us";
    lease_json_write(&out, &view);
    assert_contains(buf_text(&out), holder);
    assert_contains(buf_text(&out), "\"" LEASE_WANTED_BY "\":\"us\"");
}

static void test_lease_json_write__writes_what_was_read(void **state)
{
    AUTO_FREE char *json = captured("lease-200.txt");
    AUTO(lease_record_clear) struct lease_record record = read_lease(json);
    AUTO_FREE char *written = write_lease(&record);
    AUTO(lease_record_clear) struct lease_record again = read_lease(written);
    AUTO_FREE char *written_again = write_lease(&again);

    (void)state;
    assert_string_equal(written, written_again);
    assert_contains(written, "\"apiVersion\":\"coordination.k8s.io/v1\"");
    assert_contains(written, "\"kind\":\"Lease\"");
    assert_contains(written, "\"app\":\"topofit\"");           /* a label */
    assert_contains(written, "\"example.com/note\":\"keep\""); /* an annotation */
    assert_contains(written, "\"leaseTransitions\":3");
    assert_string_equal(again.wanted_by, "host-b_2");
    assert_string_equal(again.meta.uid, record.meta.uid);
}

static void test_lease_json_write__takes_the_claim_from_its_member_alone(void **state)
{
    AUTO_FREE char *json = captured("lease-200.txt");
    AUTO(lease_record_clear) struct lease_record record = read_lease(json);
    AUTO(lease_record_clear) struct lease_record again = {0};
    AUTO_FREE char *written = NULL;

    (void)state;
    record.wanted_by[0] = '\0';
    written = write_lease(&record);
    again = read_lease(written);
    assert_string_equal(again.wanted_by, "");
}

static void test_lease_json_write__leaves_out_what_is_empty(void **state)
{
    AUTO(lease_record_clear) struct lease_record record = {0};
    AUTO_FREE char *written = NULL;

    (void)state;
    lease_record_init(&record);
    written = write_lease(&record);
    assert_string_equal(written, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
                                 "\"metadata\":{\"name\":\"\"},"
                                 "\"spec\":{\"holderIdentity\":\"\",\"leaseTransitions\":0}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lease_json_read__reads_a_real_answer),
        cmocka_unit_test(test_lease_json_read__takes_what_is_absent_for_empty),
        cmocka_unit_test(test_lease_json_read__refuses_what_cannot_be_a_lease),
        cmocka_unit_test(test_lease_json_read__cuts_texts_that_are_too_long),
        cmocka_unit_test(test_lease_json_read__takes_a_holder_that_is_no_text_of_ours_for_somebody),
        cmocka_unit_test(test_lease_json_read__bounds_what_the_server_gives),
        cmocka_unit_test(test_lease_json_write__keeps_what_it_does_not_know),
        cmocka_unit_test(test_lease_json_write__leaves_a_holder_that_is_not_to_change_as_it_is),
        cmocka_unit_test(test_lease_json_write__writes_what_was_read),
        cmocka_unit_test(test_lease_json_write__takes_the_claim_from_its_member_alone),
        cmocka_unit_test(test_lease_json_write__leaves_out_what_is_empty),
    };

    return cmocka_run_group_tests_name("lease_json", tests, NULL, NULL);
}
