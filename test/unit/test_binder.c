/* SPDX-License-Identifier: Apache-2.0 */
#include "support/binder_story.h"

#include <stdlib.h>

static char *captured(const char *name)
{
    AUTO_FREE char *path = xasprintf(TEST_DATA "/captured/api/%s", name);
    AUTO_FREE char *file = test_read_file(path, NULL);
    const char *body = strstr(file, "HTTP ");

    return xstrdup(strchr(body, '\n') + 1);
}

/* --- the Binding ----------------------------------------------------------------------------- */

static void test_submit__sends_one_binding_with_uid_and_annotations(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = bind_story_new();

    (void)state;
    assert_string_equal(story->path, POD_PATH "/binding?timeout=3000ms");
    assert_contains(story->request.body, "\"uid\":\"uid-1\"");
    assert_contains(story->request.body, "\"" RECORD "\":\"ours\"");
    assert_contains(story->request.body, "\"devices.topofit.io/main\":\"GPU-0\"");
    assert_contains(story->request.body, "\"name\":\"n0\"");
    assert_int_equal(story->request.body_length, strlen(story->request.body));
    assert_int_equal(story->request.timeout_ms, 3000);
    assert_false(next_request(story));
}

static void test_submit__refuses_what_cannot_be_a_pod_or_a_node(void **state)
{
    static const struct {
        const char *namespace, *name, *uid, *node;
    } cases[] = {
        {"", "p", "u", "n"},      {"d", "", "u", "n"},  {"d", "..", "u", "n"},
        {"d", "a/b", "u", "n"},   {"d", "p", "", "n"},  {"d", "p", "u", ""},
        {"d", "p?x=1", "u", "n"}, {"d", "P", "u", "n"}, {"d", "p", "u", "n n"},
        {"../x", "p", "u", "n"},
    };
    struct binder *binder = binder_new(1, 1);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct bind_job *job =
            bind_job_new(cases[i].namespace, cases[i].name, cases[i].uid, cases[i].node);
        struct error err = {0};

        job->done = on_done;
        assert_int_equal(binder_submit(binder, job, T0, &err), -ERR_INVALID);
        bind_job_free(job);
    }
    binder_free(binder);
}

static void test_submit__refuses_annotations_beyond_the_limit(void **state)
{
    struct binder *binder = binder_new(1, 1);
    struct bind_job *job = bind_job_new("d", "p", "u", "n");
    AUTO_FREE char *big = xmalloc(BINDER_BODY_MAX_BYTES);
    struct error err = {0};

    (void)state;
    memset(big, 'x', BINDER_BODY_MAX_BYTES - 1);
    big[BINDER_BODY_MAX_BYTES - 1] = '\0';
    bind_job_add_annotation(job, "a", big);
    job->done = on_done;
    assert_int_equal(binder_submit(binder, job, T0, &err), -ERR_LIMIT);
    bind_job_free(job);
    binder_free(binder);
}

static void test_submit__is_busy_when_all_places_are_taken(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = bind_story_new();
    struct bind_job *one_more = job_new(story);
    struct error err = {0};

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_ok(binder_submit(story->binder, job_new(story), T0, &err), &err);
    assert_int_equal(binder_submit(story->binder, one_more, T0, &err), -ERR_BUSY);
    reply(story, 201, "");
    error_clear(&err);
    assert_ok(binder_submit(story->binder, one_more, T0, &err), &err);
}

static void test_binding__answers_decide_as_captured(void **state)
{
    static const struct {
        const char *file;
        int status;
        enum bind_outcome outcome;
        const char *text;
    } cases[] = {
        {"binding-201.txt", 201, BIND_BOUND, ""},
        {"binding-400-bad-json.txt", 400, BIND_FAILED, "malformed (400)"},
        {"binding-400-timeout.txt", 400, BIND_FAILED, "malformed (400)"},
        {"binding-400-name-mismatch.txt", 400, BIND_FAILED, "malformed (400)"},
        {"binding-403.txt", 403, BIND_FAILED, "create on pods/binding"},
        {"binding-404.txt", 404, BIND_FAILED, "the pod is gone"},
        {"event-422.txt", 422, BIND_FAILED, "invalid (422)"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(bind_story_free) struct bind_story *story = bind_story_new();
        AUTO_FREE char *body = captured(cases[i].file);

        reply(story, cases[i].status, body);
        expect_done(story, cases[i].outcome, cases[i].text);
        assert_false(next_request(story));
    }
}

/* It says no, but now and then the pod is bound all the same. */
static void test_binding__is_looked_after_when_the_server_gave_it_up_in_time(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = bind_story_new();
    AUTO_FREE char *body = captured("binding-504-timeout.txt");

    (void)state;
    reply(story, 504, body);
    assert_true(next_request(story));
    assert_false(story->is_post);
    reply(story, 200, POD("uid-1", NOTED("ours"), ON("n0")));
    expect_done(story, BIND_BOUND, "");
}

/* Whatever leaves a doubt is followed by a look at the pod, at once. */
static void test_binding__is_looked_after_when_its_answer_leaves_a_doubt(void **state)
{
    static const struct {
        int status; /* 0: lost */
        const char *body;
    } cases[] = {
        {0, ""},
        {200, ""},
        {202, ""},
        {301, ""},
        {404, "404 page not found"}, /* not from the API server */
        {403, "<html>proxy</html>"},
        {409, STATUS("409", "Conflict")},
        {500, STATUS("500", "InternalError")},
        {503, "upstream"},
        {504, STATUS("504", "Timeout")},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(bind_story_free) struct bind_story *story = bind_story_new();

        if (cases[i].status == 0)
            lose(story, true);
        else
            reply(story, cases[i].status, cases[i].body);
        assert_int_equal(story->done, 0);
        assert_true(next_request(story));
        assert_false(story->is_post);
        assert_string_equal(story->path, POD_PATH);
    }
}

static void test_binding__that_was_not_executed_is_sent_again_after_a_wait(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        AUTO(bind_story_free) struct bind_story *story = bind_story_new();

        if (i == 0)
            lose(story, false);
        else
            reply(story, i == 1 ? 401 : 429, "");
        assert_false(next_request(story));
        assert_true(wait_for_request(story));
        assert_true(story->is_post);
        assert_in_range(story->now_ms, T0 + 50, T0 + 100);
        assert_int_equal(story->request.fresh_connection, i == 0);
    }
}

static void test_binding__waits_as_long_as_the_server_asks(void **state)
{
    static const char body[] = "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":429,"
                               "\"details\":{\"retryAfterSeconds\":3}}";
    static const struct api_answer busy[] = {
        {.status = 429, .retry_after_s = 3, .body = ""},
        {.status = 429, .body = body, .body_length = sizeof body - 1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(busy); i++) {
        AUTO(bind_story_free) struct bind_story *story = bind_story_new();

        binder_on_answer(story->binder, story->request.id, &busy[i], story->now_ms);
        assert_true(wait_for_request(story));
        assert_int_equal(story->now_ms, T0 + 3000);
    }
}

/* --- the look at the pod --------------------------------------------------------------------- */

static void test_look__decides_by_what_the_pod_says(void **state)
{
    static const struct {
        int status;
        const char *body;
        enum bind_outcome outcome;
        const char *text;
    } cases[] = {
        {404, STATUS("404", "NotFound"), BIND_FAILED, "the pod is gone"},
        {200, POD("uid-2", "", ""), BIND_FAILED, "another one has its name"},
        {200, POD("uid-2", NOTED("ours"), ON("n0")), BIND_FAILED, "another one has its name"},
        {200, POD("uid-1", NOTED("ours"), ON("n0")), BIND_BOUND, ""},
        {200, POD("uid-1", NOTED("theirs"), ON("n0")), BIND_FAILED, "by another Binding"},
        {200, POD("uid-1", "", ON("n0")), BIND_FAILED, "by another Binding"},
        {200, POD("uid-1", NOTED("ours"), ON("n1")), BIND_FAILED, "already bound to node n1"},
        {200, POD("uid-1", ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"", ""), BIND_FAILED,
         "being deleted"},
        {200,
         POD("uid-1", NOTED("ours") ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"", ON("n0")),
         BIND_BOUND, ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(bind_story_free) struct bind_story *story = bind_story_new();

        lose(story, true);
        assert_true(next_request(story));
        reply(story, cases[i].status, cases[i].body);
        expect_done(story, cases[i].outcome, cases[i].text);
    }
}

static void test_look__finds_a_binding_without_a_record_by_its_node(void **state)
{
    struct bind_story story = {.now_ms = T0, .binder = binder_new(1, 1)};
    struct bind_job *job = bind_job_new("default", "p1", "uid-1", "n0");
    struct error err = {0};

    (void)state;
    job->deadline_ms = DEADLINE;
    job->done = on_done;
    job->ctx = &story;
    assert_ok(binder_submit(story.binder, job, T0, &err), &err);
    next_request(&story);
    lose(&story, true);
    next_request(&story);
    reply(&story, 200, POD("uid-1", "", ON("n0")));
    expect_done(&story, BIND_BOUND, "");
    binder_free(story.binder);
}

/* The watch has told of its end already, or will not: whoever ended holds nothing. */
static void test_look__at_a_pod_that_has_ended_finds_it_holding_nothing(void **state)
{
    static const char *const phases[] = {"Succeeded", "Failed"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        AUTO(bind_story_free) struct bind_story *story = bind_story_new();
        AUTO_FREE char *pod = xasprintf(
            "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p1\","
            "\"namespace\":\"default\",\"uid\":\"uid-1\"" NOTED(
                "ours") "},\"spec\":{"
                        "\"containers\":[],\"nodeName\":\"n0\"},\"status\":{\"phase\":\"%s\"}}",
            phases[i]);

        lose(story, true);
        assert_true(next_request(story));
        reply(story, 200, pod);
        expect_done(story, BIND_FAILED, "the pod has ended");
    }
}

static void test_look__at_an_unbound_pod_sends_the_binding_again(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = bind_story_new();

    (void)state;
    lose(story, true);
    next_request(story);
    assert_true(story->request.fresh_connection);
    reply(story, 200, POD("uid-1", "", ""));
    assert_false(next_request(story));
    assert_true(wait_for_request(story));
    assert_true(story->is_post);
    reply(story, 201, "");
    expect_done(story, BIND_BOUND, "");
}

static void test_look__says_gated_only_when_no_binding_may_be_under_way(void **state)
{
    static const char gated[] = POD("uid-1", "", ",\"schedulingGates\":[{\"name\":\"g\"}]");

    (void)state;
    for (int in_doubt = 0; in_doubt <= 1; in_doubt++) {
        AUTO(bind_story_free) struct bind_story *story = bind_story_new();

        if (in_doubt)
            lose(story, true);
        else
            reply(story, 409, STATUS("409", "Conflict"));
        next_request(story);
        reply(story, 200, gated);
        assert_int_equal(story->done, !in_doubt);
    }
}

static void test_look__is_repeated_until_it_can_be_read(void **state)
{
    static const struct {
        int status; /* 0: lost */
        const char *body;
    } cases[] = {
        {0, ""}, {200, "{\"kind\":"}, {403, STATUS("403", "Forbidden")}, {500, ""}, {404, "nginx"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(bind_story_free) struct bind_story *story = bind_story_new();

        lose(story, true);
        next_request(story);
        if (cases[i].status == 0)
            lose(story, true);
        else
            reply(story, cases[i].status, cases[i].body);
        assert_true(wait_for_request(story));
        assert_false(story->is_post);
        reply(story, 200, POD("uid-1", NOTED("ours"), ON("n0")));
        expect_done(story, BIND_BOUND, "");
    }
}

/* A refusal of the second Binding does not tell what the first, lost one did or will do. */
static void test_binding__refused_after_a_lost_one_is_not_taken_for_a_no(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = bind_story_new();

    (void)state;
    lose(story, true);
    next_request(story);
    reply(story, 200, POD("uid-1", "", ""));
    wait_for_request(story);
    assert_true(story->is_post);
    reply(story, 403, STATUS("403", "Forbidden"));
    assert_int_equal(story->done, 0);
    assert_true(next_request(story));
    assert_false(story->is_post);
    reply(story, 200, POD("uid-1", NOTED("ours"), ON("n0")));
    expect_done(story, BIND_BOUND, "");
}

/* --- the deadline ---------------------------------------------------------------------------- */

static void test_deadline__is_unclear_only_if_a_binding_may_have_been_executed(void **state)
{
    static const struct {
        bool answered; /* the Binding was refused for certain, or is still in flight */
        enum bind_outcome outcome;
        const char *text;
    } cases[] = {
        {false, BIND_UNCLEAR, "not known whether"},
        {true, BIND_FAILED, "HTTP 429"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(bind_story_free) struct bind_story *story = bind_story_new();

        if (cases[i].answered)
            reply(story, 429, "");
        story->now_ms = DEADLINE;
        assert_false(next_request(story));
        expect_done(story, cases[i].outcome, cases[i].text);
        reply(story, 201, ""); /* too late: nobody listens any more */
        assert_int_equal(story->done, 1);
    }
}

static void test_deadline__is_never_passed_by_a_request(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = bind_story_new();
    unsigned requests = 0;

    (void)state;
    do {
        assert_true(story->request.timeout_ms > 0);
        assert_true(story->now_ms + story->request.timeout_ms <= DEADLINE);
        story->now_ms += story->request.timeout_ms;
        lose(story, true);
        requests++;
    } while (wait_for_request(story) && story->done == 0);
    expect_done(story, BIND_UNCLEAR, "connection reset");
    assert_true(requests >= 3);
}

static void test_attempts__are_bounded(void **state)
{
    struct bind_story story = {.now_ms = T0, .binder = binder_new(1, 1)};
    struct bind_job *job = job_new(&story);
    struct error err = {0};
    unsigned posts = 0;

    (void)state;
    job->deadline_ms = T0 + 3600000;
    assert_ok(binder_submit(story.binder, job, T0, &err), &err);
    while (wait_for_request(&story)) {
        posts += story.is_post;
        reply(&story, story.is_post ? 409 : 200,
              story.is_post ? STATUS("409", "Conflict") : POD("uid-1", "", ""));
    }
    assert_int_equal(posts, 16);
    expect_done(&story, BIND_FAILED, "the message");
    binder_free(story.binder);
}

static void test_free__ends_every_job_once(void **state)
{
    struct bind_story *story = bind_story_new();
    struct error err = {0};

    (void)state;
    assert_ok(binder_submit(story->binder, job_new(story), T0, &err), &err);
    binder_free(story->binder);
    story->binder = NULL;
    assert_int_equal(story->done, 2);
    assert_int_equal(story->outcome, BIND_FAILED); /* the second one was never sent */
    bind_story_free(&story);
}

static void test_permit__that_ends_before_a_binding_could_holds_it_back(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = bind_story_new();

    (void)state;
    reply(story, 503, STATUS("503", "ServiceUnavailable"));
    assert_true(next_request(story)); /* the look at the pod: there is no doubt afterwards */
    assert_false(story->is_post);
    binder_permit(story->binder, story->now_ms + 199);
    reply(story, 200, POD("uid-1", "", ""));
    assert_false(next_request(story));
    expect_done(story, BIND_UNCLEAR, "not the leader");
}

static void test_permit__lost_before_anything_was_sent_fails_the_job(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = bind_story_new();

    (void)state;
    binder_permit(story->binder, 0);
    lose(story, false);
    assert_false(next_request(story));
    expect_done(story, BIND_FAILED, "not the leader");
}

static void test_permit__bounds_the_time_of_a_binding(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = bind_story_new();

    (void)state;
    lose(story, false);
    binder_permit(story->binder, story->now_ms + 2000);
    assert_true(wait_for_request(story));
    assert_true(story->is_post);
    /* Written at the end of its limit, and executed at the end of the server's. */
    assert_int_equal(story->now_ms + 2 * story->request.timeout_ms, T0 + 2000);
    assert_int_equal(story->request.body_by_ms, story->now_ms + story->request.timeout_ms);
}

static void test_permit__lost_and_given_again_is_none_for_what_was_in_flight(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = bind_story_new();

    (void)state;
    reply(story, 503, STATUS("503", "ServiceUnavailable"));
    assert_true(next_request(story)); /* the look at the pod */
    assert_false(story->is_post);
    binder_permit(story->binder, 0);
    binder_permit(story->binder, UINT64_MAX);
    reply(story, 200, POD("uid-1", "", ""));
    assert_false(next_request(story));
    expect_done(story, BIND_UNCLEAR, "not the leader");
}

static void test_permit__is_not_needed_to_find_out_about_an_earlier_binding(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = bind_story_new();

    (void)state;
    binder_permit(story->binder, 0);
    lose(story, true);
    assert_true(next_request(story));
    assert_false(story->is_post);
    reply(story, 200, POD("uid-1", NOTED("ours"), ON("n0")));
    expect_done(story, BIND_BOUND, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_submit__sends_one_binding_with_uid_and_annotations),
        cmocka_unit_test(test_submit__refuses_what_cannot_be_a_pod_or_a_node),
        cmocka_unit_test(test_submit__refuses_annotations_beyond_the_limit),
        cmocka_unit_test(test_submit__is_busy_when_all_places_are_taken),
        cmocka_unit_test(test_permit__that_ends_before_a_binding_could_holds_it_back),
        cmocka_unit_test(test_permit__lost_before_anything_was_sent_fails_the_job),
        cmocka_unit_test(test_permit__bounds_the_time_of_a_binding),
        cmocka_unit_test(test_permit__lost_and_given_again_is_none_for_what_was_in_flight),
        cmocka_unit_test(test_permit__is_not_needed_to_find_out_about_an_earlier_binding),
        cmocka_unit_test(test_binding__answers_decide_as_captured),
        cmocka_unit_test(test_binding__is_looked_after_when_the_server_gave_it_up_in_time),
        cmocka_unit_test(test_binding__is_looked_after_when_its_answer_leaves_a_doubt),
        cmocka_unit_test(test_binding__that_was_not_executed_is_sent_again_after_a_wait),
        cmocka_unit_test(test_binding__waits_as_long_as_the_server_asks),
        cmocka_unit_test(test_look__decides_by_what_the_pod_says),
        cmocka_unit_test(test_look__finds_a_binding_without_a_record_by_its_node),
        cmocka_unit_test(test_look__at_a_pod_that_has_ended_finds_it_holding_nothing),
        cmocka_unit_test(test_look__at_an_unbound_pod_sends_the_binding_again),
        cmocka_unit_test(test_look__says_gated_only_when_no_binding_may_be_under_way),
        cmocka_unit_test(test_look__is_repeated_until_it_can_be_read),
        cmocka_unit_test(test_binding__refused_after_a_lost_one_is_not_taken_for_a_no),
        cmocka_unit_test(test_deadline__is_unclear_only_if_a_binding_may_have_been_executed),
        cmocka_unit_test(test_deadline__is_never_passed_by_a_request),
        cmocka_unit_test(test_attempts__are_bounded),
        cmocka_unit_test(test_free__ends_every_job_once),
    };

    return cmocka_run_group_tests_name("binder", tests, NULL, NULL);
}
