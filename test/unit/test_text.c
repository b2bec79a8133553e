/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/text.h"

static void test_text_new__is_shared_until_the_last_reference_goes(void **state)
{
    struct text *text = text_new("A100");

    (void)state;
    assert_ptr_equal(text_ref(text), text);
    text_unref(text);
    assert_string_equal(text->chars, "A100");
    text_unref(text);
    text_unref(NULL);
}

static void test_text_has_words__f08_compares_whole_words(void **state)
{
    static const struct {
        const char *name, *words;
        bool want;
    } cases[] = {
        {"NVIDIA A100-SXM4-80GB", "A100", true},
        {"NVIDIA A100-SXM4-80GB", "A10", false},
        {"NVIDIA A10", "A10", true},
        {"NVIDIA H200", "H20", false},
        {"NVIDIA H20", "h20", true},
        {"NVIDIA A100-SXM4-80GB", "a100-sxm4", true},
        {"NVIDIA A100-SXM4-80GB", "SXM4-80", false},
        {"NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB", true},
        {"NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB PG509", false},
        {"A100A100 A100", "A100", true},
        {"NVIDIA", "", false},
        {"", "A100", false},
        {"RTX 6000 Ada", "6000", true},
        {"RTX6000", "6000", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(text_has_words(cases[i].name, cases[i].words), cases[i].want);
}

static void test_text_matches__stars_ask_for_a_part_of_the_name(void **state)
{
    static const struct {
        const char *name, *words;
        bool want;
    } cases[] = {
        {"NVIDIA A100-SXM4-80GB", "A10", false},
        {"NVIDIA A100-SXM4-80GB", "*A10*", true},
        {"NVIDIA A100-SXM4-80GB", "a10*", true},
        {"NVIDIA A100-SXM4-80GB", "*80gb", true},
        {"NVIDIA A100-SXM4-80GB", "*H20*", false},
        {"NVIDIA A10", "*A10*", true},
        {"NVIDIA A10", "*", true},
        {"", "*A*", false},
        {"NVIDIA A10", "", false},
        {"A", "*AA*", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(text_matches(cases[i].name, cases[i].words), cases[i].want);
}

static void test_text_next_item__splits_trims_and_skips(void **state)
{
    static const struct {
        const char *list, *items;
    } cases[] = {
        {"a,b", "a|b|"},       {" a , b ", "a|b|"},        {"A10,", "A10|"},
        {",,a,, ,b,", "a|b|"}, {"a b,\tc\n", "a b|c|"},    {"", ""},
        {" , ,", ""},          {"abcdefghij", "abcdefg|"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *at = cases[i].list;
        AUTO(buf_clear) struct buf all = buf_with_max(64);
        char item[8];

        while (text_next_item(&at, item, sizeof item))
            buf_addf(&all, "%s|", item);
        assert_string_equal(buf_text(&all), cases[i].items);
    }
}

static void test_text_equal_nocase__ignores_case_alone(void **state)
{
    (void)state;
    assert_true(text_equal_nocase("GPU-a", "gpu-A"));
    assert_false(text_equal_nocase("GPU-a", "GPU-ab"));
}

static void test_text_distance__counts_edits_up_to_the_limit(void **state)
{
    static const struct {
        const char *a, *b;
        unsigned limit, want;
    } cases[] = {
        {"listen", "listen", 3, 0}, {"listen", "lisen", 3, 1},
        {"listen", "litsen", 3, 1}, {"", "abc", 3, 3},
        {"abc", "", 2, 3},          {"kitten", "sitting", 3, 3},
        {"serve", "explain", 2, 3}, {"topology.mode", "topology.node", 3, 1},
        {"csv", "cvs", 3, 1},       {"abcdef", "badcfe", 3, 3},
        {"xcsv", "cvsx", 3, 3},
    };
    AUTO_FREE char *endless = xasprintf("%0500d", 0);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(text_distance(cases[i].a, cases[i].b, cases[i].limit), cases[i].want);
    assert_int_equal(text_distance(endless, endless, 3), 4);
}

static void test_text_nearest__a_short_word_is_near_to_few(void **state)
{
    static const char *const words[] = {"text", "json", "csv", "topology-first", NULL};

    (void)state;
    assert_string_equal(text_nearest("cvs", words, 3), "csv");
    assert_string_equal(text_nearest("topologi-frist", words, 3), "topology-first");
    assert_null(text_nearest("xml", words, 3));
    assert_null(text_nearest("yaml", words, 3));
    assert_null(text_nearest("", words, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_new__is_shared_until_the_last_reference_goes),
        cmocka_unit_test(test_text_has_words__f08_compares_whole_words),
        cmocka_unit_test(test_text_matches__stars_ask_for_a_part_of_the_name),
        cmocka_unit_test(test_text_next_item__splits_trims_and_skips),
        cmocka_unit_test(test_text_equal_nocase__ignores_case_alone),
        cmocka_unit_test(test_text_nearest__a_short_word_is_near_to_few),
        cmocka_unit_test(test_text_distance__counts_edits_up_to_the_limit),
    };

    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
