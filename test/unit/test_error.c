/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/error.h"

#include <errno.h>

static void test_error_set__records_code_and_text_and_returns_the_negative_code(void **state)
{
    struct error err = {0};

    (void)state;
    assert_int_equal(error_set(&err, ERR_CONFLICT, "node %s changed", "n1"), -ERR_CONFLICT);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_string_equal(err.text, "node n1 changed");
}

static void test_error_wrap__puts_context_in_front_and_keeps_the_code(void **state)
{
    struct error err = {0};

    (void)state;
    error_set(&err, ERR_IO, "closed");
    assert_int_equal(error_wrap(&err, "line %d", 3), -ERR_IO);
    assert_int_equal(error_wrap(&err, "file"), -ERR_IO);
    assert_string_equal(err.text, "file: line 3: closed");
}

static void test_error__cuts_long_texts(void **state)
{
    AUTO_FREE char *text = xmalloc(2 * ERROR_TEXT_MAX);
    struct error err = {0};

    (void)state;
    memset(text, 'x', 2 * ERROR_TEXT_MAX);
    text[2 * ERROR_TEXT_MAX - 1] = '\0';
    error_set(&err, ERR_LIMIT, "%s", text);
    assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
    error_wrap(&err, "%s", text);
    assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
}

static void test_error_pass__gives_the_code_and_changes_nothing(void **state)
{
    struct error err = {0};

    (void)state;
    error_set(&err, ERR_LIMIT, "too long");
    assert_int_equal(error_pass(&err), -ERR_LIMIT);
    assert_string_equal(err.text, "too long");
}

static void test_error_clear__makes_it_usable_again(void **state)
{
    struct error err = {0};

    (void)state;
    error_set(&err, ERR_IO, "first");
    error_clear(&err);
    assert_int_equal(err.code, ERR_NONE);
    error_set(&err, ERR_BUSY, "second");
    assert_string_equal(err.text, "second");
}

static void test_error_code_of__tells_what_is_missing_from_what_is_forbidden(void **state)
{
    (void)state;
    assert_int_equal(error_code_of(ENOENT), ERR_NOT_FOUND);
    assert_int_equal(error_code_of(ENOTDIR), ERR_NOT_FOUND);
    assert_int_equal(error_code_of(EACCES), ERR_DENIED);
    assert_int_equal(error_code_of(EPERM), ERR_DENIED);
    assert_int_equal(error_code_of(EMFILE), ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_set__records_code_and_text_and_returns_the_negative_code),
        cmocka_unit_test(test_error_wrap__puts_context_in_front_and_keeps_the_code),
        cmocka_unit_test(test_error__cuts_long_texts),
        cmocka_unit_test(test_error_pass__gives_the_code_and_changes_nothing),
        cmocka_unit_test(test_error_clear__makes_it_usable_again),
        cmocka_unit_test(test_error_code_of__tells_what_is_missing_from_what_is_forbidden),
    };

    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
