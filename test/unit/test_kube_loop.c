/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that talks to the API server: what others hand over to it, and how it ends. */
#include "support/builders.h"
#include "support/stand_in.h"
#include "support/test.h"

#include "topofit/clock.h"
#include "topofit/kube_loop.h"
#include "topofit/mem.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define NOTES_MAX 256u /* events that the loop keeps until it comes round */

/* A loop whose API server answers everything with 404: nothing is ever listed. */
struct story {
    struct stand_in *server;
    struct cluster *cluster;
    struct history *history;
    struct intake *intake;
    struct kube_loop *loop;
    atomic_uint done, reported;
    enum bind_outcome outcome;
    pthread_mutex_t gate; /* the loop waits for it at the end of a job */
};

static void swallow(void *ctx, enum log_level level, const char *text)
{
    (void)ctx, (void)level, (void)text;
}

static struct story *story_new(bool elects)
{
    static const struct lease_options lease = {"n", "t", "us", 15000, 10000, 2000, 0};
    struct story *story = xcalloc(1, sizeof *story);
    struct kube_config config = {0};
    struct error err = {0};

    pthread_mutex_init(&story->gate, NULL);
    story->server = stand_in_start(NULL, 0);
    stand_in_answer(story->server, 404, "{}");
    story->cluster = cluster_new(&test_key);
    story->history = history_new(&test_key);
    story->intake = intake_new(story->cluster, &test_classes, &(struct intake_listener){0});
    config.server = xasprintf("http://127.0.0.1:%u", stand_in_port(story->server));
    config.origin = xstrdup("a test");
    story->loop =
        kube_loop_new(&(struct kube_loop_options){.steal_config = &config,
                                                  .controller = {.intake = story->intake,
                                                                 .cluster = story->cluster,
                                                                 .history = story->history,
                                                                 .binds_max = 2,
                                                                 .lease = elects ? &lease : NULL,
                                                                 .seed = 1},
                                                  .log = swallow},
                      &err);
    assert_ok(story->loop != NULL ? kube_loop_start(story->loop, &err) : -1, &err);
    return story;
}

static void story_free(struct story **place)
{
    kube_loop_free((*place)->loop);
    stand_in_stop((*place)->server);
    intake_free((*place)->intake);
    history_free((*place)->history);
    cluster_free((*place)->cluster);
    pthread_mutex_destroy(&(*place)->gate);
    free(*place);
}

static void bind_job_free_pointer(struct bind_job **place)
{
    bind_job_free(*place);
}

static void on_done(void *ctx, enum bind_outcome outcome, const char *text)
{
    struct story *story = ctx;

    (void)text;
    story->outcome = outcome;
    atomic_fetch_add(&story->done, 1);
    pthread_mutex_lock(&story->gate);
    pthread_mutex_unlock(&story->gate);
}

static int try_submit(struct story *story)
{
    struct bind_job *job = bind_job_new("default", "p", "uid", "n1");
    struct error err = {0};
    int result;

    job->deadline_ms = clock_monotonic_ms() + 60000;
    job->done = on_done;
    job->ctx = story;
    result = kube_loop_submit_bind(story->loop, job, &err);
    if (result < 0)
        bind_job_free(job);
    return result;
}

static void submit(struct story *story)
{
    assert_int_equal(try_submit(story), 0);
}

/* The loop has taken a job over, and stands in its `done`. */
static void hold_in_done(struct story *story)
{
    pthread_mutex_lock(&story->gate);
    submit(story);
    while (atomic_load(&story->done) == 0)
        sched_yield();
}

static void on_report(void *ctx, const struct reconciler_report *report)
{
    struct story *story = ctx;

    assert_null(report); /* nothing can be compared */
    atomic_fetch_add(&story->reported, 1);
}

static void test_check_bind__says_why_not(void **state)
{
    AUTO(story_free) struct story *alone = story_new(false);
    AUTO(story_free) struct story *elected = story_new(true);
    uint64_t term;
    struct error err = {0};

    (void)state;
    assert_int_equal(kube_loop_check_bind(alone->loop, &term, &err), -ERR_BUSY);
    assert_contains(err.text, "listing the pods");
    error_clear(&err);
    assert_int_equal(kube_loop_check_bind(elected->loop, &term, &err), -ERR_BUSY);
    assert_contains(err.text, "not the leader");
}

static void test_submit_bind__fails_a_job_that_may_not_be_sent(void **state)
{
    AUTO(story_free) struct story *story = story_new(true);

    (void)state;
    submit(story);
    kube_loop_stop(story->loop); /* sees all jobs through */
    assert_int_equal(story->done, 1);
    assert_int_equal(story->outcome, BIND_FAILED);
}

static void test_submit_bind__counts_what_the_loop_has_taken_over(void **state)
{
    AUTO(story_free) struct story *story = story_new(true);

    (void)state;
    hold_in_done(story);
    submit(story);
    assert_int_equal(try_submit(story), -ERR_BUSY); /* of two: one is taken over, one waits */
    pthread_mutex_unlock(&story->gate);
    while (atomic_load(&story->done) < 2)
        sched_yield();
    while (try_submit(story) < 0) /* until the loop has come round */
        sched_yield();
}

static void test_reconcile__answers_everybody_at_the_end_and_not_too_many_before(void **state)
{
    AUTO(story_free) struct story *story = story_new(false);
    struct error err = {0};

    (void)state;
    for (unsigned i = 0; i < KUBE_LOOP_ASKERS_MAX; i++)
        assert_int_equal(kube_loop_reconcile(story->loop, on_report, story, &err), 0);
    assert_int_equal(kube_loop_reconcile(story->loop, on_report, story, &err), -ERR_BUSY);
    kube_loop_stop(story->loop);
    assert_int_equal(story->reported, KUBE_LOOP_ASKERS_MAX);
}

static void test_add_event__drops_what_is_too_much_and_counts_it(void **state)
{
    static const struct cluster_event event = {
        .reason = "R", .action = "A", .note = "", .regarding = {KUBE_POD, "d", "p", "u"}};
    AUTO(story_free) struct story *story = story_new(true);
    struct kube_loop_status status;

    (void)state;
    hold_in_done(story);
    for (unsigned i = 0; i < NOTES_MAX + 3; i++)
        kube_loop_add_event(story->loop, &event);
    pthread_mutex_unlock(&story->gate);
    do
        kube_loop_status(story->loop, &status);
    while (status.controller.events.dropped == 0);
    assert_int_equal(status.controller.events.dropped, 3);
}

static void test_stop__leaves_a_loop_that_refuses_and_shows_its_last_status(void **state)
{
    static const struct cluster_event event = {
        .reason = "R", .action = "A", .note = "", .regarding = {KUBE_POD, "d", "p", "u"}};
    AUTO(story_free) struct story *story = story_new(false);
    AUTO(bind_job_free_pointer) struct bind_job *job = bind_job_new("default", "p", "uid", "n1");
    struct kube_loop_status status = {0};
    uint64_t term;
    struct error err = {0};

    (void)state;
    kube_loop_stop(story->loop);
    kube_loop_stop(story->loop);
    assert_int_equal(kube_loop_reconcile(story->loop, on_report, story, &err), -ERR_BUSY);
    error_clear(&err);
    assert_int_equal(kube_loop_submit_bind(story->loop, job, &err), -ERR_BUSY);
    error_clear(&err);
    assert_int_equal(kube_loop_check_bind(story->loop, &term, &err), -ERR_BUSY);
    assert_string_equal(err.text, "topofit is stopping");
    kube_loop_add_event(story->loop, &event);
    kube_loop_status(story->loop, &status);
    assert_true(status.turned_ms > 0 && status.turned_ms <= clock_monotonic_ms());
    assert_int_equal(story->reported, 0);
}

static void test_loop__is_stuck_when_it_does_not_come_round_for_a_minute(void **state)
{
    AUTO(story_free) struct story *story = story_new(false);
    struct kube_loop_status status;

    (void)state;
    kube_loop_status(story->loop, &status);
    assert_false(kube_loop_is_stuck(&status, clock_monotonic_ms()));
    assert_false(kube_loop_is_stuck(&status, status.turned_ms + KUBE_LOOP_STUCK_MS - 1));
    assert_true(kube_loop_is_stuck(&status, status.turned_ms + KUBE_LOOP_STUCK_MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_bind__says_why_not),
        cmocka_unit_test(test_submit_bind__fails_a_job_that_may_not_be_sent),
        cmocka_unit_test(test_submit_bind__counts_what_the_loop_has_taken_over),
        cmocka_unit_test(test_reconcile__answers_everybody_at_the_end_and_not_too_many_before),
        cmocka_unit_test(test_add_event__drops_what_is_too_much_and_counts_it),
        cmocka_unit_test(test_stop__leaves_a_loop_that_refuses_and_shows_its_last_status),
        cmocka_unit_test(test_loop__is_stuck_when_it_does_not_come_round_for_a_minute),
    };

    return cmocka_run_group_tests_name("kube_loop", tests, NULL, NULL);
}
