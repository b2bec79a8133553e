/* SPDX-License-Identifier: Apache-2.0 */
/* world - one seed: rounds of trouble, each followed by calm. */
#include "world.h"

#include "checker.h"
#include "network.h"
#include "people.h"
#include "plugin.h"
#include "replica.h"
#include "scheduler.h"
#include "turnover.h"
#include "support/api_model.h"

#include "topofit/mem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define LOG_MAX 512 /* changes that the API server remembers */
#define EPOCH_MS 1800000000000u
#define ROUND_STEPS_MIN 200u
#define ROUND_STEPS_MAX 6000u
#define LOOK_EVERY_MS 5300u /* not in step with what happens every second */
/*
 * The longest that anything needs to come to rest: a half-open watch is noticed after 150 s, a
 * Binding without an answer is settled after 90 s, then come back-offs of 30 s.
 */
#define CALM_MAX_MS 420000u
/* It needs a position that was not compacted: a half-open watch noticed, a bookmark, another try.
 */
#define COMPARE_MAX_MS 420000u

struct world *world_new(const struct sim_options *options)
{
    struct world *world = xcalloc(1, sizeof *world);

    world->options = *options;
    world->chance.state = options->seed * 0x9e3779b97f4a7c15u + 1;
    world->trace.prints = options->traces;
    world->api = api_model_new(LOG_MAX);
    api_model_options(world->api)->epoch_ms = EPOCH_MS;
    api_model_options(world->api)->events_max = 50;
    world->network = network_new(world);
    world->plugins = plugins_new(world);
    world->people = people_new(world);
    world->scheduler = scheduler_new(world);
    world->turnover = turnover_new(world);
    world->checker = checker_new(world);
    replica_configure(world);
    for (size_t i = 0; i < options->replicas; i++)
        world->replicas[i] = replica_new(world, i);
    return world;
}

void world_free(struct world *world)
{
    for (size_t i = 0; i < world->options.replicas; i++)
        replica_free(world->replicas[i]);
    checker_free(world->checker);
    scheduler_free(world->scheduler);
    turnover_free(world->turnover);
    people_free(world->people);
    plugins_free(world->plugins);
    network_free(world->network);
    api_model_free(world->api);
    agenda_clear(&world->agenda);
    free(world);
}

bool world_fault(struct world *world, enum fault fault)
{
    if (world->faults.parts[fault] == 0 || !chance_hits(&world->chance, world->faults.parts[fault]))
        return false;
    world->faults.hits[fault]++;
    return true;
}

void world_fail(struct world *world, const char *format, ...)
{
    va_list arguments;

    if (world->failure[0] != '\0')
        return;
    va_start(arguments, format);
    vsnprintf(world->failure, sizeof world->failure, format, arguments);
    va_end(arguments);
    TRACE(world, "WRONG  %s", world->failure);
}

void world_plan(struct world *world, uint64_t in_ms, agenda_run run, void *ctx, uint64_t number)
{
    agenda_add(&world->agenda, world->now_ms + in_ms, run, ctx, number);
}

/* --- steps ----------------------------------------------------------------------------------- */

static void step(struct world *world)
{
    uint64_t version = api_model_version(world->api);
    struct agenda_entry entry;

    if (!agenda_next(&world->agenda, &entry))
        return;
    world->now_ms = world->trace.now_ms = entry.at_ms;
    api_model_at(world->api, world->now_ms);
    if (!entry.run(entry.ctx, entry.number))
        return;
    world->trace.step = ++world->steps;
    if (api_model_version(world->api) != version) {
        network_on_change(world->network);
        scheduler_on_change(world->scheduler);
        plugins_look(world->plugins);
    }
    checker_look(world->checker);
}

static bool is_well(const struct world *world)
{
    return world->failure[0] == '\0';
}

/* Somebody rolls out another configuration, all at once. */
static void configure(struct world *world)
{
    if (!chance_hits(&world->chance, 3000))
        return;
    replica_configure(world);
    for (size_t i = 0; i < world->options.replicas; i++)
        replica_stop(world->replicas[i]);
    scheduler_restart(world->scheduler);
}

static void run_trouble(struct world *world)
{
    uint64_t end = world->steps + chance_between(&world->chance, ROUND_STEPS_MIN, ROUND_STEPS_MAX);

    TRACE(world, "----   trouble");
    world->is_calm = false;
    faults_draw(&world->faults, &world->chance);
    api_model_options(world->api)->refuses_watch_list = world_fault(world, FAULT_NO_WATCH_LIST);
    api_model_options(world->api)->zero_lag = chance_between(&world->chance, 0, 200);
    api_model_options(world->api)->too_old_is_status = chance_hits(&world->chance, 5000);
    configure(world);
    people_begin(world->people);
    while (world->steps < end && is_well(world))
        step(world);
}

static void run_until(struct world *world, uint64_t end_ms)
{
    while (world->agenda.count > 0 && world->agenda.heap[0].at_ms <= end_ms && is_well(world))
        step(world);
    world->now_ms = world->now_ms > end_ms ? world->now_ms : end_ms;
}

/* Wait until all is as it should be when nothing goes wrong any more. */
static void come_to_rest(struct world *world)
{
    uint64_t end_ms = world->now_ms + CALM_MAX_MS;
    char missing[480] = "";
    bool is_at_rest = false;

    while (!is_at_rest && world->now_ms < end_ms && is_well(world)) {
        run_until(world, world->now_ms + LOOK_EVERY_MS);
        missing[0] = '\0';
        is_at_rest = checker_is_at_rest(world->checker, missing, sizeof missing);
    }
    if (!is_at_rest)
        world_fail(world, "after %u s of calm: %s", CALM_MAX_MS / 1000, missing);
}

static void run_calm(struct world *world)
{
    TRACE(world, "----   calm");
    world->is_calm = true;
    faults_stop(&world->faults);
    people_begin(world->people);
    come_to_rest(world);
}

/* Ask those who have not compared themselves yet. return how many there are. */
static size_t ask_to_compare(struct world *world, const uint64_t *before, bool asks, size_t *who)
{
    struct replica_state state;
    size_t count = 0;

    for (size_t i = 0; i < world->options.replicas; i++) {
        replica_read_state(world->replicas[i], &state);
        if (state.comparisons != before[i])
            continue;
        count++;
        *who = i;
        if (asks)
            replica_reconcile(world->replicas[i]);
    }
    return count;
}

/* What every replica remembers is held against the server, by its own means. */
static void compare_all(struct world *world)
{
    uint64_t before[REPLICAS_MAX], end_ms = world->now_ms + COMPARE_MAX_MS;
    size_t who = 0;

    for (size_t i = 0; i < world->options.replicas; i++) {
        struct replica_state state;

        replica_read_state(world->replicas[i], &state);
        before[i] = state.comparisons;
    }
    while (is_well(world) && world->now_ms < end_ms &&
           ask_to_compare(world, before, true, &who) > 0)
        run_until(world, world->now_ms + LOOK_EVERY_MS);
    if (ask_to_compare(world, before, false, &who) > 0)
        world_fail(world, "r%zu has not compared itself with the server", who);
    come_to_rest(world);
}

bool world_run(struct world *world)
{
    for (size_t i = 0; i < world->options.replicas; i++)
        replica_start(world->replicas[i]);
    scheduler_on_change(world->scheduler);
    while (world->steps < world->options.steps && is_well(world)) {
        run_trouble(world);
        if (is_well(world))
            run_calm(world);
        if (is_well(world))
            compare_all(world);
        world->rounds++;
    }
    for (size_t i = 0; i < world->options.replicas; i++) {
        struct replica_state state;

        replica_read_state(world->replicas[i], &state);
        world->failovers += state.acquired;
    }
    return is_well(world);
}
