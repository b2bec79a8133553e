/* SPDX-License-Identifier: Apache-2.0 */
/* The quick way to read a call's names, beside the parser; headers are private to src/wire. */
#include "support/test.h"

#include "../../src/wire/extender_args_whole.h"
#include "../../src/wire/names_skim.h"

static void test_read_skimming__reads_what_the_scheduler_sends(void **state)
{
    static const struct {
        const char *json;
        size_t count;
    } cases[] = {
        {"{\"Pod\":{},\"Nodes\":null,\"NodeNames\":[\"n1\",\"gpu-node-17.zone-a\"]}", 2},
        {"{\"NodeNames\":[],\"Pod\":{}}", 0},
        {" {\"NodeNames\":[\"\"] , \"Pod\":{\"metadata\":{\"name\":\"p\"}}} ", 1},
        {"{\"Pod\":{},\"NodeNames\":[\"x\"],\"Nodes\":null}", 1},
        {"{\"Pod\":{},\"nodenames\":[\"n1\"]}", 1},
        {"{\"Pod\":{},\"NodeNames\" : [\"n1\"] }", 1},
        {"{\"Pod\":{\"NodeNames\":[\"n1\"]},\"NodeNames\":[\"n2\",\"n3\"]}", 2},
        {"{\"x\\\"NodeNames\":[\"n1\"],\"NodeNames\":[\"n2\",\"n3\"]}", 2},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(extender_args_clear) struct extender_args quick = {0};
        AUTO(extender_args_clear) struct extender_args whole = {0};
        struct error err = {0};

        assert_true(
            extender_args_read_skimming(cases[i].json, strlen(cases[i].json), NULL, &quick));
        assert_int_equal(
            extender_args_read_whole(cases[i].json, strlen(cases[i].json), &whole, &err), 0);
        assert_true(quick.names_are_plain && quick.has_names);
        assert_int_equal(quick.name_count, cases[i].count);
        assert_int_equal(whole.name_count, cases[i].count);
        for (size_t k = 0; k < cases[i].count; k++) {
            struct name_slice a = extender_args_name(&quick, k);
            struct name_slice b = extender_args_name(&whole, k);

            assert_int_equal(a.length, b.length);
            assert_memory_equal(a.text, b.text, a.length);
        }
    }
}

/* Whatever is not of the one form is the parser's, and so is what is wrong. */
static void test_read_skimming__leaves_everything_else_to_the_parser(void **state)
{
    static const char *const cases[] = {
        "{\"Pod\":{},\"NodeNames\":null}",
        "{\"Pod\":{},\"NodeNames\":[ \"n1\"]}",
        "{\"Pod\":{},\"NodeNames\":[\"n1\", \"n2\"]}",
        "{\"Pod\":{},\"NodeNames\":[\"n1\",]}",
        "{\"Pod\":{},\"NodeNames\":[,\"n1\"]}",
        "{\"Pod\":{},\"NodeNames\":[\"n\\u0031\"]}",
        "{\"Pod\":{},\"NodeNames\":[\"n\\\"\"]}",
        "{\"Pod\":{},\"NodeNames\":[\"n\xc3\xa9\"]}",
        "{\"Pod\":{},\"NodeNames\":[\"n\t\"]}",
        "{\"Pod\":{},\"NodeNames\":[null]}",
        "{\"Pod\":{},\"NodeNames\":[1]}",
        "{\"Pod\":{},\"NodeNames\":[\"n1\"]",
        "{\"Pod\":{},\"NodeNames\":[\"n1\"",
        "{\"Pod\":{},\"NodeNames\":[\"n1",
        "{\"Pod\":{},\"NodeNames\":[",
        "{\"Pod\":{},\"NodeNames\":[\"n1\"]}x",
        "{\"Pod\":[],\"NodeNames\":[\"n1\"]}",
        /* The list is not the one that counts, or not the only one. */
        "{\"Pod\":{\"NodeNames\":[\"n1\"]}}",
        "{\"NodeNames\":[\"n1\"],\"Pod\":{},\"NodeNames\":[\"n2\"]}",
        "{\"NodeNames\":[\"n1\"],\"Pod\":{},\"nodeNames\":[]}",
        "{\"x\\\"NodeNames\":[\"n1\"]}",
        "{\"Pod\":{},\"NodeNames\":[\"n1\"],\"Nodes\":{\"items\":[]}}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(extender_args_clear) struct extender_args args = {0};

        if (extender_args_read_skimming(cases[i], strlen(cases[i]), NULL, &args))
            fail_msg("%s was skimmed", cases[i]);
    }
}

static void test_names_skim__takes_names_of_any_length_up_to_the_limit(void **state)
{
    (void)state;
    for (size_t length = 0; length <= EXTENDER_NAME_MAX + 1; length++) {
        AUTO_FREE char *json = xcalloc(1, length + 64);
        struct names_skim skim = {0};

        strcpy(json, "x[\"");
        memset(json + strlen(json), 'n', length);
        strcat(json, "\",\"b\"]}");
        if (length > EXTENDER_NAME_MAX) {
            assert_int_equal(names_skim(json, strlen(json), 1, NULL, &skim), 0);
            continue;
        }
        assert_int_equal(names_skim(json, strlen(json), 1, NULL, &skim), strlen(json) - 2);
        assert_int_equal(skim.count, 2);
        assert_int_equal(skim.names[0].length, length);
        mem_free_pointer(&skim.names);
    }
}

static const char *const likely_words[] = {"a", "b", "bb", "c", "ccc", "d", "e", "f"};

static uint32_t find_word(const char *name, size_t length)
{
    for (uint32_t i = 0; i < ARRAY_LEN(likely_words); i++) {
        if (strlen(likely_words[i]) == length && memcmp(likely_words[i], name, length) == 0)
            return i;
    }
    return NAME_NOWHERE;
}

static void find_words(const void *ctx, const char *text, const struct name_at *names, size_t count,
                       uint32_t *positions)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++)
        positions[i] = find_word(text + names[i].start, names[i].length);
}

/*
 * `words` are digits: positions in likely_words, 9 for a word that is not there. order: the
 * positions in the order that is likely, or NULL.
 */
static void expect_positions_in(const char *order, const char *words, size_t jumps)
{
    uint32_t turns[16];
    static const struct name_at places[] = {{1, 1},  {5, 1},  {9, 2},  {14, 1},
                                            {18, 3}, {24, 1}, {28, 1}, {32, 1}};
    static const char text[] = "\"a\",\"b\",\"bb\",\"c\",\"ccc\",\"d\",\"e\",\"f\",";
    const struct likely_names likely = {.list = {text, strlen(text), places, ARRAY_LEN(places), 3},
                                        .order = order != NULL ? turns : NULL,
                                        .order_count = order != NULL ? strlen(order) : 0,
                                        .find = find_words};
    char json[256] = "[";
    struct names_skim skim = {0};

    for (size_t i = 0; i < likely.order_count; i++)
        turns[i] = order[i] == '9' ? NAME_NOWHERE : (uint32_t)(order[i] - '0');
    for (const char *at = words; *at != '\0'; at++)
        sprintf(json + strlen(json), "%s\"%s\"", at == words ? "" : ",",
                *at == '9' ? "ghost" : likely_words[*at - '0']);
    strcat(json, "]}");
    assert_int_equal(names_skim(json, strlen(json), 0, &likely, &skim), strlen(json) - 1);
    assert_int_equal(skim.count, strlen(words));
    for (size_t i = 0; i < skim.count; i++) {
        const char *want = words[i] == '9' ? "ghost" : likely_words[words[i] - '0'];
        struct name_at place;

        assert_int_equal(skim.positions[i],
                         words[i] == '9' ? NAME_NOWHERE : (uint32_t)(words[i] - '0'));
        place = skim.names != NULL ? skim.names[i] : places[i];
        assert_int_equal(place.length, strlen(want));
        assert_memory_equal(json + skim.shift + place.start, want, strlen(want));
    }
    assert_int_equal(skim.jumps, jumps);
    mem_free_pointer(&skim.names);
    mem_free_pointer(&skim.positions);
}

static void expect_positions(const char *words, size_t jumps)
{
    expect_positions_in(NULL, words, jumps);
}

static void test_names_skim__says_where_names_are_in_the_likely_list(void **state)
{
    (void)state;
    expect_positions("01234567", 0);
    expect_positions("0", 0);
    expect_positions("", 0);
    expect_positions("0246", 0);       /* some left out */
    expect_positions("0919293", 0);    /* some that nobody knows */
    expect_positions("76543210", 8);   /* another order altogether */
    expect_positions("4567012301", 3); /* pieces in another order, and names twice */
}

static void test_names_skim__follows_the_likely_order_as_far_as_it_goes(void **state)
{
    (void)state;
    expect_positions_in("0246", "0246", 0);
    expect_positions_in("7531", "7531", 0);
    expect_positions_in("0246", "02", 0);
    expect_positions_in("0246", "0146", 0);  /* one that it does not have: along the list */
    expect_positions_in("02467", "0467", 0); /* one left out */
    expect_positions_in("7531", "7532", 1);
    expect_positions_in("02", "0245", 0); /* it has an end */
    expect_positions_in("02", "0234", 0);
    expect_positions_in("", "01", 0);
    expect_positions_in("0929", "0292", 1); /* what is nowhere is in no order */
    expect_positions_in("9", "0", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_skimming__reads_what_the_scheduler_sends),
        cmocka_unit_test(test_read_skimming__leaves_everything_else_to_the_parser),
        cmocka_unit_test(test_names_skim__takes_names_of_any_length_up_to_the_limit),
        cmocka_unit_test(test_names_skim__says_where_names_are_in_the_likely_list),
        cmocka_unit_test(test_names_skim__follows_the_likely_order_as_far_as_it_goes),
    };

    return cmocka_run_group_tests_name("names_skim", tests, NULL, NULL);
}
