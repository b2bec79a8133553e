/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_xcalloc__gives_memory_even_for_nothing(void **state)
{
    AUTO_FREE char *nothing = xcalloc(0, 8);
    AUTO_FREE char *zeroed = xcalloc(16, 1);

    (void)state;
    assert_non_null(nothing);
    for (int i = 0; i < 16; i++)
        assert_int_equal(zeroed[i], 0);
}

static void test_xstrndup__takes_so_many_bytes_and_ends_them(void **state)
{
    AUTO_FREE char *copy = xstrndup("abcdef", 3);

    (void)state;
    assert_string_equal(copy, "abc");
}

static void test_xasprintf__has_no_limit(void **state)
{
    AUTO_FREE char *text = xasprintf("%0*d", 100000, 7);

    (void)state;
    assert_int_equal(strlen(text), 100000);
    assert_int_equal(text[99999], '7');
}

static void test_mem_grow__makes_room_for_one_more(void **state)
{
    size_t count = 0, capacity = 0;
    unsigned *items = NULL;

    (void)state;
    for (; count < 1000; count++) {
        items = mem_grow(items, count, &capacity, sizeof *items);
        assert_true(capacity > count);
        items[count] = (unsigned)count;
    }
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(items[i], i);
    free(items);
}

static void test_steal_ptr__leaves_null_behind(void **state)
{
    char *text = xstrdup("x");
    AUTO_FREE char *stolen = steal_ptr(&text);

    (void)state;
    assert_null(text);
    assert_string_equal(stolen, "x");
}

static void test_mem_free_pointer__may_be_called_twice(void **state)
{
    char *text = xstrdup("x");

    (void)state;
    mem_free_pointer(&text);
    assert_null(text);
    mem_free_pointer(&text);
}

/* What a child process does that asks for count * size bytes. return its wait status. */
static int ask_in_a_child(size_t count, size_t size)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(1);
        free(xreallocarray(NULL, count, size));
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status;
}

static void test_xreallocarray__ends_the_process_when_the_size_overflows(void **state)
{
    int status = ask_in_a_child(SIZE_MAX / 2, 4);

    (void)state;
    /* A sanitizer ends it in its own way. */
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
    assert_int_equal(ask_in_a_child(4, 4), 0);
}

/* At least what may be used of it and a head, and hardly more. */
static void test_mem_block_bytes__is_what_the_allocator_takes(void **state)
{
    static const size_t sizes[] = {0, 1, 24, 25, 40, 41, 1000, 1032, 100000};
    AUTO_FREE void *least = xmalloc(1);
    int is_glibc = malloc_usable_size(least) == 24; /* else a sanitizer's allocator */

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        AUTO_FREE void *block = xmalloc(sizes[i]);
        size_t usable = malloc_usable_size(block);

        assert_true(mem_block_bytes(sizes[i]) >= sizes[i] + sizeof(size_t));
        if (is_glibc)
            assert_in_range(mem_block_bytes(sizes[i]), usable, usable + 2 * sizeof(size_t));
    }
    assert_int_equal(mem_text_bytes(NULL), 0);
    assert_int_equal(mem_text_bytes("1234567890123456789012345"), mem_block_bytes(26));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_xcalloc__gives_memory_even_for_nothing),
        cmocka_unit_test(test_xstrndup__takes_so_many_bytes_and_ends_them),
        cmocka_unit_test(test_xasprintf__has_no_limit),
        cmocka_unit_test(test_mem_grow__makes_room_for_one_more),
        cmocka_unit_test(test_steal_ptr__leaves_null_behind),
        cmocka_unit_test(test_mem_free_pointer__may_be_called_twice),
        cmocka_unit_test(test_mem_block_bytes__is_what_the_allocator_takes),
        cmocka_unit_test(test_xreallocarray__ends_the_process_when_the_size_overflows),
    };

    return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
