/* SPDX-License-Identifier: Apache-2.0 */
#include "support/lease_story.h"

/* --- options --------------------------------------------------------------------------------- */

static void test_check_options__refuses_times_that_do_not_fit_together(void **state)
{
    static const struct {
        uint64_t duration_ms, renew_deadline_ms, retry_ms;
        const char *text; /* "": fine */
    } cases[] = {
        {15000, 10000, 2000, ""},
        {10000, 10000, 2000, "longer than the renew deadline"},
        {15000, 2400, 2000, "1.2 times"},
        {15000, 2401, 2000, ""},
        {15000, 10000, 0, "retry period"},
        {600000, 10000, 2000, ""},
        {600001, 10000, 2000, "exceeds"},
        {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX / 2, "exceeds"},
        {15000, 10000, UINT64_MAX / 10, "1.2 times"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct lease_options options = {"gpu",
                                        "topofit",
                                        "us",
                                        cases[i].duration_ms,
                                        cases[i].renew_deadline_ms,
                                        cases[i].retry_ms,
                                        1};
        struct error err = {0};
        bool is_fine = lease_check_options(&options, &err) == 0;

        assert_int_equal(is_fine, cases[i].text[0] == '\0');
        assert_contains(err.text, cases[i].text);
    }
}

static void test_check_options__refuses_what_cannot_be_a_name(void **state)
{
    static const struct {
        const char *namespace, *name, *identity;
    } cases[] = {
        {"", "n", "i"}, {"a/b", "n", "i"}, {"ns", "", "i"}, {"ns", "..", "i"}, {"ns", "n", ""}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct lease_options options = {
            cases[i].namespace, cases[i].name, cases[i].identity, 15000, 10000, 2000, 1};
        struct error err = {0};

        assert_int_equal(lease_check_options(&options, &err), -ERR_INVALID);
    }
}

/* --- acquiring ------------------------------------------------------------------------------- */

static void test_acquire__makes_the_lease_when_there_is_none(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_new();

    (void)state;
    expect_call(story, "GET");
    assert_string_equal(story->request.path, LEASE_PATH);
    assert_false(take_request(story));
    answer_status(story, 404);
    assert_false(is_leading(story));
    expect_call(story, "POST");
    assert_string_equal(story->request.path, LEASES_PATH);
    assert_string_equal(story->written.holder, "us");
    assert_int_equal(story->written.duration_s, 15);
    assert_int_equal(story->written.transitions, 0);
    assert_null(strstr(story->request.body, "resourceVersion"));
    assert_false(is_leading(story));
    story->now_ms += 300;
    answer_written(story);
    assert_int_equal(lease_held_until_ms(story->lease), T0 + DEADLINE);
    assert_int_equal(lease_counters(story->lease)->acquired, 1);
    assert_string_equal(lease_holder(story->lease), "us");
}

static void test_acquire__writes_times_with_six_digits(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    assert_string_equal(story->written.renew_time, "2023-11-14T22:30:00.000000Z");
    assert_string_equal(story->written.acquire_time, story->written.renew_time);
}

static void test_acquire__loses_the_race_when_another_made_it_first(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_new();

    (void)state;
    expect_call(story, "GET");
    answer_status(story, 404);
    expect_call(story, "POST");
    answer_status(story, 409);
    expect_call(story, "GET");
    answer_lease(story, "they", 15, "");
    assert_false(take_request(story));
    assert_false(is_leading(story));
    assert_string_equal(lease_holder(story->lease), "they");
    assert_int_equal(lease_counters(story->lease)->errors, 0);
    assert_string_equal(lease_problem(story->lease), "");
}

static void test_acquire__takes_what_nobody_holds_at_once(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_new();

    (void)state;
    expect_call(story, "GET");
    answer_lease(story, "", 1, "");
    expect_call(story, "PUT");
    assert_string_equal(story->request.path, LEASE_PATH);
    assert_string_equal(story->written.meta.resource_version, "5");
    assert_string_equal(story->written.meta.uid, "uid-1");
    assert_string_equal(story->written.holder, "us");
    assert_int_equal(story->written.duration_s, 15);
    assert_int_equal(story->written.transitions, 8);
    answer_written(story);
    assert_int_equal(lease_held_until_ms(story->lease), T0 + DEADLINE);
}

static void test_acquire__looks_with_jitter_while_another_holds_it(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_waiting();
    uint64_t least_ms = UINT64_MAX, most_ms = 0;

    (void)state;
    for (int i = 0; i < 200; i++) {
        uint64_t before_ms = story->now_ms;

        wait_for_call(story, "GET");
        if (story->now_ms - before_ms < least_ms)
            least_ms = story->now_ms - before_ms;
        if (story->now_ms - before_ms > most_ms)
            most_ms = story->now_ms - before_ms;
        story->version++;
        answer_lease(story, "they", 15, "");
    }
    assert_in_range(least_ms, RETRY, RETRY + 100);
    assert_in_range(most_ms, RETRY * 22 / 10 - 100, RETRY * 22 / 10);
}

/* --- waiting for another --------------------------------------------------------------------- */

/* Answers looks the same way until a write comes. return when that was, counted from T0. */
static uint64_t wait_until_taken(struct lease_story *story, int duration_s)
{
    for (;;) {
        while (!take_request(story)) {
            assert_true(lease_next_due_ms(story->lease) > story->now_ms);
            story->now_ms = lease_next_due_ms(story->lease);
        }
        if (story->request.body != NULL)
            return story->now_ms - T0;
        answer_lease(story, "they", duration_s, "");
    }
}

static void test_acquire__waits_as_long_as_the_record_says(void **state)
{
    static const struct {
        int duration_s;
        uint64_t want_ms;
    } cases[] = {
        {15, 15000},    {40, 40000},
        {1, 1000},      {0, DURATION}, /* none: ours */
        {-7, DURATION}, {2147483647, LEASE_DURATION_MAX_MS},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(lease_story_free) struct lease_story *story = lease_story_new();

        expect_call(story, "GET");
        answer_lease(story, "they", cases[i].duration_s, "");
        assert_false(take_request(story));
        assert_in_range(wait_until_taken(story, cases[i].duration_s), cases[i].want_ms,
                        cases[i].want_ms + RETRY * 22 / 10);
        assert_string_equal(story->written.holder, "us");
        assert_int_equal(story->written.transitions, 8);
        answer_written(story);
        assert_true(is_leading(story));
    }
}

static void test_acquire__waits_anew_when_the_record_changed(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_waiting();
    uint64_t changed_ms;

    (void)state;
    while (story->now_ms < T0 + 12000) {
        wait_for_call(story, "GET");
        answer_lease(story, "they", 15, "");
    }
    wait_for_call(story, "GET");
    story->version++;
    answer_lease(story, "they", 15, "");
    changed_ms = story->now_ms - T0;
    assert_true(wait_until_taken(story, 15) >= changed_ms + DURATION);
}

static void test_acquire__leaves_the_lease_to_who_was_faster(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_waiting();

    (void)state;
    wait_until_taken(story, 15);
    answer_status(story, 409);
    assert_false(is_leading(story));
    expect_call(story, "GET");
    story->version++;
    answer_lease(story, "third", 15, "");
    assert_false(take_request(story));
    assert_string_equal(lease_holder(story->lease), "third");
}

static void test_acquire__does_not_take_a_deleted_lease_before_its_holder_has_run_out(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_waiting();

    (void)state;
    do {
        wait_for_call(story, "GET");
        answer_status(story, 404);
    } while (story->now_ms < T0 + DURATION);
    expect_call(story, "POST");
    assert_null(strstr(story->request.body, "\"uid\""));
}

/* --- renewing -------------------------------------------------------------------------------- */

static void test_renew__writes_each_retry_period_on_the_version_it_knows(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    for (unsigned i = 1; i <= 5; i++) {
        wait_for_call(story, "PUT");
        assert_int_equal(story->now_ms, T0 + i * RETRY);
        assert_string_equal(story->written.acquire_time, "2023-11-14T22:30:00.000000Z");
        assert_int_equal(story->written.transitions, 8);
        story->now_ms += 50;
        answer_written(story);
        assert_int_equal(lease_held_until_ms(story->lease), T0 + i * RETRY + DEADLINE);
    }
    assert_int_equal(lease_counters(story->lease)->acquired, 1);
    assert_int_equal(lease_counters(story->lease)->lost, 0);
}

static void test_renew__looks_and_writes_again_after_a_conflict(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    wait_for_call(story, "PUT");
    answer_status(story, 409);
    assert_true(is_leading(story));
    expect_call(story, "GET");
    story->version = 77; /* somebody wrote a label */
    answer_lease(story, "us", 15, "");
    expect_call(story, "PUT");
    assert_string_equal(story->written.meta.resource_version, "77");
    answer_written(story);
    assert_int_equal(lease_held_until_ms(story->lease), T0 + RETRY + DEADLINE);
    wait_for_call(story, "PUT");
    assert_int_equal(story->now_ms, T0 + 2 * RETRY);
    assert_int_equal(lease_counters(story->lease)->errors, 0);
}

static void test_renew__pauses_when_conflicts_go_on(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    wait_for_call(story, "PUT");
    answer_status(story, 409);
    expect_call(story, "GET");
    answer_lease(story, "us", 15, "");
    expect_call(story, "PUT");
    answer_status(story, 409);
    assert_false(take_request(story));
    wait_for_call(story, "GET");
    assert_int_equal(story->now_ms, T0 + 2 * RETRY);
}

static void test_renew__survives_one_request_that_hangs(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    wait_for_call(story, "PUT");
    story->now_ms += story->request.timeout_ms;
    drop(story, true);
    expect_call(story, "GET");
    assert_true(story->request.fresh_connection);
    story->now_ms += story->request.timeout_ms;
    drop(story, true);
    assert_true(is_leading(story));
    expect_call(story, "GET");
    answer_lease(story, "us", 15, "");
    expect_call(story, "PUT");
    answer_written(story);
    assert_true(is_leading(story));
    assert_int_equal(lease_counters(story->lease)->acquired, 1);
    assert_int_equal(lease_counters(story->lease)->errors, 2);
}

static void test_renew__counts_a_lost_write_from_when_it_was_sent(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();
    uint64_t sent_ms;

    (void)state;
    wait_for_call(story, "PUT");
    sent_ms = story->now_ms;
    story->now_ms += 3000;
    drop(story, true);
    assert_int_equal(lease_held_until_ms(story->lease), T0 + DEADLINE);
    expect_call(story, "GET");
    answer_as_written(story);
    assert_int_equal(lease_held_until_ms(story->lease), sent_ms + DEADLINE);
    expect_call(story, "PUT");
}

/* The same holder and a newer version, but not by the write that was lost. */
static void test_renew__does_not_take_another_change_for_the_lost_write(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    wait_for_call(story, "PUT");
    drop(story, true);
    expect_call(story, "GET");
    story->version++;
    answer_lease(story, "us", 15, "");
    assert_int_equal(lease_held_until_ms(story->lease), T0 + DEADLINE);
}

static void test_renew__is_over_when_the_deadline_passes(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    while (story->now_ms < T0 + DEADLINE) {
        if (take_request(story))
            answer_status(story, 503);
        story->now_ms = lease_next_due_ms(story->lease);
    }
    assert_int_equal(story->now_ms, T0 + DEADLINE);
    assert_false(is_leading(story));
    take_request(story);
    assert_int_equal(lease_held_until_ms(story->lease), 0);
    assert_int_equal(lease_counters(story->lease)->lost, 1);
    assert_string_equal(lease_holder(story->lease), "");
    assert_contains(lease_problem(story->lease), "HTTP 503: the message");
}

static void test_renew__is_over_for_who_slept_too_long(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    wait_for_call(story, "PUT");
    story->now_ms += DEADLINE + 1;
    answer_written(story); /* the answer had been waiting all the time */
    assert_int_equal(lease_held_until_ms(story->lease), 0);
    assert_int_equal(lease_counters(story->lease)->lost, 1);
    expect_call(story, "PUT"); /* nobody took it so far */
    answer_written(story);
    assert_int_equal(lease_held_until_ms(story->lease), story->sent_ms + DEADLINE);
    assert_int_equal(lease_counters(story->lease)->acquired, 2);
}

static void test_term__counts_our_leads_and_stays_when_one_is_over(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    assert_int_equal(lease_term(story->lease), 1);
    wait_for_call(story, "PUT");
    answer_written(story); /* a renewal */
    assert_int_equal(lease_term(story->lease), 1);
    wait_for_call(story, "PUT");
    story->now_ms += DEADLINE + 1;
    answer_written(story); /* too late */
    assert_int_equal(lease_held_until_ms(story->lease), 0);
    assert_int_equal(lease_term(story->lease), 1);
    expect_call(story, "PUT");
    answer_written(story);
    assert_int_equal(lease_term(story->lease), 2);
}

static void test_renew__takes_back_what_still_names_us_by_a_write_alone(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    story->now_ms = T0 + 60000;
    expect_call(story, "PUT");
    assert_false(is_leading(story));
    answer_status(story, 409);
    expect_call(story, "GET");
    answer_lease(story, "us", 15, "");
    assert_false(is_leading(story));
    expect_call(story, "PUT");
    assert_false(is_leading(story));
    answer_written(story);
    assert_true(is_leading(story));
}

static void test_renew__ends_at_once_when_another_is_named(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    wait_for_call(story, "PUT");
    answer_status(story, 409);
    expect_call(story, "GET");
    story->version++;
    answer_lease(story, "they", 15, "");
    assert_int_equal(lease_held_until_ms(story->lease), 0);
    assert_int_equal(lease_counters(story->lease)->lost, 1);
    assert_string_equal(lease_holder(story->lease), "they");
    assert_false(take_request(story));
}

static void test_renew__makes_its_lease_anew_when_it_was_deleted(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    wait_for_call(story, "PUT");
    answer_status(story, 409); /* the uid does not fit */
    expect_call(story, "GET");
    answer_status(story, 404);
    assert_true(is_leading(story));
    expect_call(story, "POST");
    answer_written(story);
    assert_int_equal(lease_held_until_ms(story->lease), T0 + RETRY + DEADLINE);
    assert_int_equal(lease_counters(story->lease)->lost, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_options__refuses_times_that_do_not_fit_together),
        cmocka_unit_test(test_check_options__refuses_what_cannot_be_a_name),
        cmocka_unit_test(test_acquire__makes_the_lease_when_there_is_none),
        cmocka_unit_test(test_acquire__writes_times_with_six_digits),
        cmocka_unit_test(test_acquire__loses_the_race_when_another_made_it_first),
        cmocka_unit_test(test_acquire__takes_what_nobody_holds_at_once),
        cmocka_unit_test(test_acquire__looks_with_jitter_while_another_holds_it),
        cmocka_unit_test(test_acquire__waits_as_long_as_the_record_says),
        cmocka_unit_test(test_acquire__waits_anew_when_the_record_changed),
        cmocka_unit_test(test_acquire__leaves_the_lease_to_who_was_faster),
        cmocka_unit_test(test_acquire__does_not_take_a_deleted_lease_before_its_holder_has_run_out),
        cmocka_unit_test(test_renew__writes_each_retry_period_on_the_version_it_knows),
        cmocka_unit_test(test_renew__looks_and_writes_again_after_a_conflict),
        cmocka_unit_test(test_renew__pauses_when_conflicts_go_on),
        cmocka_unit_test(test_renew__survives_one_request_that_hangs),
        cmocka_unit_test(test_renew__counts_a_lost_write_from_when_it_was_sent),
        cmocka_unit_test(test_renew__does_not_take_another_change_for_the_lost_write),
        cmocka_unit_test(test_renew__is_over_when_the_deadline_passes),
        cmocka_unit_test(test_renew__is_over_for_who_slept_too_long),
        cmocka_unit_test(test_term__counts_our_leads_and_stays_when_one_is_over),
        cmocka_unit_test(test_renew__takes_back_what_still_names_us_by_a_write_alone),
        cmocka_unit_test(test_renew__ends_at_once_when_another_is_named),
        cmocka_unit_test(test_renew__makes_its_lease_anew_when_it_was_deleted),
    };

    return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
