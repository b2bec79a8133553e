/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/kube_refusal.h"

static void test_read__keeps_a_status_and_quotes_anything_else(void **state)
{
    static const struct {
        const char *body;
        int code;
        const char *message;
    } cases[] = {
        {"{\"kind\":\"Status\",\"code\":403,\"message\":\"pods is forbidden\"}", 403,
         "pods is forbidden"},
        {"{\"kind\":\"Status\",\"message\":\"without a code\"}", 0, "{\"kind\""},
        {"404 page not found\n", 0, "404 page not found"},
        {"<html>\n<body>\n", 0, "<html>"},
        {"", 0, "no explanation"},
        {"\x16\x03\x01", 0, "no explanation"},
        {"{\"kind\":\"Sta", 0, "{\"kind\":\"Sta"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kube_status status = {.code = 99};

        kube_refusal_read(cases[i].body, strlen(cases[i].body), &status);
        assert_int_equal(status.code, cases[i].code);
        assert_memory_equal(status.message, cases[i].message, strlen(cases[i].message));
        assert_null(strchr(status.message, '\n'));
    }
}

static void test_read__cuts_a_long_line(void **state)
{
    struct kube_status status;
    char line[1000];

    (void)state;
    memset(line, 'x', sizeof line);
    kube_refusal_read(line, sizeof line, &status);
    assert_int_equal(strlen(status.message), 160);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read__keeps_a_status_and_quotes_anything_else),
        cmocka_unit_test(test_read__cuts_a_long_line),
    };

    return cmocka_run_group_tests_name("kube_refusal", tests, NULL, NULL);
}
