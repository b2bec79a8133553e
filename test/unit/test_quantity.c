/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/quantity.h"

struct good {
    const char *text;
    uint64_t want;
};

struct bad {
    const char *text;
    enum error_code want;
};

typedef int (*parser)(const char *text, uint64_t *out, struct error *err);

static void assert_good(parser parse, const struct good *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct error err = {0};
        uint64_t got = 12345;

        assert_ok(parse(cases[i].text, &got, &err), &err);
        if (got != cases[i].want)
            fail_msg("\"%s\" gives %llu", cases[i].text, (unsigned long long)got);
    }
}

static void assert_bad(parser parse, const struct bad *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct error err = {0};
        uint64_t got = 12345;

        if (parse(cases[i].text, &got, &err) != -(int)cases[i].want)
            fail_msg("\"%s\" gives %s", cases[i].text, err.text);
        assert_int_equal(got, 12345);
    }
}

static void test_quantity_parse_count__reads_every_spelling_of_a_whole_number(void **state)
{
    static const struct good cases[] = {
        {"0", 0},
        {"-0", 0},
        {"0.0", 0},
        {"0e99", 0},
        {"8", 8},
        {"+8", 8},
        {"08", 8},
        {"8.0", 8},
        {"8.", 8},
        {".5k", 500},
        {"1k", 1000},
        {"1.5k", 1500},
        {"2000m", 2},
        {"3000000u", 3},
        {"4000000000n", 4},
        {"1e1", 10},
        {"1E1", 10},
        {"1e+1", 10},
        {"100e-1", 10},
        {"1.5e1", 15},
        {"1Ki", 1024},
        {"0.5Ki", 512},
        {"1Mi", 1048576},
        {"4G", 4000000000},
        {"4294967295", UINT32_MAX},
        {"4294967295000m", UINT32_MAX},
        {"0.000001M", 1},
        {"00000000000000000000000000000007", 7},
        {"1.00000000000000000000000000000", 1},
        {"0.00000000000000000000000000001e29", 1},
        {"100000000000000000000000000000e-29", 1},
    };

    (void)state;
    assert_good(quantity_parse_count, cases, ARRAY_LEN(cases));
}

static void test_quantity_parse_count__refuses_what_is_no_quantity(void **state)
{
    static const struct bad cases[] = {
        {"", ERR_INVALID},    {" ", ERR_INVALID},     {"8 ", ERR_INVALID},
        {" 8", ERR_INVALID},  {".", ERR_INVALID},     {"+", ERR_INVALID},
        {"--1", ERR_INVALID}, {"1.2.3", ERR_INVALID}, {"k", ERR_INVALID},
        {"1K", ERR_INVALID},  {"1ki", ERR_INVALID},   {"1KiB", ERR_INVALID},
        {"1kk", ERR_INVALID}, {"1e", ERR_INVALID},    {"1e+", ERR_INVALID},
        {"1E+", ERR_INVALID}, {"1e1.5", ERR_INVALID}, {"1e1k", ERR_INVALID},
        {"1Em", ERR_INVALID}, {"0x10", ERR_INVALID},  {"Inf", ERR_INVALID},
        {"NaN", ERR_INVALID}, {"1,000", ERR_INVALID}, {"1\xc2\xb5", ERR_INVALID},
    };

    (void)state;
    assert_bad(quantity_parse_count, cases, ARRAY_LEN(cases));
}

static void test_quantity_parse_count__refuses_fractions_and_negative_numbers(void **state)
{
    static const struct bad cases[] = {
        {"-1", ERR_INVALID},    {"-1k", ERR_INVALID},
        {"1.5", ERR_INVALID},   {"500m", ERR_INVALID},
        {"1n", ERR_INVALID},    {"1e-1", ERR_INVALID},
        {"0.3Ki", ERR_INVALID}, {"1e-99999999999", ERR_INVALID},
    };

    (void)state;
    assert_bad(quantity_parse_count, cases, ARRAY_LEN(cases));
}

static void test_quantity_parse_count__refuses_what_is_beyond_the_range(void **state)
{
    static const struct bad cases[] = {
        {"4294967296", ERR_LIMIT},
        {"1E", ERR_LIMIT},
        {"16Ei", ERR_LIMIT},
        {"1e99", ERR_LIMIT},
        {"1e99999999999999999999", ERR_LIMIT},
        {"18446744073709551616", ERR_LIMIT},
        {"18446744073709551617", ERR_LIMIT},
        {"340282366920938463463374607431768211457", ERR_LIMIT},
        {"99999999999999999999Ei", ERR_LIMIT},
    };

    (void)state;
    assert_bad(quantity_parse_count, cases, ARRAY_LEN(cases));
}

static int parse_memory(const char *text, uint64_t *out, struct error *err)
{
    bool has_unit;

    return quantity_parse_memory(text, out, &has_unit, err);
}

/* F01: a suffix must never end in a booking of nothing. */
static void test_quantity_parse_memory__takes_plain_numbers_as_mib_and_units_as_bytes(void **state)
{
    static const struct good cases[] = {
        {"0", 0},
        {"24576", 24576},
        {"20k", 20000},
        {"20000", 20000},
        {"1e3", 1000},
        {"1E3", 1000},
        {"16384000m", 16384},
        {"4294967296", 4294967296},
        {"17179869184", 17179869184},
        {"16Gi", 16384},
        {"16384Mi", 16384},
        {"16384M", 15625},
        {"1.5Gi", 1536},
        {"1G", 954},
        {"1T", 953675},
        {"1Ti", 1048576},
        {"1Ki", 1},
        {"0Gi", 0},
        {"1Pi", 1073741824},
        {"1Ei", 1099511627776},
        {"1E", 953674316407},
        {"100Ei", 109951162777600},
        {"1000Ei", 1099511627776000},
        {"9223372036854775807", INT64_MAX},
    };

    (void)state;
    assert_good(parse_memory, cases, ARRAY_LEN(cases));
}

/* The caller scales plain numbers: it is told which they are. */
static void test_quantity_parse_memory__tells_numbers_from_sizes(void **state)
{
    static const struct {
        const char *text;
        uint64_t want;
        bool has_unit;
    } cases[] = {{"16", 16, false},    {"20k", 20000, false}, {"1e3", 1000, false},
                 {"2000m", 2, false},  {"16Gi", 16384, true}, {"17M", 17, true},
                 {"1.5Gi", 1536, true}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = {0};
        uint64_t number = 0;
        bool has_unit = !cases[i].has_unit;

        assert_ok(quantity_parse_memory(cases[i].text, &number, &has_unit, &err), &err);
        assert_int_equal(number, cases[i].want);
        assert_int_equal(has_unit, cases[i].has_unit);
    }
}

static void test_quantity_parse_memory__never_rounds_to_zero(void **state)
{
    static const struct good cases[] = {
        {"0.001Ki", 1},
        {"0.0000000000000000000000000000001Gi", 1},
        {"1048577Ki", 1025},
    };

    (void)state;
    assert_good(parse_memory, cases, ARRAY_LEN(cases));
}

static void test_quantity_parse_memory__refuses_what_it_cannot_book(void **state)
{
    static const struct bad cases[] = {
        {"-1", ERR_INVALID},    {"-1Gi", ERR_INVALID},
        {"1.5", ERR_INVALID},   {"500m", ERR_INVALID},
        {"1n", ERR_INVALID},    {"", ERR_INVALID},
        {"16GiB", ERR_INVALID}, {"16 Gi", ERR_INVALID},
        {"Gi", ERR_INVALID},    {"9223372036854775808", ERR_LIMIT},
        {"1e19", ERR_LIMIT},    {"10000000000000000000000Ei", ERR_LIMIT},
    };

    (void)state;
    assert_bad(parse_memory, cases, ARRAY_LEN(cases));
}

/* 1000000 without a unit comes back from the API server as 1M. */
static void test_quantity_parse_memory__refuses_few_decimal_bytes_as_ambiguous(void **state)
{
    static const struct bad cases[] = {
        {"1M", ERR_INVALID}, {"9M", ERR_INVALID}, {"0.001G", ERR_INVALID}};
    static const struct good clear[] = {{"17M", 17}, {"1Mi", 1}, {"500M", 477}};

    (void)state;
    assert_bad(parse_memory, cases, ARRAY_LEN(cases));
    assert_good(parse_memory, clear, ARRAY_LEN(clear));
}

static void test_quantity_parse_memory__says_what_would_be_right(void **state)
{
    struct error err = {0};
    uint64_t out;

    (void)state;
    parse_memory("lots", &out, &err);
    assert_contains(err.text, "\"lots\"");
    assert_contains(err.text, "16Gi");
}

static void test_quantity_parse_milli__reads_cpu_and_rounds_up(void **state)
{
    static const struct good cases[] = {
        {"2", 2000}, {"100m", 100}, {"0.5", 500},   {"1k", 1000000},
        {"1n", 1},   {"0", 0},      {"1e1", 10000},
    };
    static const struct bad refused[] = {
        {"-1", ERR_INVALID}, {"1e18", ERR_LIMIT}, {"x", ERR_INVALID}};

    (void)state;
    assert_good(quantity_parse_milli, cases, ARRAY_LEN(cases));
    assert_bad(quantity_parse_milli, refused, ARRAY_LEN(refused));
}

static void test_quantity_parse_bytes__takes_plain_numbers_as_bytes(void **state)
{
    static const struct good cases[] = {
        {"1048576", 1048576}, {"1Gi", 1073741824}, {"1M", 1000000}, {"1500m", 2}, {"0", 0},
    };
    static const struct bad refused[] = {{"-1", ERR_INVALID}, {"8Ei", ERR_LIMIT}};

    (void)state;
    assert_good(quantity_parse_bytes, cases, ARRAY_LEN(cases));
    assert_bad(quantity_parse_bytes, refused, ARRAY_LEN(refused));
}

static void test_quantity_parse_total_mib__counts_units_unless_a_size_is_meant(void **state)
{
    static const struct {
        const char *text;
        uint64_t unit_mib, want_mib;
    } cases[] = {
        {"0", 256, 0},
        {"10", 256, 2560},
        {"10k", 1, 10000},
        {"2M", 1, 2000000}, /* as the API server writes 2000000 */
        {"16M", 1, 16000000},
        {"17M", 1, 16},
        {"1Gi", 256, 1024},
        {"1500Ki", 256, 1},
        {"1500m", 256, 256},
        {"18446744073709551615", 2, UINT64_MAX},
        {"1e99", 1, UINT64_MAX},
        {"8Ei", 1, UINT64_C(1) << 43},
        /* Digits beyond the nineteenth are cut off, and are no leave to take everything. */
        {"10.00000000000000000001", 1, 10},
        {"0.00000000000000000000099999999999999999999Gi", 1, 0},
        {"12345678901234567890123", 1, UINT64_MAX},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = {0};
        uint64_t mib = 1;
        int result = quantity_parse_total_mib(cases[i].text, cases[i].unit_mib, &mib, &err);

        assert_int_equal(result, 0);
        assert_true(mib == cases[i].want_mib);
    }
}

static void test_quantity_parse_total_mib__refuses_what_is_no_amount(void **state)
{
    static const char *const texts[] = {"", "x", "-1", "1Gib", "1 Gi"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct error err = {0};
        uint64_t mib;

        assert_int_equal(quantity_parse_total_mib(texts[i], 1, &mib, &err), -ERR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantity_parse_count__reads_every_spelling_of_a_whole_number),
        cmocka_unit_test(test_quantity_parse_count__refuses_what_is_no_quantity),
        cmocka_unit_test(test_quantity_parse_count__refuses_fractions_and_negative_numbers),
        cmocka_unit_test(test_quantity_parse_count__refuses_what_is_beyond_the_range),
        cmocka_unit_test(test_quantity_parse_memory__takes_plain_numbers_as_mib_and_units_as_bytes),
        cmocka_unit_test(test_quantity_parse_memory__tells_numbers_from_sizes),
        cmocka_unit_test(test_quantity_parse_memory__never_rounds_to_zero),
        cmocka_unit_test(test_quantity_parse_memory__refuses_what_it_cannot_book),
        cmocka_unit_test(test_quantity_parse_memory__refuses_few_decimal_bytes_as_ambiguous),
        cmocka_unit_test(test_quantity_parse_memory__says_what_would_be_right),
        cmocka_unit_test(test_quantity_parse_milli__reads_cpu_and_rounds_up),
        cmocka_unit_test(test_quantity_parse_total_mib__counts_units_unless_a_size_is_meant),
        cmocka_unit_test(test_quantity_parse_total_mib__refuses_what_is_no_amount),
        cmocka_unit_test(test_quantity_parse_bytes__takes_plain_numbers_as_bytes),
    };

    return cmocka_run_group_tests_name("quantity", tests, NULL, NULL);
}
