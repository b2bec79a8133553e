/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/map.h"

#include <stdlib.h>

/*
 * Known answers of an implementation that is not ours: `openssl mac -macopt size:8 -macopt
 * c-rounds:1 -macopt d-rounds:3 ... SIPHASH` over the bytes 0, 1, 2 ... under the key 0, 1 ... 15.
 */
static void test_hash_bytes__is_siphash_1_3(void **state)
{
    static const struct {
        size_t length;
        uint64_t hash;
    } cases[] = {
        {0, 0xabac0158050fc4dc},  {1, 0xc9f49bf37d57ca93},  {7, 0xd3927d989bb11140},
        {8, 0x369095118d299a8e},  {9, 0x25a48eb36c063de4},  {15, 0xd320d86d2a519956},
        {16, 0xcc4fdd1a7d908b66}, {63, 0x9d199062b7bbb3a8},
    };
    unsigned char bytes[64];

    (void)state;
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)i;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(hash_bytes(&test_key, bytes, cases[i].length), cases[i].hash);
}

static void test_hash_bytes__depends_on_the_key(void **state)
{
    const struct hash_key other = {{1, 2}};

    (void)state;
    assert_int_not_equal(hash_bytes(&test_key, "pod", 3), hash_bytes(&other, "pod", 3));
}

static void test_map_put__returns_the_value_before(void **state)
{
    struct map *map = map_new(&test_key);
    int a, b;

    (void)state;
    assert_null(map_get(map, "x"));
    assert_null(map_put(map, "x", &a));
    assert_ptr_equal(map_put(map, "x", &b), &a);
    assert_ptr_equal(map_get(map, "x"), &b);
    assert_int_equal(map_count(map), 1);
    assert_ptr_equal(map_remove(map, "x"), &b);
    assert_null(map_remove(map, "x"));
    assert_int_equal(map_count(map), 0);
    map_free(map, NULL);
}

static void test_map_put__keeps_keys_apart_that_begin_alike(void **state)
{
    static const char *const keys[] = {"", "a", "ab", "abc", "abd", "b"};
    struct map *map = map_new(&test_key);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        assert_null(map_put(map, keys[i], (void *)(uintptr_t)&keys[i]));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        assert_ptr_equal(map_get(map, keys[i]), &keys[i]);
    map_free(map, NULL);
}

static void test_map_next__follows_insertion_whatever_the_key_of_the_hash(void **state)
{
    (void)state;
    for (uint64_t word = 0; word < 20; word++) {
        struct hash_key key = {{word, ~word}};
        struct map *map = map_new(&key);
        struct map_cursor at = {0};
        char name[8];

        for (int i = 0; i < 50; i++) {
            snprintf(name, sizeof name, "%d", i * 7 % 50);
            map_put(map, name, map);
        }
        map_remove(map, "7");
        map_put(map, "7", map); /* again: at the end now */
        map_put(map, "0", map); /* replaced: stays at the beginning */
        for (int i = 0; i < 50; i++) {
            snprintf(name, sizeof name, "%d", i == 49 ? 7 : (i == 0 ? 0 : i + 1) * 7 % 50);
            assert_true(map_next(map, &at));
            assert_string_equal(at.key, name);
        }
        assert_false(map_next(map, &at));
        assert_false(map_next(map, &at));
        map_free(map, NULL);
    }
}

static void test_map_next__the_entry_at_hand_may_be_removed(void **state)
{
    struct map *map = map_new(&test_key);
    struct map_cursor at = {0};
    unsigned visited = 0;
    char name[8];

    (void)state;
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "%d", i);
        map_put(map, name, map);
    }
    while (map_next(map, &at)) {
        if (visited++ % 3 != 1)
            map_remove(map, at.key);
    }
    assert_int_equal(visited, 100);
    assert_int_equal(map_count(map), 33);
    map_free(map, NULL);
}

static void test_map_new_borrowing__refers_to_the_key_of_the_last_value(void **state)
{
    struct map *map = map_new_borrowing(&test_key);
    struct map_cursor at = {0};
    char *first = xstrdup("x"), *second = xstrdup("x");

    (void)state;
    assert_null(map_put(map, first, first));
    assert_ptr_equal(map_put(map, second, second), first);
    free(first);
    assert_ptr_equal(map_get(map, "x"), second);
    assert_true(map_next(map, &at));
    assert_ptr_equal(at.key, second);
    map_free(map, free);
}

/* As the history does: the oldest go, new ones come. */
static void test_map_next__begins_with_the_oldest_that_is_left(void **state)
{
    struct map *map = map_new(&test_key);
    char name[8];

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        struct map_cursor at = {0};

        snprintf(name, sizeof name, "%u", i);
        map_put(map, name, map);
        assert_true(map_next(map, &at));
        snprintf(name, sizeof name, "%u", i < 10 ? 0 : i - 10);
        assert_string_equal(at.key, name);
        if (i >= 10)
            map_remove(map, at.key);
    }
    map_free(map, NULL);
}

static void test_map_free__frees_what_is_left(void **state)
{
    struct map *map = map_new(&test_key);

    (void)state;
    map_put(map, "a", xstrdup("1"));
    map_put(map, "b", xstrdup("2"));
    free(map_remove(map, "a"));
    map_free(map, free);
    map_free(NULL, free);
}

#define KEYS 200

static void test_map__agrees_with_an_array_over_random_changes(void **state)
{
    struct map *map = map_new(&test_key);
    const int *model[KEYS] = {NULL};
    int values[4];
    uint64_t chance = 1;
    size_t count = 0;

    (void)state;
    for (int step = 0; step < 50000; step++) {
        unsigned number = chance_below(&chance, KEYS);
        int *value = &values[chance_below(&chance, 4)];
        char key[16];

        snprintf(key, sizeof key, "key-%u", number);
        if (chance_one_in(&chance, 3)) {
            assert_ptr_equal(map_remove(map, key), model[number]);
            count -= model[number] != NULL;
            model[number] = NULL;
        } else {
            assert_ptr_equal(map_put(map, key, value), model[number]);
            count += model[number] == NULL;
            model[number] = value;
        }
        assert_ptr_equal(map_get(map, key), model[number]);
        assert_int_equal(map_count(map), count);
    }
    map_free(map, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_bytes__is_siphash_1_3),
        cmocka_unit_test(test_hash_bytes__depends_on_the_key),
        cmocka_unit_test(test_map_put__returns_the_value_before),
        cmocka_unit_test(test_map_put__keeps_keys_apart_that_begin_alike),
        cmocka_unit_test(test_map_next__follows_insertion_whatever_the_key_of_the_hash),
        cmocka_unit_test(test_map_next__the_entry_at_hand_may_be_removed),
        cmocka_unit_test(test_map_new_borrowing__refers_to_the_key_of_the_last_value),
        cmocka_unit_test(test_map_next__begins_with_the_oldest_that_is_left),
        cmocka_unit_test(test_map_free__frees_what_is_left),
        cmocka_unit_test(test_map__agrees_with_an_array_over_random_changes),
    };

    return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
