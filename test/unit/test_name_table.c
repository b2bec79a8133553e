/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/name_table.h"

static const struct hash_key key = {{1, 2}};

static uint32_t find(const struct name_table *table, const char *name)
{
    return name_table_find(table, name, strlen(name));
}

static void test_name_table_find__finds_every_name_and_no_other(void **state)
{
    static const char *const names[] = {"gpu-node-17.zone-a", "b", "a", "n1", "n10", "n11"};
    struct name_table *table = name_table_new(&key, names, ARRAY_LEN(names));

    (void)state;
    for (uint32_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(find(table, names[i]), i);
        assert_string_equal(name_table_name(table, i), names[i]);
    }
    assert_int_equal(find(table, "n"), NAME_NOWHERE);
    assert_int_equal(find(table, "n12"), NAME_NOWHERE);
    assert_int_equal(find(table, ""), NAME_NOWHERE);
    assert_int_equal(name_table_find(table, "n10\",", 2), 3);
    assert_int_equal(name_table_find(table, "n10\",", 3), 4);
    name_table_unref(table);
}

static void test_name_table_likely__is_the_list_as_json_has_it(void **state)
{
    static const char *const names[] = {"n2", "", "n1"};
    struct name_table *table = name_table_new(&key, names, ARRAY_LEN(names));
    struct likely_names likely = name_table_likely(table);

    (void)state;
    assert_int_equal(likely.list.count, 3);
    assert_int_equal(likely.list.length, strlen("\"n2\",\"\",\"n1\","));
    assert_memory_equal(likely.list.text, "\"n2\",\"\",\"n1\",", likely.list.length);
    assert_int_equal(likely.list.places[2].start, 9);
    assert_int_equal(likely.list.places[2].length, 2);
    name_table_unref(table);
}

static void test_name_table_likely__finds_many_names_at_once(void **state)
{
    char text[1000] = "", words[100][8];
    const char *names[100];
    struct name_at places[100];
    uint32_t positions[100];
    struct name_table *table;
    struct likely_names likely;

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        snprintf(words[i], sizeof words[i], "n%u", i);
        names[i] = words[i];
    }
    table = name_table_new(&key, names, 70);
    likely = name_table_likely(table);
    for (unsigned i = 0; i < 100; i++) { /* in another order; 30 are not in it */
        const char *word = words[i * 37 % 100];

        places[i] = (struct name_at){(uint32_t)strlen(text), (uint32_t)strlen(word)};
        strcat(text, word);
    }
    likely.find(likely.ctx, text, places, 100, positions);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(positions[i], i * 37 % 100 < 70 ? i * 37 % 100 : NAME_NOWHERE);
    name_table_unref(table);
}

static void test_name_table_likely__is_empty_where_a_name_needs_an_escape(void **state)
{
    static const char *const odd[] = {"with \"quote", "back\\slash", "t\tab", "\xc3\xa9"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        const char *const names[] = {"n1", odd[i]};
        struct name_table *table = name_table_new(&key, names, ARRAY_LEN(names));

        assert_int_equal(name_table_likely(table).list.count, 0);
        assert_int_equal(find(table, odd[i]), 1);
        name_table_unref(table);
    }
}

static void test_name_table__an_empty_one_finds_nothing(void **state)
{
    struct name_table *table = name_table_new(&key, NULL, 0);

    (void)state;
    assert_int_equal(find(table, "n1"), NAME_NOWHERE);
    assert_int_equal(name_table_count(table), 0);
    name_table_unref(table);
}

static void test_name_table__holds_thousands(void **state)
{
    enum { COUNT = 3000 };
    static char text[COUNT][16];
    static const char *names[COUNT];
    struct name_table *table;

    (void)state;
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(text[i], sizeof text[i], "node-%05u", i);
        names[i] = text[i];
    }
    table = name_table_new(&key, names, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t at = i * 7 % COUNT;

        assert_int_equal(find(table, names[at]), at);
        assert_string_equal(name_table_name(table, at), names[at]);
    }
    name_table_unref(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name_table_find__finds_every_name_and_no_other),
        cmocka_unit_test(test_name_table_likely__is_the_list_as_json_has_it),
        cmocka_unit_test(test_name_table_likely__finds_many_names_at_once),
        cmocka_unit_test(test_name_table_likely__is_empty_where_a_name_needs_an_escape),
        cmocka_unit_test(test_name_table__an_empty_one_finds_nothing),
        cmocka_unit_test(test_name_table__holds_thousands),
    };

    return cmocka_run_group_tests_name("name_table", tests, NULL, NULL);
}
