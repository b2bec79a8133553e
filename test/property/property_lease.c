/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several leases against a simulated Lease object and a network that loses, delays and reorders.
 *
 * One thread, made-up time; a seed decides everything, a failing seed can be run again. Requests
 * are executed long after their sender stopped waiting, processes stop for longer than a term, are
 * killed and started again under another identity, resign, and are asked for work; their monotonic
 * clocks start anywhere, their wall clocks jump or stand still.
 * The monotonic clocks run at different rates, within what the margin between renew deadline and
 * duration allows. Nobody deletes the Lease: the
 * promise does not cover that.
 */
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/jitter.h"
#include "topofit/lease.h"
#include "topofit/lease_json.h"

#include <stdlib.h>

#define MACHINES_MAX 3
#define MESSAGES_MAX 64
#define SEEDS 4000

#define DURATION 15000u
#define DEADLINE 10000u
#define RETRY 2000u
#define TIMEOUT_MAX (DEADLINE / 3)
#define CHAOS_MS 60000u
#define CHAOS_TICK_MS 300u
#define DRIFT_PERMILLE 50u /* of the clocks; far more than real ones */
#define LATENCY_MAX_MS 40u /* when all is well, there and back */

/* By a slow clock. */
#define DRIFTED(ms) ((ms) * (1000 + 2 * DRIFT_PERMILLE) / 1000)

/* Somebody leads again so long after the last trouble. */
#define LEADERLESS_MAX_MS DRIFTED(TIMEOUT_MAX + DURATION + 2 * RETRY * 22 / 10 + 4 * LATENCY_MAX_MS)
/* Who wants to lead and meets an idle leader does so long after. */
#define HAND_OVER_MAX_MS DRIFTED(3 * RETRY + 8 * LATENCY_MAX_MS)

struct machine {
    struct lease *lease; /* NULL: not running */
    unsigned incarnation;
    uint64_t clock_ms, permille; /* its monotonic clock is so much ahead, and so fast */
    uint64_t asleep_until_ms, start_at_ms;
    uint64_t wall_ms; /* added to its monotonic time; or the time itself */
    bool wall_stands;
};

struct message {
    unsigned machine, incarnation;
    uint64_t id, execute_ms, answer_ms; /* UINT64_MAX: never */
    bool answer_is_lost;
    char method;
    char *body;
    int status;
    char *answer;
};

struct world {
    struct jitter jitter;
    uint64_t now_ms, chaos_ms;
    bool is_calm;
    struct machine machines[MACHINES_MAX];
    unsigned machine_count, losses; /* percent */
    struct message messages[MESSAGES_MAX];
    unsigned version; /* of the Lease; 0: there is none */
    struct lease_record record;
    uint64_t seed;
};

static struct totals {
    uint64_t acquired, lost, handed_over, resigned, slept_over, worst_ms, requests;
} totals;

static bool chance(struct world *world, unsigned percent)
{
    return jitter_between(&world->jitter, 0, 99) < percent;
}

static uint64_t between(struct world *world, uint64_t min, uint64_t max)
{
    return jitter_between(&world->jitter, min, max);
}

static uint64_t clock_of(const struct world *world, const struct machine *machine)
{
    return world->now_ms * machine->permille / 1000 + machine->clock_ms;
}

/* The first time of the world at which its clock shows that. */
static uint64_t time_of(const struct machine *machine, uint64_t clock_ms)
{
    if (clock_ms == UINT64_MAX)
        return UINT64_MAX;
    return clock_ms <= machine->clock_ms
               ? 0
               : ((clock_ms - machine->clock_ms) * 1000 + machine->permille - 1) /
                     machine->permille;
}

static bool is_awake(const struct world *world, const struct machine *machine)
{
    return machine->lease != NULL && machine->asleep_until_ms <= world->now_ms;
}

static bool is_leading(const struct world *world, const struct machine *machine)
{
    return machine->lease != NULL && lease_held_until_ms(machine->lease) > clock_of(world, machine);
}

static struct machine *find_leader(struct world *world)
{
    for (unsigned i = 0; i < world->machine_count; i++) {
        if (is_leading(world, &world->machines[i]))
            return &world->machines[i];
    }
    return NULL;
}

/* --- the promise ----------------------------------------------------------------------------- */

static void check_promise(const struct world *world)
{
    unsigned leaders = 0;

    for (unsigned i = 0; i < world->machine_count; i++)
        leaders += is_leading(world, &world->machines[i]);
    if (leaders > 1)
        fail_msg("seed %lu: %u leaders at %lu ms", (unsigned long)world->seed, leaders,
                 (unsigned long)world->now_ms);
}

/* --- the server ------------------------------------------------------------------------------ */

static void refuse(struct message *message, int status)
{
    message->status = status;
    message->answer = xasprintf("{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"no\","
                                "\"code\":%d}",
                                status);
}

static void answer_record(struct world *world, struct message *message)
{
    struct buf out = buf_with_max(LEASE_JSON_MAX_BYTES);
    AUTO_FREE char *version = xasprintf("%u", world->version);
    struct lease_view view = lease_record_view(&world->record);

    view.resource_version = version;
    view.uid = "uid-1";
    lease_json_write(&out, &view);
    message->status = message->method == 'C' ? 201 : 200;
    message->answer = buf_steal(&out);
}

static struct lease_record read_body(const struct message *message)
{
    struct lease_record record = {0};
    struct error err = {0};
    AUTO_FREE char *body = NULL;

    /* What is made has no version yet. */
    body = message->method == 'P' ? xstrdup(message->body)
                                  : xasprintf("{\"metadata\":{\"resourceVersion\":\"0\",%s",
                                              strstr(message->body, "\"name\":"));
    assert_ok(lease_json_read(body, strlen(body), &record, &err), &err);
    return record;
}

static void execute_write(struct world *world, struct message *message)
{
    AUTO(lease_record_clear) struct lease_record record = read_body(message);
    unsigned based_on = (unsigned)strtoul(record.meta.resource_version, NULL, 10);

    if (based_on != world->version) {
        refuse(message, 409);
        return;
    }
    lease_record_clear(&world->record);
    world->record = record;
    record = (struct lease_record){0};
    world->version++;
    answer_record(world, message);
}

static void execute(struct world *world, struct message *message)
{
    static const int early[] = {401, 429, 500, 503};

    message->execute_ms = UINT64_MAX;
    if (chance(world, world->losses / 3))
        refuse(message, early[between(world, 0, ARRAY_LEN(early) - 1)]);
    else if (message->method != 'G')
        execute_write(world, message);
    else if (world->version == 0)
        refuse(message, 404);
    else
        answer_record(world, message);
    if (chance(world, world->losses / 4)) { /* done, but the server does not know it */
        free(message->answer);
        refuse(message, 504);
    }
}

/* --- the network ----------------------------------------------------------------------------- */

static bool is_over(const struct message *message)
{
    return message->execute_ms == UINT64_MAX && message->answer_ms == UINT64_MAX;
}

static struct message *free_message(struct world *world)
{
    for (size_t i = 0; i < MESSAGES_MAX; i++) {
        struct message *message = &world->messages[i];

        if (!is_over(message))
            continue;
        free(message->body);
        free(message->answer);
        return message;
    }
    fail_msg("too many messages");
    return NULL;
}

static void choose_fate(struct world *world, struct message *message, uint64_t timeout_ms)
{
    uint64_t now_ms = world->now_ms, answer_ms;
    bool is_lost = chance(world, world->losses);

    message->execute_ms = now_ms + between(world, 1, LATENCY_MAX_MS / 2);
    if (chance(world, world->losses / 2)) /* stuck on its way, perhaps beyond the term */
        message->execute_ms += between(world, 100, 25000);
    answer_ms = message->execute_ms + between(world, 0, LATENCY_MAX_MS / 2);
    message->answer_is_lost =
        is_lost || chance(world, world->losses) || answer_ms > now_ms + timeout_ms;
    message->answer_ms = answer_ms;
    if (is_lost)
        message->execute_ms = UINT64_MAX;
    if (message->answer_is_lost) /* a reset rather than silence */
        message->answer_ms = now_ms + (chance(world, 50) ? 1 : timeout_ms);
}

static void transmit(struct world *world, unsigned machine, const struct api_request *request)
{
    struct message *message = free_message(world);

    totals.requests++;
    *message = (struct message){
        .machine = machine,
        .incarnation = world->machines[machine].incarnation,
        .id = request->id,
        .method = request->method[0] == 'P' && request->method[1] == 'O' ? 'C' : request->method[0],
        .body = request->body == NULL ? NULL : xstrdup(request->body),
    };
    choose_fate(world, message, request->timeout_ms);
}

static void deliver(struct world *world, struct message *message)
{
    struct machine *machine = &world->machines[message->machine];
    uint64_t now_ms = clock_of(world, machine);
    struct api_answer answer = {.status = message->status, .body = message->answer};

    message->answer_ms = UINT64_MAX;
    if (machine->lease == NULL || machine->incarnation != message->incarnation)
        return;
    if (message->answer_is_lost || message->answer == NULL) {
        lease_on_loss(machine->lease, message->id, true, "lost", now_ms);
        return;
    }
    answer.body_length = strlen(message->answer);
    lease_on_answer(machine->lease, message->id, &answer, now_ms);
}

/* An answer waits for who is asleep. */
static uint64_t arrival_ms(const struct world *world, const struct message *message)
{
    const struct machine *machine = &world->machines[message->machine];

    return message->answer_ms > machine->asleep_until_ms || message->answer_ms == UINT64_MAX
               ? message->answer_ms
               : machine->asleep_until_ms;
}

static void move_messages(struct world *world)
{
    for (size_t i = 0; i < MESSAGES_MAX; i++) {
        struct message *message = &world->messages[i];

        if (message->execute_ms <= world->now_ms)
            execute(world, message);
        if (arrival_ms(world, message) <= world->now_ms)
            deliver(world, message);
        check_promise(world);
    }
}

/* --- the machines ---------------------------------------------------------------------------- */

static void start(struct world *world, unsigned index)
{
    struct machine *machine = &world->machines[index];
    AUTO_FREE char *identity = xasprintf("m%u-%u", index, ++machine->incarnation);
    struct lease_options options = {
        "gpu", "topofit", identity, DURATION, DEADLINE, RETRY, between(world, 0, UINT64_MAX)};

    machine->lease = lease_new(&options);
    machine->clock_ms = between(world, 0, 100000);
    machine->permille = between(world, 1000 - DRIFT_PERMILLE, 1000 + DRIFT_PERMILLE);
    machine->asleep_until_ms = 0;
}

static void stop(struct world *world, struct machine *machine)
{
    const struct lease_counters *counters = lease_counters(machine->lease);

    totals.acquired += counters->acquired;
    totals.lost += counters->lost;
    totals.handed_over += counters->handed_over;
    lease_free(machine->lease);
    machine->lease = NULL;
    machine->start_at_ms = world->now_ms + (chance(world, 50) ? 0 : between(world, 0, 20000));
}

static struct moment moment_of(const struct world *world, const struct machine *machine)
{
    uint64_t clock_ms = clock_of(world, machine);

    return (struct moment){clock_ms, machine->wall_ms + (machine->wall_stands ? 0 : clock_ms)};
}

static void pump(struct world *world, unsigned index)
{
    struct machine *machine = &world->machines[index];
    uint64_t now_ms = clock_of(world, machine);
    uint64_t held_ms = lease_held_until_ms(machine->lease);
    struct api_request request;
    bool is_sending;

    do {
        is_sending = lease_next_request(machine->lease, moment_of(world, machine), &request);
        if (is_sending)
            transmit(world, index, &request);
    } while (is_sending);
    if (held_ms > 0 && held_ms <= now_ms) {
        assert_int_equal(lease_held_until_ms(machine->lease), 0);
        totals.slept_over++;
    }
    assert_true(lease_next_due_ms(machine->lease) > now_ms);
    if (lease_is_resigned(machine->lease)) {
        totals.resigned++;
        stop(world, machine);
    }
}

static void run_machines(struct world *world)
{
    for (unsigned i = 0; i < world->machine_count; i++) {
        struct machine *machine = &world->machines[i];

        if (machine->lease == NULL && machine->start_at_ms <= world->now_ms)
            start(world, i);
        if (is_awake(world, machine))
            pump(world, i);
        check_promise(world);
    }
}

/* --- trouble --------------------------------------------------------------------------------- */

static void set_wall_clock(struct world *world, struct machine *machine)
{
    machine->wall_stands = chance(world, 40);
    machine->wall_ms = 1700000000000u + between(world, 0, 3) * 3600000u;
}

static void trouble(struct world *world)
{
    unsigned index = (unsigned)between(world, 0, world->machine_count - 1);
    struct machine *machine = &world->machines[index];

    if (!is_awake(world, machine))
        return;
    if (chance(world, 15)) /* the leader is of more interest */
        machine = find_leader(world) != NULL ? find_leader(world) : machine;
    if (!is_awake(world, machine))
        return;
    if (chance(world, 2))
        stop(world, machine);
    else if (chance(world, 2))
        lease_resign(machine->lease, clock_of(world, machine));
    else if (chance(world, 4))
        machine->asleep_until_ms = world->now_ms + between(world, 10, 25000);
    else if (chance(world, 5))
        set_wall_clock(world, machine);
    else if (chance(world, 40))
        lease_want(machine->lease, clock_of(world, machine));
    else if (chance(world, 5) && is_leading(world, machine))
        lease_note_work(machine->lease, clock_of(world, machine));
}

/* --- time ------------------------------------------------------------------------------------ */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t next_of_machine(const struct world *world, const struct machine *machine)
{
    if (machine->lease == NULL)
        return machine->start_at_ms;
    if (!is_awake(world, machine))
        return machine->asleep_until_ms;
    return time_of(machine, lease_next_due_ms(machine->lease));
}

static void step(struct world *world, uint64_t until_ms)
{
    uint64_t next_ms = until_ms;

    for (unsigned i = 0; i < world->machine_count; i++)
        next_ms = least(next_ms, next_of_machine(world, &world->machines[i]));
    for (size_t i = 0; i < MESSAGES_MAX; i++) {
        next_ms = least(next_ms, world->messages[i].execute_ms);
        next_ms = least(next_ms, arrival_ms(world, &world->messages[i]));
    }
    if (!world->is_calm)
        next_ms = least(next_ms, world->chaos_ms);
    if (next_ms > world->now_ms)
        world->now_ms = next_ms;
    move_messages(world);
    if (!world->is_calm && world->chaos_ms <= world->now_ms) {
        trouble(world);
        world->chaos_ms = world->now_ms + between(world, 1, 2 * CHAOS_TICK_MS);
    }
    run_machines(world);
}

static void run_until(struct world *world, uint64_t until_ms)
{
    while (world->now_ms < until_ms)
        step(world, until_ms);
}

/* Everybody runs, and nothing is lost any more. */
static void calm_down(struct world *world)
{
    world->is_calm = true;
    world->losses = 0;
    for (size_t i = 0; i < MESSAGES_MAX; i++) {
        if (world->messages[i].execute_ms > world->now_ms + LATENCY_MAX_MS)
            world->messages[i].execute_ms = UINT64_MAX;
    }
    for (unsigned i = 0; i < world->machine_count; i++) {
        world->machines[i].asleep_until_ms = 0;
        world->machines[i].start_at_ms = 0;
    }
}

static void check_somebody_leads(struct world *world)
{
    uint64_t began_ms = world->now_ms;

    while (find_leader(world) == NULL && world->now_ms < began_ms + LEADERLESS_MAX_MS)
        step(world, began_ms + LEADERLESS_MAX_MS);
    if (find_leader(world) == NULL)
        fail_msg("seed %lu: nobody leads", (unsigned long)world->seed);
    if (world->now_ms - began_ms > totals.worst_ms)
        totals.worst_ms = world->now_ms - began_ms;
}

/* Old claims are worked off; then nothing but a new one moves the lease. */
static void check_leader_stays(struct world *world)
{
    struct machine *leader;
    uint64_t lost;

    run_until(world, world->now_ms + 2 * DURATION);
    leader = find_leader(world);
    assert_non_null(leader);
    lost = lease_counters(leader->lease)->lost;
    run_until(world, world->now_ms + DURATION);
    assert_ptr_equal(find_leader(world), leader);
    assert_int_equal(lease_counters(leader->lease)->lost, lost);
}

static void check_hand_over(struct world *world)
{
    struct machine *leader = find_leader(world);
    struct machine *other =
        leader == &world->machines[0] ? &world->machines[1] : &world->machines[0];
    uint64_t began_ms = world->now_ms;

    while (!is_leading(world, other) && world->now_ms < began_ms + HAND_OVER_MAX_MS) {
        lease_want(other->lease, clock_of(world, other));
        step(world, world->now_ms + 100);
    }
    if (!is_leading(world, other))
        fail_msg("seed %lu: not handed over", (unsigned long)world->seed);
}

static void run(uint64_t seed)
{
    static const unsigned losses[] = {0, 2, 5, 15, 30};
    struct world *world = xcalloc(1, sizeof *world);

    world->jitter.state = seed;
    world->seed = seed;
    world->machine_count = (unsigned)(2 + seed % 2);
    world->losses = losses[seed / 2 % ARRAY_LEN(losses)];
    for (size_t i = 0; i < MESSAGES_MAX; i++)
        world->messages[i].execute_ms = world->messages[i].answer_ms = UINT64_MAX;
    for (unsigned i = 0; i < world->machine_count; i++)
        set_wall_clock(world, &world->machines[i]);
    run_until(world, CHAOS_MS);
    calm_down(world);
    check_somebody_leads(world);
    check_leader_stays(world);
    check_hand_over(world);
    for (unsigned i = 0; i < world->machine_count; i++) {
        if (world->machines[i].lease != NULL)
            stop(world, &world->machines[i]);
    }
    for (size_t i = 0; i < MESSAGES_MAX; i++) {
        free(world->messages[i].body);
        free(world->messages[i].answer);
    }
    lease_record_clear(&world->record);
    free(world);
}

static void test_lease__has_at_most_one_holder_and_soon_one(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        run(seed);
    print_message("acquired %lu, lost %lu, handed over %lu, resigned %lu, ran out %lu, "
                  "requests %lu, leaderless at most %lu ms\n",
                  (unsigned long)totals.acquired, (unsigned long)totals.lost,
                  (unsigned long)totals.handed_over, (unsigned long)totals.resigned,
                  (unsigned long)totals.slept_over, (unsigned long)totals.requests,
                  (unsigned long)totals.worst_ms);
    assert_true(totals.acquired > 2 * SEEDS && totals.handed_over > SEEDS &&
                totals.resigned > SEEDS / 2 && totals.slept_over > SEEDS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lease__has_at_most_one_holder_and_soon_one),
    };

    return cmocka_run_group_tests_name("lease simulation", tests, NULL, NULL);
}
