/* SPDX-License-Identifier: Apache-2.0 */
/* The lease when answers are lost, cannot be used, or say no. */
#include "support/lease_story.h"

#include <limits.h>
#include <stdlib.h>

/* --- a lost take ------------------------------------------------------------------------------ */

static void test_acquire__recognises_its_own_write_whose_answer_was_lost(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_new();

    (void)state;
    expect_call(story, "GET");
    answer_status(story, 404);
    expect_call(story, "POST");
    story->now_ms += 3000;
    drop(story, true);
    assert_false(is_leading(story));
    expect_call(story, "GET");
    answer_as_written(story);
    assert_int_equal(lease_held_until_ms(story->lease), T0 + DEADLINE);
    expect_call(story, "PUT");
    answer_written(story);
    assert_int_equal(lease_held_until_ms(story->lease), T0 + 3000 + DEADLINE);
    assert_int_equal(lease_counters(story->lease)->acquired, 1);
}

static void test_acquire__does_not_count_a_lost_write_that_is_too_old(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_new();

    (void)state;
    expect_call(story, "GET");
    answer_status(story, 404);
    expect_call(story, "POST");
    drop(story, true);
    story->now_ms += DEADLINE;
    expect_call(story, "GET");
    answer_as_written(story);
    assert_int_equal(lease_held_until_ms(story->lease), 0);
    expect_call(story, "PUT");
}

static void test_acquire__a_name_of_any_length_is_waited_for_and_replaced(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_new();
    char holder[2000] = "", wanted_by[2000] = "";

    (void)state;
    memset(holder, 'h', sizeof holder - 1);
    memset(wanted_by, 'w', sizeof wanted_by - 1);
    expect_call(story, "GET");
    answer_lease(story, holder, 1, wanted_by);
    assert_string_equal(lease_problem(story->lease), "");
    wait_for_call(story, "GET");
    answer_lease(story, holder, 1, wanted_by);
    expect_call(story, "PUT");
    answer_written(story);
    assert_true(is_leading(story));
}

/* --- real answers ---------------------------------------------------------------------------- */

static char *captured(const char *name)
{
    AUTO_FREE char *path = xasprintf(TEST_DATA "/captured/api/%s", name);
    AUTO_FREE char *file = test_read_file(path, NULL);
    const char *body = strstr(file, "-> HTTP ");

    return xstrdup(strchr(body, '\n') + 1);
}

static void test_look__answers_decide_as_captured(void **state)
{
    static const struct {
        const char *file;
        int status;
        const char *next; /* at once, or NULL */
        const char *holder, *problem;
    } cases[] = {
        {"lease-200.txt", 200, NULL, "host-a_1", ""},
        {"lease-released-200.txt", 200, "PUT", "", ""},
        {"lease-404.txt", 404, "POST", "", ""},
        {"lease-403.txt", 403, NULL, "", "cannot get resource \"leases\""},
        {"any-401.txt", 401, NULL, "", "HTTP 401"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(lease_story_free) struct lease_story *story = lease_story_new();
        AUTO_FREE char *body = captured(cases[i].file);

        expect_call(story, "GET");
        answer_with(story, cases[i].status, body);
        assert_string_equal(lease_holder(story->lease), cases[i].holder);
        assert_contains(lease_problem(story->lease), cases[i].problem);
        if (cases[i].next != NULL)
            expect_call(story, cases[i].next);
        else
            assert_false(take_request(story));
    }
}

static void test_write__answers_decide_as_captured(void **state)
{
    static const struct {
        const char *file;
        int status;
        const char *problem;
    } cases[] = {
        {"lease-409-changed.txt", 409, ""},
        {"lease-409-deleted.txt", 409, ""},
        {"lease-400-time.txt", 400, "cannot be handled as a Lease"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(lease_story_free) struct lease_story *story = lease_story_leading();
        AUTO_FREE char *body = captured(cases[i].file);

        wait_for_call(story, "PUT");
        answer_with(story, cases[i].status, body);
        assert_contains(lease_problem(story->lease), cases[i].problem);
        assert_int_equal(lease_held_until_ms(story->lease), T0 + DEADLINE);
        wait_for_call(story, "GET");
        assert_int_equal(story->now_ms, T0 + RETRY + (cases[i].status == 409 ? 0 : RETRY));
    }
}

/* A webhook that changes what we write, say. */
static void test_hold__that_was_written_for_nobody_is_tried_again_after_a_pause(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_new();

    (void)state;
    expect_call(story, "GET");
    answer_lease(story, "", 15, "");
    expect_call(story, "PUT");
    answer_lease(story, "", 15, "");
    assert_contains(lease_problem(story->lease), "keeps another: none");
    assert_int_equal(lease_held_until_ms(story->lease), 0);
    wait_for_call(story, "GET");
    assert_true(story->now_ms >= T0 + RETRY);
}

static void test_create__answers_decide_as_captured(void **state)
{
    static const struct {
        const char *file;
        int status;
        const char *problem;
    } cases[] = {
        {"lease-201.txt", 201, ""}, /* it names another: none of ours */
        {"lease-409-exists.txt", 409, ""},
        {"lease-404-namespace.txt", 404, "is there a namespace gpu?"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(lease_story_free) struct lease_story *story = lease_story_new();
        AUTO_FREE char *body = captured(cases[i].file);

        expect_call(story, "GET");
        answer_status(story, 404);
        expect_call(story, "POST");
        answer_with(story, cases[i].status, body);
        assert_contains(lease_problem(story->lease), cases[i].problem);
        assert_false(is_leading(story));
    }
}

/* --- troubles -------------------------------------------------------------------------------- */

static void test_trouble__says_what_the_role_lacks_and_asks_rarely(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_new();
    uint64_t refused_ms;

    (void)state;
    expect_call(story, "GET");
    answer_status(story, 403);
    assert_contains(lease_problem(story->lease), "verbs get, create and update on leases");
    assert_contains(lease_problem(story->lease), "in namespace gpu");
    assert_int_equal(lease_counters(story->lease)->errors, 1);
    for (unsigned times = 1; times < 4; times++) {
        wait_for_call(story, "GET");
        answer_status(story, 403);
    }
    refused_ms = story->now_ms;
    wait_for_call(story, "GET");
    assert_int_equal(story->now_ms, refused_ms + 5 * RETRY);
    answer_lease(story, "they", 15, "");
    assert_string_equal(lease_problem(story->lease), "");
}

/* A server that has just started knows no roles for a moment. */
static void test_trouble__that_may_pass_is_looked_at_again_soon(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_new();

    (void)state;
    expect_call(story, "GET");
    answer_status(story, 403);
    wait_for_call(story, "GET");
    assert_in_range(story->now_ms, T0 + RETRY, T0 + 22 * RETRY / 10);
}

static void test_trouble__says_that_the_namespace_is_missing(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_new();

    (void)state;
    expect_call(story, "GET");
    answer_status(story, 404);
    expect_call(story, "POST");
    answer_with(
        story, 404,
        "{\"kind\":\"Status\",\"message\":\"namespaces \\\"gpu\\\" not found\",\"code\":404}");
    assert_contains(lease_problem(story->lease), "is there a namespace gpu?");
    assert_false(lease_is_unsupported(story->lease));
    wait_for_call(story, "GET");
    assert_int_equal(story->now_ms, T0 + 5 * RETRY);
}

static void test_trouble__of_a_server_that_makes_leases_and_has_none_is_no_election(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_new();

    (void)state;
    expect_call(story, "GET");
    answer_status(story, 404);
    expect_call(story, "POST");
    answer_with(story, 201, "{\"metadata\":{\"name\":\"topofit\"}}");
    assert_false(lease_is_unsupported(story->lease));
    expect_call(story, "GET");
    answer_status(story, 404);
    assert_true(lease_is_unsupported(story->lease));
    assert_contains(lease_problem(story->lease), "let only one topofit run");
}

static void test_trouble__of_a_server_without_leases_is_no_election(void **state)
{
    static const int statuses[] = {404, 405, 501};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        AUTO(lease_story_free) struct lease_story *story = lease_story_new();

        expect_call(story, "GET");
        answer_status(story, 404);
        expect_call(story, "POST");
        answer_status(story, statuses[i]);
        assert_true(lease_is_unsupported(story->lease));
    }
}

static void test_trouble__is_counted_and_tried_again_after_the_retry_period(void **state)
{
    static const int statuses[] = {0, 401, 429, 500, 503};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        AUTO(lease_story_free) struct lease_story *story = lease_story_new();

        expect_call(story, "GET");
        if (statuses[i] == 0)
            drop(story, true);
        else
            answer_status(story, statuses[i]);
        assert_false(take_request(story));
        assert_true(lease_problem(story->lease)[0] != '\0');
        wait_for_call(story, "GET");
        assert_in_range(story->now_ms, T0 + RETRY, T0 + RETRY * 22 / 10);
        assert_int_equal(lease_counters(story->lease)->errors, 1);
    }
}

static void answer_busy(struct lease_story *story, unsigned retry_after_s)
{
    struct api_answer busy = {.status = 429, .retry_after_s = retry_after_s, .body = ""};

    lease_on_answer(story->lease, story->request.id, &busy, story->now_ms);
}

static void test_trouble__waits_as_long_as_the_server_asks_but_not_for_days(void **state)
{
    static const struct {
        unsigned asked_s;
        uint64_t want_ms;
    } cases[] = {{5, 5000}, {86400, 5 * RETRY}, {UINT_MAX, 5 * RETRY}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(lease_story_free) struct lease_story *story = lease_story_new();

        expect_call(story, "GET");
        answer_busy(story, cases[i].asked_s);
        wait_for_call(story, "GET");
        assert_int_equal(story->now_ms, T0 + cases[i].want_ms);
    }
}

static void test_trouble__who_leads_waits_no_longer_than_it_can(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    wait_for_call(story, "PUT");
    answer_busy(story, 60);
    wait_for_call(story, "GET");
    assert_int_equal(story->now_ms, T0 + 2 * RETRY);
    assert_true(is_leading(story));
}

/* A proxy that does not know the API server must not make us create anything. */
static void test_trouble__a_404_of_somebody_else_is_no_absence(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_new();

    (void)state;
    expect_call(story, "GET");
    answer_with(story, 404, "default backend");
    wait_for_call(story, "GET");
    assert_contains(lease_problem(story->lease), "default backend");
}

static void test_trouble__an_answer_that_cannot_be_read_leaves_a_doubt(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    wait_for_call(story, "PUT");
    answer_with(story, 200, "<html>");
    assert_contains(lease_problem(story->lease), "could not be read");
    assert_int_equal(lease_held_until_ms(story->lease), T0 + DEADLINE);
    expect_call(story, "GET");
    answer_as_written(story);
    assert_int_equal(lease_held_until_ms(story->lease), T0 + RETRY + DEADLINE);
}

static void test_trouble__answers_to_other_requests_are_ignored(void **state)
{
    AUTO(lease_story_free) struct lease_story *story = lease_story_leading();

    (void)state;
    wait_for_call(story, "PUT");
    story->request.id--;
    answer_written(story);
    assert_int_equal(lease_held_until_ms(story->lease), T0 + DEADLINE);
    assert_false(take_request(story));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_acquire__recognises_its_own_write_whose_answer_was_lost),
        cmocka_unit_test(test_acquire__a_name_of_any_length_is_waited_for_and_replaced),
        cmocka_unit_test(test_acquire__does_not_count_a_lost_write_that_is_too_old),
        cmocka_unit_test(test_look__answers_decide_as_captured),
        cmocka_unit_test(test_write__answers_decide_as_captured),
        cmocka_unit_test(test_hold__that_was_written_for_nobody_is_tried_again_after_a_pause),
        cmocka_unit_test(test_create__answers_decide_as_captured),
        cmocka_unit_test(test_trouble__says_what_the_role_lacks_and_asks_rarely),
        cmocka_unit_test(test_trouble__that_may_pass_is_looked_at_again_soon),
        cmocka_unit_test(test_trouble__says_that_the_namespace_is_missing),
        cmocka_unit_test(test_trouble__is_counted_and_tried_again_after_the_retry_period),
        cmocka_unit_test(test_trouble__waits_as_long_as_the_server_asks_but_not_for_days),
        cmocka_unit_test(test_trouble__who_leads_waits_no_longer_than_it_can),
        cmocka_unit_test(test_trouble__of_a_server_that_makes_leases_and_has_none_is_no_election),
        cmocka_unit_test(test_trouble__of_a_server_without_leases_is_no_election),
        cmocka_unit_test(test_trouble__a_404_of_somebody_else_is_no_absence),
        cmocka_unit_test(test_trouble__an_answer_that_cannot_be_read_leaves_a_doubt),
        cmocka_unit_test(test_trouble__answers_to_other_requests_are_ignored),
    };

    return cmocka_run_group_tests_name("lease answers", tests, NULL, NULL);
}
