/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binder against a simulated API server and a network that loses, delays and reorders.
 *
 * One thread, made-up time; a seed decides everything, a failing seed can be run again. Other
 * schedulers bind the same pods, pods are deleted and made anew under the same name, the server
 * fails before and after it has executed a request, and requests are executed long after the
 * binder has stopped waiting for them.
 */
#include "support/test.h"

#include "topofit/binder.h"
#include "topofit/buf.h"
#include "topofit/jitter.h"

#include <stdlib.h>

#define RECORD "topofit.io/allocation"
#define PODS 9
#define JOBS 24
#define MESSAGES_MAX 4096
#define SEEDS 3000

/* A pod as the server has it. A new generation is a new uid under the same name. */
struct pod {
    unsigned generation;
    bool exists, deleting;
    char node[16], record[16];
};

struct message {
    uint64_t id, execute_ms, answer_ms;
    bool is_post, is_executed, is_answered, answer_is_lost;
    char path[128], body[512]; /* of the request */
    int status;
    char answer[512];
};

struct world {
    struct jitter jitter;
    uint64_t now_ms;
    struct pod pods[PODS];
    struct job {
        struct world *world;
        unsigned pod, generation;
        char record[16];
        bool was_bound; /* the server executed one of its Bindings */
        bool is_done;
        enum bind_outcome outcome;
    } jobs[JOBS];
    size_t job_count;
    struct message *messages;
    size_t message_count;
    unsigned losses; /* percent */
    struct binder *binder;
    unsigned outcomes[3]; /* by enum bind_outcome */
};

static bool chance(struct world *world, unsigned percent)
{
    return jitter_between(&world->jitter, 0, 99) < percent;
}

static bool is_bound_by(const struct world *world, const struct job *job)
{
    const struct pod *pod = &world->pods[job->pod];

    return pod->exists && pod->generation == job->generation &&
           strcmp(pod->record, job->record) == 0;
}

static void on_done(void *ctx, enum bind_outcome outcome, const char *text)
{
    struct job *job = ctx;

    assert_false(job->is_done);
    job->is_done = true;
    job->outcome = outcome;
    job->world->outcomes[outcome]++;
    if (outcome == BIND_BOUND && !job->was_bound)
        fail_msg("BOUND, but the server never executed it");
    if (outcome == BIND_FAILED && is_bound_by(job->world, job))
        fail_msg("FAILED (%s), but it is bound", text);
}

/* --- the server ------------------------------------------------------------------------------ */

/* The text between `before` and the next quote. */
static void cut_out(const char *text, const char *before, char *out, size_t size)
{
    const char *at = strstr(text, before);

    assert_non_null(at);
    at += strlen(before);
    snprintf(out, size, "%.*s", (int)strcspn(at, "\""), at);
}

static void refuse(struct message *message, int status)
{
    message->status = status;
    snprintf(message->answer, sizeof message->answer,
             "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"no\",\"code\":%d}", status);
}

static void execute_binding(struct world *world, struct message *message, struct pod *pod)
{
    char uid[32], own_uid[32], record[16], node[16];

    cut_out(message->body, "\"uid\":\"", uid, sizeof uid);
    cut_out(message->body, "\"" RECORD "\":\"", record, sizeof record);
    cut_out(strstr(message->body, "\"target\""), "\"name\":\"", node, sizeof node);
    snprintf(own_uid, sizeof own_uid, "u%u", pod->generation);
    if (strcmp(uid, own_uid) != 0 || pod->deleting || pod->node[0] != '\0') {
        refuse(message, 409);
        return;
    }
    snprintf(pod->node, sizeof pod->node, "%s", node);
    snprintf(pod->record, sizeof pod->record, "%s", record);
    for (size_t i = 0; i < world->job_count; i++)
        world->jobs[i].was_bound |= strcmp(world->jobs[i].record, record) == 0;
    message->status = 201;
}

static void execute_look(struct message *message, const struct pod *pod)
{
    message->status = 200;
    snprintf(message->answer, sizeof message->answer,
             "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\",\"namespace\":"
             "\"d\",\"uid\":\"u%u\",\"resourceVersion\":\"1\"%s,\"annotations\":{\"" RECORD
             "\":\"%s\"}},\"spec\":{\"containers\":[],\"nodeName\":\"%s\"},\"status\":{}}",
             pod->generation,
             pod->deleting ? ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"" : "", pod->record,
             pod->node);
}

static void execute(struct world *world, struct message *message)
{
    static const int early[] = {401, 403, 429, 500, 503};
    const char *name = strstr(message->path, "/pods/p");
    struct pod *pod = &world->pods[name[strlen("/pods/p")] - '0'];

    message->is_executed = true;
    if (chance(world, world->losses / 2)) {
        refuse(message, early[jitter_between(&world->jitter, 0, ARRAY_LEN(early) - 1)]);
        return;
    }
    if (!pod->exists)
        refuse(message, 404);
    else if (message->is_post)
        execute_binding(world, message, pod);
    else
        execute_look(message, pod);
    if (chance(world, world->losses / 4))
        refuse(message, 504); /* done, but the server does not know it */
}

/* --- the network ----------------------------------------------------------------------------- */

static void transmit(struct world *world, const struct api_request *request)
{
    bool is_lost = chance(world, world->losses);
    struct message *message = &world->messages[world->message_count++];

    assert_true(world->message_count < MESSAGES_MAX);
    *message = (struct message){.id = request->id, .is_post = request->body != NULL};
    snprintf(message->path, sizeof message->path, "%s", request->path);
    if (message->is_post)
        snprintf(message->body, sizeof message->body, "%s", request->body);
    message->execute_ms = world->now_ms + jitter_between(&world->jitter, 1, 20);
    if (chance(world, world->losses / 2)) /* stuck on its way, perhaps beyond the deadline */
        message->execute_ms += jitter_between(&world->jitter, 100, 20000);
    if (is_lost)
        message->execute_ms = UINT64_MAX;
    message->answer_is_lost = is_lost || chance(world, world->losses);
    message->answer_ms = world->now_ms + request->timeout_ms;
    if (!message->answer_is_lost && message->execute_ms + 20 < message->answer_ms)
        message->answer_ms = message->execute_ms + jitter_between(&world->jitter, 0, 20);
    else
        message->answer_is_lost = true;
    if (message->answer_is_lost && chance(world, 50)) /* a reset rather than silence */
        message->answer_ms = world->now_ms + 1;
}

static void deliver(struct world *world)
{
    for (size_t i = 0; i < world->message_count; i++) {
        struct message *message = &world->messages[i];
        struct api_answer answer = {.body = message->answer};

        if (!message->is_executed && message->execute_ms <= world->now_ms)
            execute(world, message);
        if (message->is_answered || message->answer_ms > world->now_ms)
            continue;
        message->is_answered = true;
        answer.status = message->status;
        answer.body_length = strlen(message->answer);
        if (message->answer_is_lost)
            binder_on_loss(world->binder, message->id, true, "lost", world->now_ms);
        else
            binder_on_answer(world->binder, message->id, &answer, world->now_ms);
    }
}

/* --- everybody else -------------------------------------------------------------------------- */

static void meddle(struct world *world)
{
    struct pod *pod = &world->pods[jitter_between(&world->jitter, 0, PODS - 1)];

    if (!chance(world, 1) || !chance(world, 40))
        return;
    if (!pod->exists) {
        *pod = (struct pod){.generation = pod->generation + 1, .exists = true};
    } else if (chance(world, 30) && pod->node[0] == '\0' && !pod->deleting) {
        snprintf(pod->node, sizeof pod->node, chance(world, 50) ? "n0" : "n1");
        snprintf(pod->record, sizeof pod->record, "theirs");
    } else if (chance(world, 50)) {
        pod->deleting = true;
    } else {
        pod->exists = false;
    }
}

static void submit(struct world *world)
{
    struct job *job = &world->jobs[world->job_count];
    unsigned number = (unsigned)jitter_between(&world->jitter, 0, PODS - 1);
    AUTO_FREE char *name = xasprintf("p%u", number);
    AUTO_FREE char *uid = xasprintf("u%u", world->pods[number].generation);
    struct bind_job *bind_job = bind_job_new("d", name, uid, chance(world, 50) ? "n0" : "n1");
    struct error err = {0};

    *job =
        (struct job){.world = world, .pod = number, .generation = world->pods[number].generation};
    snprintf(job->record, sizeof job->record, "ours-%zu", world->job_count++);
    bind_job_add_annotation(bind_job, RECORD, job->record);
    bind_job->record_key = RECORD;
    bind_job->deadline_ms = world->now_ms + 6000;
    bind_job->done = on_done;
    bind_job->ctx = job;
    assert_ok(binder_submit(world->binder, bind_job, world->now_ms, &err), &err);
}

static void run(uint64_t seed, unsigned *outcomes)
{
    struct world world = {.jitter = {seed}, .now_ms = 1000, .losses = (unsigned)(seed % 8) * 8};
    struct api_request request;

    world.messages = xcalloc(MESSAGES_MAX, sizeof *world.messages);
    world.binder = binder_new(JOBS, seed);
    for (size_t i = 0; i < PODS; i++)
        world.pods[i].exists = true;
    while (world.now_ms < 60000) {
        world.now_ms += 10;
        if (world.job_count < JOBS && chance(&world, 2))
            submit(&world);
        if (world.now_ms < 30000)
            meddle(&world);
        deliver(&world);
        while (binder_next_request(world.binder, world.now_ms, &request))
            transmit(&world, &request);
    }
    for (size_t i = 0; i < world.job_count; i++) {
        /* By now everything that was under way has arrived. */
        assert_true(world.jobs[i].is_done);
        if (world.jobs[i].outcome == BIND_FAILED && is_bound_by(&world, &world.jobs[i]))
            fail_msg("FAILED, and bound later");
    }
    for (size_t i = 0; i < 3; i++)
        outcomes[i] += world.outcomes[i];
    binder_free(world.binder);
    free(world.messages);
}

static void test_binder__never_says_bound_or_failed_against_the_truth(void **state)
{
    unsigned outcomes[3] = {0};

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        run(seed, outcomes);
    print_message("bound %u, failed %u, unclear %u\n", outcomes[BIND_BOUND], outcomes[BIND_FAILED],
                  outcomes[BIND_UNCLEAR]);
    assert_true(outcomes[BIND_BOUND] > SEEDS && outcomes[BIND_FAILED] > SEEDS &&
                outcomes[BIND_UNCLEAR] > SEEDS / 10);
}

/* With a network that loses nothing nobody may be left in doubt. */
static void test_binder__is_always_sure_when_nothing_is_lost(void **state)
{
    unsigned outcomes[3] = {0};

    (void)state;
    for (uint64_t seed = 0; seed < 800; seed += 8)
        run(seed, outcomes);
    assert_int_equal(outcomes[BIND_UNCLEAR], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binder__never_says_bound_or_failed_against_the_truth),
        cmocka_unit_test(test_binder__is_always_sure_when_nothing_is_lost),
    };

    return cmocka_run_group_tests_name("binder simulation", tests, NULL, NULL);
}
