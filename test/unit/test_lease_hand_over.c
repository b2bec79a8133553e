/* SPDX-License-Identifier: Apache-2.0 */
/* The lease given up: for good, and for another who wants it. */
#include "support/lease_story.h"

#include <stdlib.h>

/* --- resigning ------------------------------------------------------------------------------- */

static void test_resign__writes_that_nobody_holds_it(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    story->now_ms += 500;
    lease_resign(story->lease, story->now_ms);
    assert_int_equal(lease_held_until_ms(story->lease), 0);
    assert_false(lease_is_resigned(story->lease));
    expect_call(story, "PUT");
    assert_string_equal(story->written.holder, "");
    assert_int_equal(story->written.duration_s, 1);
    assert_int_equal(story->written.transitions, 8);
    assert_string_equal(story->written.renew_time, "2023-11-14T22:30:00.500001Z");
    assert_string_equal(story->written.acquire_time, story->written.renew_time);
    answer_written(story);
    assert_true(lease_is_resigned(story->lease));
    assert_int_equal(lease_counters(story->lease)->lost, 1);
    assert_int_equal(lease_next_due_ms(story->lease), UINT64_MAX);
    lease_resign(story->lease, story->now_ms);
    story->now_ms += 100000;
    assert_false(take_request(story));
    assert_string_equal(lease_holder(story->lease), "");
}

static void test_resign__is_over_at_once_for_who_does_not_hold_it(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_waiting();

    (void)state;
    lease_resign(story->lease, story->now_ms);
    assert_true(lease_is_resigned(story->lease));
    assert_int_equal(lease_counters(story->lease)->lost, 0);
}

static void test_resign__waits_for_the_write_in_flight(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_new();

    (void)state;
    expect_call(story, "GET");
    answer_lease(story, "", 1, "");
    expect_call(story, "PUT");
    lease_resign(story->lease, story->now_ms);
    assert_false(lease_is_resigned(story->lease));
    answer_written(story);
    assert_false(is_leading(story));
    expect_call(story, "PUT");
    assert_string_equal(story->written.holder, "");
    answer_written(story);
    assert_true(lease_is_resigned(story->lease));
    assert_int_equal(lease_counters(story->lease)->acquired, 0);
}

static void test_resign__looks_whether_a_lost_write_made_it_the_holder(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_new();

    (void)state;
    expect_call(story, "GET");
    answer_lease(story, "", 1, "");
    expect_call(story, "PUT");
    drop(story, true);
    lease_resign(story->lease, story->now_ms);
    expect_call(story, "GET");
    answer_as_written(story);
    assert_false(is_leading(story));
    expect_call(story, "PUT");
    assert_string_equal(story->written.holder, "");
}

static void test_resign__tries_again_and_ends_in_bounded_time(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();
    unsigned requests = 0;

    (void)state;
    lease_resign(story->lease, story->now_ms);
    while (!lease_is_resigned(story->lease)) {
        if (take_request(story)) {
            requests++;
            story->now_ms += 100;
            drop(story, true);
        } else if (!lease_is_resigned(story->lease)) {
            assert_true(lease_next_due_ms(story->lease) > story->now_ms);
            story->now_ms = lease_next_due_ms(story->lease);
        }
    }
    assert_true(story->now_ms <= T0 + DEADLINE);
    assert_in_range(requests, 2, 8);
}

static void test_resign__ends_even_when_a_request_never_does(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    wait_for_call(story, "PUT");
    lease_resign(story->lease, story->now_ms);
    story->now_ms = lease_next_due_ms(story->lease);
    assert_false(take_request(story));
    assert_true(lease_is_resigned(story->lease));
    answer_written(story);
    assert_false(is_leading(story));
}

/* --- handing over ---------------------------------------------------------------------------- */

static void test_want__is_written_at_once_for_the_holder_to_see(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_waiting();

    (void)state;
    lease_want(story->lease, story->now_ms);
    expect_call(story, "GET");
    answer_lease(story, "they", 15, "");
    expect_call(story, "PUT");
    assert_string_equal(story->written.wanted_by, "us");
    assert_string_equal(story->written.holder, "they");
    assert_int_equal(story->written.duration_s, 15);
    assert_int_equal(story->written.transitions, 7);
    assert_string_equal(story->written.renew_time, "2026-01-31T23:59:59.123456Z");
    answer_written(story);
    assert_false(is_leading(story));
    wait_for_call(story, "GET");
    assert_true(story->now_ms <= T0 + RETRY);
    story->version++;
    answer_lease(story, "", 1, "us");
    expect_call(story, "PUT");
    assert_string_equal(story->written.holder, "us");
    assert_string_equal(story->written.wanted_by, "");
    answer_written(story);
    assert_true(is_leading(story));
}

static void test_want__does_not_restart_the_wait_for_a_holder_that_died(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_waiting();

    (void)state;
    story->now_ms += 6000;
    lease_want(story->lease, story->now_ms);
    expect_call(story, "GET");
    answer_lease(story, "they", 15, "");
    expect_call(story, "PUT");
    answer_written(story);
    for (;;) {
        while (!take_request(story))
            story->now_ms = lease_next_due_ms(story->lease);
        if (story->request.body != NULL)
            break;
        answer_lease(story, "they", 15, "us");
    }
    assert_in_range(story->now_ms, T0 + DURATION, T0 + DURATION + RETRY * 22 / 10);
    assert_string_equal(story->written.holder, "us");
}

static void test_want__writes_at_most_once_a_retry_period(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_waiting();
    unsigned writes = 0, looks = 0;

    (void)state;
    for (; story->now_ms < T0 + 10 * RETRY; story->now_ms += 10) {
        lease_want(story->lease, story->now_ms);
        if (!take_request(story))
            continue;
        if (story->request.body == NULL) {
            looks++;
            story->version++; /* the holder renews, and takes the claim away each time */
            answer_lease(story, "they", 15, "");
        } else {
            writes++;
            answer_written(story);
        }
    }
    assert_in_range(writes, 5, 10);
    assert_in_range(looks, 10, 25);
}

static void test_want__is_written_again_when_a_renewal_came_between(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_waiting();

    (void)state;
    lease_want(story->lease, story->now_ms);
    expect_call(story, "GET");
    answer_lease(story, "they", 15, "");
    expect_call(story, "PUT");
    answer_status(story, 409);
    expect_call(story, "GET");
    story->version++;
    answer_lease(story, "they", 15, "");
    expect_call(story, "PUT");
    assert_string_equal(story->written.wanted_by, "us");
    answer_status(story, 409);
    assert_false(take_request(story)); /* enough for now */
}

static void test_want__is_not_written_over_the_claim_of_another(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_waiting();

    (void)state;
    lease_want(story->lease, story->now_ms);
    expect_call(story, "GET");
    answer_lease(story, "they", 15, "third");
    assert_false(take_request(story));
}

static void test_want__is_forgotten_after_a_while(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_new();

    (void)state;
    lease_want(story->lease, story->now_ms);
    story->now_ms += LEASE_WANT_MS;
    expect_call(story, "GET");
    answer_lease(story, "they", 15, "");
    assert_false(take_request(story));
}

/* A leader whose renewal met a claim of "they", and has seen so. */
static void meet_claim(struct lease_story *story)
{
    wait_for_call(story, "PUT");
    answer_status(story, 409);
    expect_call(story, "GET");
    story->version++;
    answer_lease(story, "us", 15, "they");
}

static void test_hand_over__releases_for_who_wants_it_when_idle(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    meet_claim(story);
    assert_int_equal(lease_held_until_ms(story->lease), 0);
    assert_int_equal(lease_counters(story->lease)->lost, 1);
    assert_int_equal(lease_counters(story->lease)->handed_over, 1);
    expect_call(story, "PUT");
    assert_string_equal(story->written.holder, "");
    assert_string_equal(story->written.wanted_by, "they");
    assert_int_equal(story->written.duration_s, 1);
    answer_written(story);
    assert_false(take_request(story));
}

static void test_hand_over__is_declined_by_who_has_work(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    lease_note_work(story->lease, T0);
    meet_claim(story);
    assert_true(is_leading(story));
    expect_call(story, "PUT");
    assert_string_equal(story->written.holder, "us");
    assert_string_equal(story->written.wanted_by, "");
    answer_written(story);
    assert_int_equal(lease_counters(story->lease)->lost, 0);
    story->now_ms = T0 + LEASE_WORK_MS;
    meet_claim(story);
    assert_false(is_leading(story));
}

static void test_hand_over__leaves_the_lease_to_the_other_for_a_whole_duration(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();
    uint64_t released_ms;

    (void)state;
    meet_claim(story);
    released_ms = story->now_ms;
    expect_call(story, "PUT");
    answer_written(story);
    for (;;) {
        while (!take_request(story))
            story->now_ms = lease_next_due_ms(story->lease);
        if (story->request.body != NULL)
            break;
        answer_lease(story, "", 1, "they");
    }
    assert_in_range(story->now_ms, released_ms + DURATION,
                    released_ms + DURATION + RETRY * 22 / 10);
    assert_string_equal(story->written.holder, "us");
}

static void test_hand_over__takes_back_what_nobody_claims_any_more(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    meet_claim(story);
    expect_call(story, "PUT");
    answer_written(story);
    wait_for_call(story, "GET");
    story->version++;
    answer_lease(story, "", 1, ""); /* they had it, and resigned */
    expect_call(story, "PUT");
    assert_string_equal(story->written.holder, "us");
    answer_written(story);
    wait_for_call(story, "PUT");
    answer_status(story, 409);
    expect_call(story, "GET");
    answer_lease(story, "us", 15, "");
    expect_call(story, "PUT");
    assert_string_equal(story->written.holder, "us"); /* and keeps it */
}

/* The release may be executed at any time: what names us means nothing before we write again. */
static void test_hand_over__is_not_undone_by_a_release_that_was_lost(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();
    AUTO_FREE char *renewed = NULL;

    (void)state;
    wait_for_call(story, "PUT");
    drop(story, true);
    expect_call(story, "GET");
    /* The lost renewal was executed, and they claimed the Lease behind it. */
    renewed = xasprintf("{\"metadata\":{\"name\":\"topofit\",\"resourceVersion\":\"9\","
                        "\"annotations\":{\"" LEASE_WANTED_BY "\":\"they\"}},\"spec\":{"
                        "\"holderIdentity\":\"us\",\"renewTime\":\"%s\"}}",
                        story->written.renew_time);
    answer_with(story, 200, renewed);
    expect_call(story, "PUT");
    assert_string_equal(story->written.holder, "");
    drop(story, true);
    lease_want(story->lease, story->now_ms); /* so we would keep it */
    wait_for_call(story, "GET");
    answer_with(story, 200, renewed);
    assert_false(is_leading(story));
    expect_call(story, "PUT");
    assert_string_equal(story->written.holder, "");
}

static void test_hand_over__others_leave_a_claimed_lease_for_two_retry_periods(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_new();

    (void)state;
    expect_call(story, "GET");
    answer_lease(story, "", 1, "they");
    assert_false(take_request(story));
    for (;;) {
        while (!take_request(story))
            story->now_ms = lease_next_due_ms(story->lease);
        if (story->request.body != NULL)
            break;
        answer_lease(story, "", 1, "they");
    }
    assert_in_range(story->now_ms, T0 + 2 * RETRY, T0 + 2 * RETRY + RETRY * 22 / 10);
    assert_string_equal(story->written.wanted_by, "");
}

static void test_hand_over__who_was_asked_for_it_keeps_it_for_a_while(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_waiting();

    (void)state;
    lease_want(story->lease, story->now_ms);
    expect_call(story, "GET");
    story->version++;
    answer_lease(story, "", 1, "");
    expect_call(story, "PUT");
    answer_written(story);
    meet_claim(story);
    assert_true(is_leading(story));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resign__writes_that_nobody_holds_it),
        cmocka_unit_test(test_resign__is_over_at_once_for_who_does_not_hold_it),
        cmocka_unit_test(test_resign__waits_for_the_write_in_flight),
        cmocka_unit_test(test_resign__looks_whether_a_lost_write_made_it_the_holder),
        cmocka_unit_test(test_resign__tries_again_and_ends_in_bounded_time),
        cmocka_unit_test(test_resign__ends_even_when_a_request_never_does),
        cmocka_unit_test(test_want__is_written_at_once_for_the_holder_to_see),
        cmocka_unit_test(test_want__does_not_restart_the_wait_for_a_holder_that_died),
        cmocka_unit_test(test_want__writes_at_most_once_a_retry_period),
        cmocka_unit_test(test_want__is_written_again_when_a_renewal_came_between),
        cmocka_unit_test(test_want__is_not_written_over_the_claim_of_another),
        cmocka_unit_test(test_want__is_forgotten_after_a_while),
        cmocka_unit_test(test_hand_over__releases_for_who_wants_it_when_idle),
        cmocka_unit_test(test_hand_over__is_declined_by_who_has_work),
        cmocka_unit_test(test_hand_over__leaves_the_lease_to_the_other_for_a_whole_duration),
        cmocka_unit_test(test_hand_over__takes_back_what_nobody_claims_any_more),
        cmocka_unit_test(test_hand_over__is_not_undone_by_a_release_that_was_lost),
        cmocka_unit_test(test_hand_over__others_leave_a_claimed_lease_for_two_retry_periods),
        cmocka_unit_test(test_hand_over__who_was_asked_for_it_keeps_it_for_a_while),
    };

    return cmocka_run_group_tests_name("lease hand over", tests, NULL, NULL);
}
