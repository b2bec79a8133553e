/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/request.h"

#include <stdio.h>

static void test_container_runs_in__init_steps_alone_and_sidecars_from_their_start(void **state)
{
    enum { S = CONTAINER_SIDECAR, I = CONTAINER_INIT, A = CONTAINER_APP };
    static const int pod[] = {S, I, S, I, A, A};
    /* which containers run while step 1, step 3 and the apps run */
    static const struct {
        size_t phase;
        const char *runs;
    } cases[] = {{1, "xx...."}, {3, "x.xx.."}, {PHASE_MAIN, "x.x.xx"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (size_t c = 0; c < ARRAY_LEN(pod); c++)
            assert_int_equal(container_runs_in((enum container_kind)pod[c], c, cases[i].phase),
                             cases[i].runs[c] == 'x');
    }
}

static void test_ask_memory_mib__is_what_one_device_books(void **state)
{
    static const struct {
        struct wish wish;
        enum isolation_mode isolation;
        uint64_t device_mib, want_mib;
    } cases[] = {
        {{.count = 1}, ISOLATION_NONE, 81251, 81251},
        {{.count = 1, .mib = 4000}, ISOLATION_NONE, 81251, 4000},
        {{.count = 1, .mib = 4000}, ISOLATION_SHARED, 81251, 81251},
        {{.count = 1, .percent = 100}, ISOLATION_NONE, 81251, 81251},
        {{.count = 1, .percent = 50}, ISOLATION_NONE, 81251, 40626}, /* rounded up */
        {{.count = 1, .percent = 1}, ISOLATION_NONE, 1, 1},          /* never nothing */
        {{.count = 1, .percent = 33}, ISOLATION_NONE, 0, 0},
        {{.count = 1, .percent = 99}, ISOLATION_NONE, UINT64_C(1) << 40, 1088516511499},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear) struct request request = request_of(cases[i].wish);

        request.isolation = cases[i].isolation;
        assert_int_equal(ask_memory_mib(&request, &request.asks[0], cases[i].device_mib),
                         cases[i].want_mib);
    }
}

static void test_ask_cores__whole_devices_take_all_unless_they_say_less(void **state)
{
    static const struct {
        struct wish wish;
        enum isolation_mode isolation;
        uint16_t want;
    } cases[] = {
        {{.count = 1}, ISOLATION_NONE, 120},
        {{.count = 1, .cores = 30}, ISOLATION_NONE, 30},
        {{.count = 1, .cores = 30}, ISOLATION_SHARED, 120},
        {{.count = 1, .mib = 10}, ISOLATION_NONE, 0},
        {{.count = 1, .mib = 10, .cores = 30}, ISOLATION_NONE, 30},
        {{.count = 1, .mib = 10}, ISOLATION_SHARED, 120},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear) struct request request = request_of(cases[i].wish);

        request.isolation = cases[i].isolation;
        assert_int_equal(ask_cores(&request, &request.asks[0], 120), cases[i].want);
    }
}

/* A part of a device without an amount of memory books its cores alone. */
static void test_ask__of_no_memory_books_none_and_shares(void **state)
{
    AUTO(request_clear) struct request request = request_of((struct wish){.count = 1, .cores = 1});

    (void)state;
    request.asks[0].memory_kind = MEMORY_NONE;
    assert_false(ask_is_whole(&request, &request.asks[0]));
    assert_int_equal(ask_memory_mib(&request, &request.asks[0], 81251), 0);
    assert_int_equal(ask_cores(&request, &request.asks[0], 2), 1);
    assert_int_equal(ask_isolation_mode(&request, &request.asks[0]), ISOLATION_SOFT);
}

static void test_ask_cores__in_percent_are_those_of_the_device_and_at_least_one(void **state)
{
    static const struct {
        uint16_t percent, device, want;
    } cases[] = {{100, 304, 304}, {50, 304, 152}, {1, 304, 3}, {1, 60, 1}, {100, 65535, 65535}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear)
        struct request request =
            request_of((struct wish){.count = 1, .mib = 10, .cores = cases[i].percent});

        request.asks[0].cores_percent = true;
        assert_int_equal(ask_cores(&request, &request.asks[0], cases[i].device), cases[i].want);
    }
}

/* Kinds that decide differently are different requests. */
static void test_request_container_equal__looks_at_one_container_alone(void **state)
{
    AUTO(request_clear) struct request a = request_of((struct wish){.count = 1, .mib = 10});
    AUTO(request_clear) struct request b = request_of((struct wish){.count = 2, .mib = 10});

    (void)state;
    request_wish(&a, (struct wish){.count = 1, .mib = 20});
    request_wish(&b, (struct wish){.count = 1, .mib = 20});
    request_wish(&b, (struct wish){.count = 1});
    assert_false(request_container_equal(&a, &b, 0));
    assert_true(request_container_equal(&a, &b, 1));
    assert_false(request_container_equal(&a, &b, 2)); /* only one of them asks */
    assert_true(request_container_equal(&a, &b, 3));
}

static void test_request_equal__sees_slices_and_percent(void **state)
{
    AUTO(request_clear) struct request a = request_of((struct wish){.count = 1, .cores = 5});
    AUTO(request_clear) struct request b = request_of((struct wish){.count = 1, .cores = 5});

    (void)state;
    assert_true(request_equal(&a, &b));
    b.asks[0].slices = 1;
    assert_false(request_equal(&a, &b));
    b.asks[0].slices = 0;
    b.asks[0].cores_percent = true;
    assert_false(request_equal(&a, &b));
}

static void test_request_mode__is_the_stated_one_else_shared_or_soft(void **state)
{
    AUTO(request_clear) struct request whole = request_of((struct wish){.count = 1});
    AUTO(request_clear) struct request part = request_of((struct wish){.count = 1, .mib = 1});

    (void)state;
    assert_int_equal(ask_isolation_mode(&whole, &whole.asks[0]), ISOLATION_SHARED);
    assert_int_equal(ask_isolation_mode(&part, &part.asks[0]), ISOLATION_SOFT);
    part.isolation = ISOLATION_HARD;
    assert_int_equal(ask_isolation_mode(&part, &part.asks[0]), ISOLATION_HARD);
}

static void test_request_add_ask__too_many_become_the_problem(void **state)
{
    AUTO(request_clear) struct request request;

    (void)state;
    request_init(&request);
    for (int i = 0; i < REQUEST_ASKS_MAX; i++)
        request_wish(&request, (struct wish){.count = 1});
    assert_null(request.problem);
    request_wish(&request, (struct wish){.count = 1});
    assert_non_null(request.problem);
    assert_int_equal(request.ask_count, REQUEST_ASKS_MAX);
}

static void test_request_set_problem__the_first_stays(void **state)
{
    AUTO(request_clear) struct request request;

    (void)state;
    request_init(&request);
    assert_false(request_wants_devices(&request));
    request_set_problem(&request, "first %d", 1);
    request_set_problem(&request, "second");
    assert_string_equal(request.problem, "first 1");
    assert_true(request_wants_devices(&request)); /* never dropped to nothing */
}

static void test_request_copy__owns_all_it_has(void **state)
{
    AUTO(request_clear) struct request copy;
    struct request request = request_of((struct wish){.count = 2, .mib = 7, .cores = 9});

    (void)state;
    assert_true(word_list_add(&request.use_devices, "a"));
    assert_true(word_list_add(&request.avoid_devices, "b"));
    assert_true(word_list_add(&request.use_products, "c"));
    assert_true(word_list_add(&request.avoid_products, "d"));
    request.problem = xstrdup("e");
    request.topology.has_mode = true;
    request_copy(&request, &copy);
    request_clear(&request);
    assert_string_equal(copy.containers[0].name, "c0");
    assert_int_equal(copy.asks[0].memory, 7);
    assert_true(word_list_has(&copy.use_devices, "a"));
    assert_true(word_list_has(&copy.avoid_devices, "b"));
    assert_true(word_list_has(&copy.use_products, "c"));
    assert_true(word_list_has(&copy.avoid_products, "d"));
    assert_string_equal(copy.problem, "e");
    assert_true(copy.topology.has_mode);
}

/* --- lists of words -------------------------------------------------------------------------- */

static void test_word_list__is_sorted_and_has_each_word_once_case_aside(void **state)
{
    static const char *const words[] = {"gpu-2", "GPU-1", "gpu-10", "GPU-2", "gpu-1", "a"};
    AUTO(request_clear) struct request request;
    char text[64];

    (void)state;
    request_init(&request);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        assert_true(word_list_add(&request.use_devices, words[i]));
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        assert_true(word_list_has(&request.use_devices, words[i]));
    assert_false(word_list_has(&request.use_devices, "gpu"));
    assert_false(word_list_has(&request.avoid_devices, "a"));
    word_list_join(&request.use_devices, text, sizeof text);
    assert_string_equal(text, "a, GPU-1, gpu-10, gpu-2");
}

static void test_word_list_add__refuses_what_is_too_long_or_too_much(void **state)
{
    AUTO(request_clear) struct request request;
    char word[WORD_BYTES_MAX + 2];

    (void)state;
    request_init(&request);
    memset(word, 'x', sizeof word);
    word[WORD_BYTES_MAX + 1] = '\0';
    assert_false(word_list_add(&request.use_devices, word));
    word[WORD_BYTES_MAX] = '\0';
    assert_true(word_list_add(&request.use_devices, word));
    for (int i = 1; i < WORD_LIST_MAX; i++) {
        snprintf(word, sizeof word, "%d", i);
        assert_true(word_list_add(&request.use_devices, word));
    }
    assert_false(word_list_add(&request.use_devices, "0"));
    assert_true(word_list_add(&request.use_devices, "1")); /* it is there */
    assert_int_equal(request.use_devices.count, WORD_LIST_MAX);
}

static void test_word_list_join__cuts_to_fit(void **state)
{
    static const struct {
        size_t size;
        const char *want;
    } cases[] = {{1, ""}, {3, "aa"}, {5, "aa, "}, {6, "aa, b"}, {7, "aa, bb"}, {20, "aa, bb"}};
    AUTO(request_clear) struct request request;

    (void)state;
    request_init(&request);
    word_list_add(&request.use_products, "bb");
    word_list_add(&request.use_products, "aa");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[20] = "unchanged";

        word_list_join(&request.use_products, text, cases[i].size);
        assert_string_equal(text, cases[i].want);
        word_list_join(&request.avoid_products, text, cases[i].size);
        assert_string_equal(text, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_container_runs_in__init_steps_alone_and_sidecars_from_their_start),
        cmocka_unit_test(test_ask_memory_mib__is_what_one_device_books),
        cmocka_unit_test(test_ask__of_no_memory_books_none_and_shares),
        cmocka_unit_test(test_ask_cores__in_percent_are_those_of_the_device_and_at_least_one),
        cmocka_unit_test(test_request_container_equal__looks_at_one_container_alone),
        cmocka_unit_test(test_request_equal__sees_slices_and_percent),
        cmocka_unit_test(test_ask_cores__whole_devices_take_all_unless_they_say_less),
        cmocka_unit_test(test_request_mode__is_the_stated_one_else_shared_or_soft),
        cmocka_unit_test(test_request_add_ask__too_many_become_the_problem),
        cmocka_unit_test(test_request_set_problem__the_first_stays),
        cmocka_unit_test(test_request_copy__owns_all_it_has),
        cmocka_unit_test(test_word_list__is_sorted_and_has_each_word_once_case_aside),
        cmocka_unit_test(test_word_list_add__refuses_what_is_too_long_or_too_much),
        cmocka_unit_test(test_word_list_join__cuts_to_fit),
    };

    return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
