/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/plain_text.h"

#include <stdbool.h>

static void test_plain_span__ends_at_the_first_byte_that_is_not_plain(void **state)
{
    char text[40];

    (void)state;
    for (size_t length = 0; length < sizeof text; length++) {
        memset(text, 'n', sizeof text);
        assert_int_equal(plain_span(text, length), length);
        for (size_t at = 0; at < length; at++) {
            for (unsigned byte = 0; byte < 256; byte++) {
                bool plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';

                memset(text, 'n', sizeof text);
                text[at] = (char)byte;
                assert_int_equal(plain_span(text, length), plain ? length : at);
            }
        }
    }
}

static void test_common_span__ends_at_the_first_difference(void **state)
{
    char a[100], b[100];

    (void)state;
    memset(a, 'n', sizeof a);
    for (size_t length = 0; length < sizeof a; length++) {
        memset(b, 'n', sizeof b);
        assert_int_equal(common_span(a, b, length), length);
        for (size_t at = 0; at < length; at++) {
            memset(b, 'n', sizeof b);
            b[at] = 'm';
            assert_int_equal(common_span(a, b, length), at);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_span__ends_at_the_first_byte_that_is_not_plain),
        cmocka_unit_test(test_common_span__ends_at_the_first_difference),
    };

    return cmocka_run_group_tests_name("plain_text", tests, NULL, NULL);
}
