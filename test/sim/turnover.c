/* SPDX-License-Identifier: Apache-2.0 */
/* turnover - the lead changes while Bindings are under way. */
#include "turnover.h"

#include "network.h"
#include "people.h"
#include "replica.h"
#include "scheduler.h"

#include "topofit/mem.h"

#include <stdlib.h>

#define FALL_MAX_MS 40000u /* longer than most leases */
#define LASTS_MS 20000u    /* beyond the lease */
#define LOOK_MS 100u

struct turnover {
    struct world *world;
    uint64_t until_ms; /* names the turnover, too */
    size_t fallen;
    bool is_quiet, returns;
};

struct turnover *turnover_new(struct world *world)
{
    struct turnover *turnover = xcalloc(1, sizeof *turnover);

    turnover->world = world;
    return turnover;
}

void turnover_free(struct turnover *turnover)
{
    free(turnover);
}

static bool is_on(const struct turnover *turnover)
{
    return !turnover->world->is_calm && turnover->world->now_ms < turnover->until_ms;
}

bool turnover_is_quiet(const struct turnover *turnover)
{
    return is_on(turnover) && turnover->is_quiet;
}

static bool is_still_on(const struct turnover *turnover, uint64_t number)
{
    return is_on(turnover) && turnover->until_ms == number;
}

static void plan(struct turnover *turnover, uint64_t in_ms, agenda_run run)
{
    world_plan(turnover->world, in_ms, run, turnover, turnover->until_ms);
}

/* --- the leader falls ------------------------------------------------------------------------ */

static void turn_scheduler_away(struct turnover *turnover)
{
    struct world *world = turnover->world;

    scheduler_turn_to(world->scheduler, (turnover->fallen + 1) % world->options.replicas);
}

static void cut_off(struct world *world, size_t replica, bool requests, bool answers)
{
    uint64_t for_ms = chance_between(&world->chance, 1000, FALL_MAX_MS);

    network_cut(world->network, replica,
                &(struct outage){.requests_ms = requests ? for_ms : 0,
                                 .answers_ms = answers ? for_ms : 0,
                                 .watches_ms = chance_hits(&world->chance, 5000) ? for_ms : 0,
                                 .parts = 10000});
}

static void let_fall(struct world *world, size_t index)
{
    struct replica *replica = world->replicas[index];

    switch (chance_pick(&world->chance, 7)) {
    case 0:
    case 1:
        replica_crash(replica);
        break;
    case 2:
        replica_stop(replica);
        break;
    case 3:
        replica_pause(replica, chance_between(&world->chance, 1000, FALL_MAX_MS));
        break;
    case 4:
        cut_off(world, index, true, false);
        break;
    case 5:
        cut_off(world, index, true, true);
        break;
    default: /* it only lists again */
        network_fail_watches(world->network, index);
        break;
    }
}

static bool on_fall(void *ctx, uint64_t number)
{
    struct turnover *turnover = ctx;

    if (!is_still_on(turnover, number))
        return false;
    let_fall(turnover->world, turnover->fallen);
    if (chance_hits(&turnover->world->chance, 7000))
        turn_scheduler_away(turnover);
    return true;
}

static bool on_lost_touch(void *ctx, uint64_t number)
{
    struct turnover *turnover = ctx;
    struct world *world = turnover->world;

    if (!is_still_on(turnover, number))
        return false;
    cut_off(world, turnover->fallen, true, chance_hits(&world->chance, 5000));
    turn_scheduler_away(turnover);
    return true;
}

/* --- another one leads ----------------------------------------------------------------------- */

/* What the fallen one lacked is there again, and now it is the others who fall. */
static bool on_return(void *ctx, uint64_t number)
{
    struct turnover *turnover = ctx;
    struct world *world = turnover->world;

    if (!is_still_on(turnover, number))
        return false;
    network_cut(world->network, turnover->fallen, &(struct outage){0});
    replica_resume(world->replicas[turnover->fallen]);
    for (size_t i = 0; i < world->options.replicas; i++) {
        if (i == turnover->fallen)
            continue;
        if (chance_hits(&world->chance, 8000))
            replica_stop(world->replicas[i]);
        else
            let_fall(world, i);
    }
    scheduler_turn_to(world->scheduler, turnover->fallen);
    return true;
}

static bool has_successor(const struct turnover *turnover)
{
    const struct world *world = turnover->world;

    for (size_t i = 0; i < world->options.replicas; i++) {
        if (i != turnover->fallen && replica_may_bind(world->replicas[i]))
            return true;
    }
    return false;
}

/* Somebody is to take what looks free to who leads now. */
static bool on_look(void *ctx, uint64_t number)
{
    struct turnover *turnover = ctx;
    struct world *world = turnover->world;

    if (!is_still_on(turnover, number))
        return false;
    if (!has_successor(turnover)) {
        plan(turnover, LOOK_MS, on_look);
        return false;
    }
    people_crowd(world->people, 1 + chance_pick(&world->chance, 3));
    if (turnover->returns)
        plan(turnover, chance_between(&world->chance, 50, 3000), on_return);
    return true;
}

/* --- when ------------------------------------------------------------------------------------ */

static void deafen_others(struct world *world, size_t replica)
{
    for (size_t i = 0; i < world->options.replicas; i++) {
        if (i != replica && chance_hits(&world->chance, 6000))
            network_deafen(world->network, i, chance_between(&world->chance, 1000, FALL_MAX_MS));
    }
}

static bool begins(struct turnover *turnover, size_t replica)
{
    struct world *world = turnover->world;

    if (is_on(turnover) || !world_fault(world, FAULT_TURNOVER))
        return false;
    turnover->until_ms = world->now_ms + world->setup.lease_duration_ms + LASTS_MS;
    turnover->fallen = replica;
    turnover->is_quiet = chance_hits(&world->chance, 8500);
    turnover->returns = chance_hits(&world->chance, 4000);
    plan(turnover, LOOK_MS, on_look);
    return true;
}

bool turnover_on_binding(struct turnover *turnover, size_t replica)
{
    struct world *world = turnover->world;

    if (is_on(turnover))
        return chance_hits(&world->chance, 3000);
    if (!begins(turnover, replica))
        return false;
    deafen_others(world, replica);
    plan(turnover, chance_wait_ms(&world->chance, 2000), on_fall);
    return true;
}

/*
 * The replica has to live on, or its booking would not: it loses the touch, and the lead with it,
 * and has both back before it sends.
 */
bool turnover_on_job(struct turnover *turnover, size_t replica)
{
    struct world *world = turnover->world;

    if (world->setup.lease_duration_ms * 3 / 2 > world->setup.bind_timeout_ms ||
        chance_hits(&world->chance, 5000) || !begins(turnover, replica))
        return false;
    turnover->returns = true;
    plan(turnover, 0, on_lost_touch);
    return true;
}

uint64_t turnover_on_pause(struct turnover *turnover, size_t replica)
{
    struct world *world = turnover->world;

    if (!begins(turnover, replica))
        return 0;
    turnover->returns = false;
    turn_scheduler_away(turnover);
    return chance_between(&world->chance, world->setup.lease_duration_ms, 60000);
}
