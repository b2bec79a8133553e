/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/base64.h"

/* source: RFC 4648 §10 */
static void test_decode__gives_the_vectors_of_the_standard(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", ""},
        {"Zg==", "f"},
        {"Zm8=", "fo"},
        {"Zm9v", "foo"},
        {"Zm9vYg==", "foob"},
        {"Zm9vYmE=", "fooba"},
        {"Zm9vYmFy", "foobar"},
        {" Zm\n9v\r\n", "foo"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *out = NULL;
        struct error err = {0};
        size_t length = 99;

        assert_ok(base64_decode(cases[i].text, &out, &length, &err), &err);
        assert_int_equal(length, strlen(cases[i].want));
        assert_string_equal(out, cases[i].want);
    }
}

static void test_decode__reaches_every_byte_value(void **state)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        char text[5] = {alphabet[byte >> 2], alphabet[(byte & 3) << 4], '=', '=', '\0'};
        AUTO_FREE char *out = NULL;
        struct error err = {0};
        size_t length = 0;

        assert_ok(base64_decode(text, &out, &length, &err), &err);
        assert_int_equal(length, 1);
        assert_int_equal((unsigned char)out[0], byte);
    }
}

static void test_decode__refuses_what_is_not_base64(void **state)
{
    static const char *const cases[] = {
        "Z",     "Zg",   "Zg=",  "Zm8",      "Zg===", "=",    "====",
        "Zm9v=", "Zh==", "Zm9=", "Zg==Zg==", "Zm-v",  "Zm_v", "Z\x01g="};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *out = NULL;
        struct error err = {0};
        size_t length = 0;

        assert_int_equal(base64_decode(cases[i], &out, &length, &err), -ERR_INVALID);
        assert_null(out);
    }
}

static void test_encode__gives_what_decode_takes_back(void **state)
{
    static const char *const want[] = {"",         "Zg==",     "Zm8=",    "Zm9v",
                                       "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};

    (void)state;
    for (size_t length = 0; length < ARRAY_LEN(want); length++) {
        AUTO_FREE char *text = base64_encode("foobar", length);

        assert_string_equal(text, want[length]);
    }
    for (unsigned byte = 0; byte < 256; byte++) {
        char bytes[2] = {(char)byte, (char)(255 - byte)};
        AUTO_FREE char *text = base64_encode(bytes, sizeof bytes);
        AUTO_FREE char *back = NULL;
        struct error err = {0};
        size_t length = 0;

        assert_ok(base64_decode(text, &back, &length, &err), &err);
        assert_int_equal(length, 2);
        assert_memory_equal(back, bytes, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode__gives_the_vectors_of_the_standard),
        cmocka_unit_test(test_decode__reaches_every_byte_value),
        cmocka_unit_test(test_decode__refuses_what_is_not_base64),
        cmocka_unit_test(test_encode__gives_what_decode_takes_back),
    };

    return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
