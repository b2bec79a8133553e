/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event queue against a simulated API server and a network that loses and delays.
 *
 * One thread, made-up time; a seed decides everything, a failing seed can be run again. The server
 * keeps the Events by name with their counts, so that what people would see can be compared with
 * what happened: each occurrence is counted once, or known to be dropped.
 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/event_queue.h"
#include "topofit/jitter.h"

#include <stdlib.h>

#define SEEDS 400
#define STEPS 4000
#define SUBJECTS_MAX 3000
#define EVENTS_MAX 4000
#define MESSAGES_MAX 16 /* under way at once: in flight, or stuck after they were given up */
#define UNIX_MS 1767225600000u

struct kind_of_world {
    unsigned subjects, notes;
    unsigned adds;             /* percent of steps with an occurrence */
    unsigned losses, refusals; /* percent of requests */
    bool expires;              /* Events vanish after their time, or before */
    unsigned burst, per_second;
};

/* An Event as the server has it. */
struct event {
    char name[32];
    unsigned subject, note;
    uint64_t count;
    bool exists;
};

struct message {
    uint64_t id, execute_ms, answer_ms;
    bool is_under_way, is_executed, is_lost, is_given_up;
    bool is_post;
    unsigned subject, note;
    uint64_t count;
    char name[32];
    int status;
    char answer[300];
};

struct world {
    struct kind_of_world kind;
    struct jitter jitter;
    uint64_t now_ms, unix_ms;
    struct event *events;
    size_t event_count;
    struct message messages[MESSAGES_MAX];
    size_t in_flight;
    unsigned last_note[SUBJECTS_MAX];
    uint64_t happened[SUBJECTS_MAX];
    uint64_t requests, level; /* of a bucket that may not run over, in thousandths */
    uint64_t level_ms;
    struct event_queue *queue;
};

static bool chance(struct world *world, unsigned percent)
{
    return jitter_between(&world->jitter, 0, 99) < percent;
}

static unsigned below(struct world *world, unsigned limit)
{
    return (unsigned)jitter_between(&world->jitter, 0, limit - 1);
}

/* --- the server ------------------------------------------------------------------------------ */

static void refuse(struct message *message, int status, const char *reason, const char *cause)
{
    message->status = status;
    snprintf(message->answer, sizeof message->answer,
             "{\"kind\":\"Status\",\"message\":\"no\",\"reason\":\"%s\",\"details\":{\"causes\":["
             "{\"reason\":\"%s\"}]},\"code\":%d}",
             reason, cause, status);
}

static struct event *find_event(struct world *world, const char *name)
{
    for (size_t i = world->event_count; i > 0; i--) {
        if (strcmp(world->events[i - 1].name, name) == 0)
            return &world->events[i - 1];
    }
    return NULL;
}

static void execute_post(struct world *world, struct message *message)
{
    if (find_event(world, message->name) != NULL) {
        refuse(message, 409, "AlreadyExists", "");
        return;
    }
    assert_true(world->event_count < EVENTS_MAX);
    world->events[world->event_count] = (struct event){
        .subject = message->subject,
        .note = message->note,
        .count = message->count,
        .exists = true,
    };
    memcpy(world->events[world->event_count++].name, message->name, sizeof message->name);
    message->status = 201;
}

static void execute_patch(struct world *world, struct message *message)
{
    struct event *event = find_event(world, message->name);

    assert_non_null(event);
    if (!event->exists || (world->kind.expires && chance(world, 20))) {
        event->exists = false;
        refuse(message, 404, "NotFound", "");
        return;
    }
    assert_true(message->count >= 2 && message->count >= event->count);
    event->count = message->count;
    message->status = 200;
}

static void refuse_somehow(struct world *world, struct message *message)
{
    static const struct {
        int status;
        const char *reason, *cause;
    } refusals[] = {
        {401, "Unauthorized", ""},    {403, "Forbidden", "NamespaceTerminating"},
        {403, "Forbidden", ""},       {422, "Invalid", "FieldValueInvalid"},
        {429, "TooManyRequests", ""}, {429, "TooManyRequests", ""},
        {500, "InternalError", ""},   {503, "ServiceUnavailable", ""},
        {409, "Conflict", ""},        {502, "", ""},
    };
    unsigned which = below(world, ARRAY_LEN(refusals));

    refuse(message, refusals[which].status, refusals[which].reason, refusals[which].cause);
    if (chance(world, 20))
        message->answer[0] = '\0'; /* by a proxy */
}

static void execute(struct world *world, struct message *message)
{
    message->is_executed = true;
    if (chance(world, world->kind.refusals)) {
        refuse_somehow(world, message);
        return;
    }
    if (message->is_post)
        execute_post(world, message);
    else if (!message->is_given_up)
        execute_patch(world, message);
    if (chance(world, world->kind.losses / 4))
        refuse(message, 504, "Timeout", ""); /* done, but the server does not know it */
}

/* --- the network ----------------------------------------------------------------------------- */

static uint64_t number_behind(const char *text, const char *before, uint64_t otherwise)
{
    const char *at = strstr(text, before);

    return at != NULL ? strtoull(at + strlen(before), NULL, 10) : otherwise;
}

static void read_request(struct message *message, const struct api_request *request)
{
    const char *name = strrchr(request->path, '/') + 1;

    message->is_post = strcmp(request->method, "POST") == 0;
    if (message->is_post) {
        name = strstr(request->body, "\"name\":\"") + strlen("\"name\":\"");
        message->note = (unsigned)number_behind(request->body, "\"note\":\"", 0);
    }
    message->subject = (unsigned)number_behind(name, "p", 0);
    message->count = number_behind(request->body, "\"count\":", 1);
    snprintf(message->name, sizeof message->name, "%.*s", (int)strcspn(name, "\""), name);
}

static void check_rate(struct world *world)
{
    uint64_t drained = (world->now_ms - world->level_ms) * world->kind.per_second;

    world->level = world->level > drained ? world->level - drained : 0;
    world->level += 1000;
    world->level_ms = world->now_ms;
    if (world->level > world->kind.burst * 1000u)
        fail_msg("request %llu is too early", (unsigned long long)world->requests);
    world->requests++;
}

static void check_flight(const struct world *world, const struct message *added)
{
    assert_in_range(world->in_flight, 1, EVENT_IN_FLIGHT_MAX);
    for (size_t i = 0; i < MESSAGES_MAX; i++) {
        const struct message *other = &world->messages[i];

        if (other != added && other->is_under_way && !other->is_given_up &&
            other->subject == added->subject)
            fail_msg("two requests of one key are in flight");
    }
}

static void transmit(struct world *world, const struct api_request *request)
{
    struct message *message = world->messages;

    while (message->is_under_way)
        message++;
    assert_true(message < world->messages + MESSAGES_MAX);
    *message = (struct message){.id = request->id, .is_under_way = true};
    read_request(message, request);
    message->execute_ms = world->now_ms + below(world, 20);
    message->is_lost = chance(world, world->kind.losses);
    message->answer_ms = message->execute_ms + below(world, 20);
    if (message->is_lost && chance(world, 50))
        message->execute_ms = UINT64_MAX;
    else if (message->is_lost && chance(world, 20)) /* stuck: executed when nobody waits for it */
        message->execute_ms += 10 + below(world, 2000);
    world->in_flight++;
    check_rate(world);
    check_flight(world, message);
}

static void answer(struct world *world, struct message *message)
{
    struct api_answer answer = {
        .status = message->status,
        .body = message->answer,
        .body_length = strlen(message->answer),
        .retry_after_s = message->status == 429 ? below(world, 20) : 0,
    };

    world->in_flight--;
    message->is_given_up = true;
    if (message->is_lost)
        event_queue_on_loss(world->queue, message->id, message->execute_ms != UINT64_MAX, "lost",
                            world->now_ms);
    else
        event_queue_on_answer(world->queue, message->id, &answer, world->now_ms);
}

static void deliver(struct world *world)
{
    for (size_t i = 0; i < MESSAGES_MAX; i++) {
        struct message *message = &world->messages[i];

        if (!message->is_under_way)
            continue;
        if (!message->is_executed && message->execute_ms <= world->now_ms)
            execute(world, message);
        if (!message->is_given_up && message->answer_ms <= world->now_ms)
            answer(world, message);
        if (message->is_given_up && (message->is_executed || message->execute_ms == UINT64_MAX))
            message->is_under_way = false;
    }
}

/* --- what happens ---------------------------------------------------------------------------- */

static void happen(struct world *world)
{
    unsigned subject = below(world, world->kind.subjects);
    AUTO_FREE char *name = xasprintf("p%u", subject);
    char note[16];
    struct cluster_event event = {true, "R", "A", note, {KUBE_POD, "d", name, "u"}};

    if (chance(world, 20))
        world->last_note[subject] = below(world, world->kind.notes);
    snprintf(note, sizeof note, "%u", world->last_note[subject]);
    world->happened[subject]++;
    event_queue_add(world->queue, &event, (struct moment){world->now_ms, world->unix_ms});
}

static void pass_time(struct world *world)
{
    uint64_t ms = 1 + below(world, 30);

    if (chance(world, 1))
        ms = 1 + below(world, chance(world, 10) ? 40 * 60000 : 60000);
    world->now_ms += ms;
    world->unix_ms += ms;
    if (chance(world, 1)) /* somebody sets the clock */
        world->unix_ms = UNIX_MS + below(world, 100000000);
}

static void send_all(struct world *world)
{
    struct moment now = {world->now_ms, world->unix_ms};
    struct api_request request;

    while (event_queue_next_request(world->queue, now, &request))
        transmit(world, &request);
    assert_true(event_queue_next_due_ms(world->queue) > world->now_ms);
}

static void check_counters(const struct world *world)
{
    const struct event_queue_counters *counters = event_queue_counters(world->queue);

    assert_int_equal(counters->added,
                     counters->written + counters->folded + counters->dropped + counters->untold);
    assert_in_range(counters->waiting, 0, counters->keys);
    assert_in_range(counters->keys, 0, EVENT_QUEUE_MAX);
    assert_int_equal(event_queue_is_idle(world->queue), counters->waiting == 0);
}

static void take_step(struct world *world)
{
    pass_time(world);
    deliver(world);
    if (chance(world, world->kind.adds))
        happen(world);
    send_all(world);
    check_counters(world);
}

/* Nothing happens any more: everything is told, and then forgotten. */
static void come_to_an_end(struct world *world)
{
    const struct event_queue_counters *counters = event_queue_counters(world->queue);

    world->kind.adds = 0;
    for (unsigned i = 0; counters->keys > 0; i++) {
        uint64_t due_ms = event_queue_next_due_ms(world->queue);

        if (i == 200000)
            fail_msg("%zu keys are never forgotten", counters->keys);
        if (world->in_flight == 0) {
            world->unix_ms += due_ms - world->now_ms;
            world->now_ms = due_ms;
        }
        take_step(world);
    }
    assert_int_equal(counters->untold, 0);
    assert_int_equal(event_queue_next_due_ms(world->queue), UINT64_MAX);
}

/* --- what people see ------------------------------------------------------------------------- */

/* Each occurrence that was told is seen, and none is seen twice. */
static void check_sum_of_counts(const struct world *world)
{
    const struct event_queue_counters *counters = event_queue_counters(world->queue);
    uint64_t seen = 0;

    for (size_t i = 0; i < world->event_count; i++)
        seen += world->events[i].count;
    assert_in_range(seen, counters->written + counters->folded, counters->added);
}

/* With nothing dropped, the count is right for each subject, and the last Event has the last note.
 */
static void check_each_subject(const struct world *world)
{
    assert_int_equal(event_queue_counters(world->queue)->dropped, 0);
    for (unsigned subject = 0; subject < world->kind.subjects; subject++) {
        const struct event *last = NULL;
        uint64_t seen = 0;

        for (size_t i = 0; i < world->event_count; i++) {
            if (world->events[i].subject != subject)
                continue;
            last = &world->events[i];
            seen += last->count;
        }
        assert_int_equal(seen, world->happened[subject]);
        if (last != NULL)
            assert_int_equal(last->note, world->last_note[subject]);
    }
}

static struct event_queue_counters run(uint64_t seed, const struct kind_of_world *kind)
{
    const struct event_queue_options options = {"c.d/e",          "i",      kind->burst,
                                                kind->per_second, test_key, seed};
    struct event_queue_counters counters;
    struct world *world = xcalloc(1, sizeof *world);

    *world = (struct world){.kind = *kind, .jitter = {seed}, .now_ms = seed, .unix_ms = UNIX_MS};
    world->level_ms = world->now_ms;
    world->events = xcalloc(EVENTS_MAX, sizeof *world->events);
    world->queue = event_queue_new(&options);
    for (unsigned i = 0; i < STEPS; i++)
        take_step(world);
    come_to_an_end(world);
    if (!kind->expires)
        check_sum_of_counts(world);
    if (kind->losses + kind->refusals == 0 && !kind->expires && kind->subjects < 100)
        check_each_subject(world);
    counters = *event_queue_counters(world->queue);
    event_queue_free(world->queue);
    free(world->events);
    free(world);
    return counters;
}

static struct event_queue_counters run_all(const struct kind_of_world *kind, unsigned seeds)
{
    struct event_queue_counters sum = {0};

    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct event_queue_counters counters = run(seed, kind);

        sum.added += counters.added;
        sum.written += counters.written;
        sum.folded += counters.folded;
        sum.dropped += counters.dropped;
        sum.errors += counters.errors;
    }
    print_message("%llu added: %llu written, %llu folded, %llu dropped; %llu errors\n",
                  (unsigned long long)sum.added, (unsigned long long)sum.written,
                  (unsigned long long)sum.folded, (unsigned long long)sum.dropped,
                  (unsigned long long)sum.errors);
    return sum;
}

static void test_event_queue__tells_everything_when_nothing_fails(void **state)
{
    const struct kind_of_world kind = {
        .subjects = 12, .notes = 3, .adds = 30, .burst = 5, .per_second = 3};
    struct event_queue_counters sum = run_all(&kind, SEEDS);

    (void)state;
    assert_int_equal(sum.errors, 0);
    assert_true(sum.folded > sum.written && sum.written > SEEDS * 100);
}

static void test_event_queue__counts_nothing_twice_when_answers_are_lost(void **state)
{
    const struct kind_of_world kind = {
        .subjects = 12, .notes = 3, .adds = 30, .losses = 40, .burst = 20, .per_second = 10};
    struct event_queue_counters sum = run_all(&kind, SEEDS);

    (void)state;
    assert_true(sum.errors > SEEDS * 10 && sum.written > sum.errors / 2);
}

static void test_event_queue__adds_up_against_a_server_that_refuses(void **state)
{
    const struct kind_of_world kind = {.subjects = 40,
                                       .notes = 3,
                                       .adds = 30,
                                       .losses = 20,
                                       .refusals = 20,
                                       .expires = true,
                                       .burst = 20,
                                       .per_second = 10};
    struct event_queue_counters sum = run_all(&kind, SEEDS);

    (void)state;
    assert_true(sum.dropped > SEEDS && sum.written > SEEDS * 10);
}

static void test_event_queue__stays_within_its_memory_in_a_flood(void **state)
{
    const struct kind_of_world kind = {.subjects = SUBJECTS_MAX,
                                       .notes = 2,
                                       .adds = 100,
                                       .losses = 5,
                                       .burst = 20,
                                       .per_second = 5};
    struct event_queue_counters sum = run_all(&kind, SEEDS / 20);

    (void)state;
    assert_true(sum.dropped > SEEDS && sum.written > SEEDS * 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_event_queue__tells_everything_when_nothing_fails),
        cmocka_unit_test(test_event_queue__counts_nothing_twice_when_answers_are_lost),
        cmocka_unit_test(test_event_queue__adds_up_against_a_server_that_refuses),
        cmocka_unit_test(test_event_queue__stays_within_its_memory_in_a_flood),
    };

    return cmocka_run_group_tests_name("event queue simulation", tests, NULL, NULL);
}
