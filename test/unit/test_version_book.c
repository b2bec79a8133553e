/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/control/version_book.h"
#include "support/builders.h"
#include "support/test.h"

#include "topofit/mem.h"

#define NODES 15000u

static void test_book__has_the_last_version_of_each_node(void **state)
{
    AUTO(version_book_clear) struct version_book book;

    (void)state;
    version_book_init(&book, &test_key);
    assert_int_equal(version_book_get(&book, "n0"), 0);
    for (unsigned round = 1; round <= 3; round++) {
        for (unsigned i = 0; i < NODES; i++) {
            AUTO_FREE char *name = xasprintf("n%u", i);

            version_book_put(&book, name, i + round);
        }
    }
    for (unsigned i = 0; i < NODES; i++) {
        AUTO_FREE char *name = xasprintf("n%u", i);

        assert_int_equal(version_book_get(&book, name), i + 3);
    }
    assert_int_equal(version_book_get(&book, "n15000"), 0);
}

static void test_book__costs_at_most_64_bytes_a_node(void **state)
{
    AUTO(version_book_clear) struct version_book book;

    (void)state;
    version_book_init(&book, &test_key);
    for (unsigned i = 0; i < NODES; i++) {
        AUTO_FREE char *name = xasprintf("n%u", i);

        version_book_put(&book, name, 1);
    }
    assert_true(book.capacity * sizeof *book.places <= 64 * NODES);
}

static void test_book__does_not_grow_by_nodes_that_come_and_go(void **state)
{
    AUTO(version_book_clear) struct version_book book;

    (void)state;
    version_book_init(&book, &test_key);
    for (unsigned i = 0; i < NODES; i++) {
        AUTO_FREE char *name = xasprintf("n%u", i);

        version_book_put(&book, name, 7);
        version_book_put(&book, name, 0);
        assert_int_equal(version_book_get(&book, name), 0);
    }
    assert_true(book.capacity <= 128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_book__has_the_last_version_of_each_node),
        cmocka_unit_test(test_book__costs_at_most_64_bytes_a_node),
        cmocka_unit_test(test_book__does_not_grow_by_nodes_that_come_and_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
