/* SPDX-License-Identifier: Apache-2.0 */
/* turnover - the lead changes while Bindings are under way. */
#include "turnover.h"

#include "network.h"
#include "people.h"
#include "replica.h"
#include "scheduler.h"

#include "topofit/mem.h"

#include <stdlib.h>

#define LASTS_MS 15000u    /* beyond the lease */
#define FALL_MAX_MS 40000u /* longer than any lease of ours */

struct turnover {
    struct world *world;
    uint64_t until_ms;
    size_t fallen;
    bool is_quiet;
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

/* By then another one leads, if it can. */
static uint64_t lead_is_gone_ms(const struct world *world)
{
    return world->setup.lease_duration_ms + world->setup.retry_ms;
}

/* --- the leader falls ------------------------------------------------------------------------ */

static void cut_off(struct world *world, size_t replica, bool requests, bool answers)
{
    uint64_t for_ms = chance_between(&world->chance, 1000, FALL_MAX_MS);

    network_cut(world->network, replica,
                &(struct outage){.requests_ms = requests ? for_ms : 0,
                                 .answers_ms = answers ? for_ms : 0,
                                 .watches_ms = chance_hits(&world->chance, 5000) ? for_ms : 0,
                                 .parts = 10000});
}

static void let_fall(struct world *world, size_t replica)
{
    switch (chance_pick(&world->chance, 7)) {
    case 0:
    case 1:
        replica_crash(world->replicas[replica]);
        break;
    case 2:
        replica_stop(world->replicas[replica]);
        break;
    case 3:
        replica_pause(world->replicas[replica], chance_between(&world->chance, 1000, FALL_MAX_MS));
        break;
    case 4:
        cut_off(world, replica, true, false);
        break;
    case 5:
        cut_off(world, replica, true, true);
        break;
    default: /* it only lists again */
        network_fail_watches(world->network, replica);
        break;
    }
}

/* What the fallen one lacked is there again, and now it is the others who fall. */
static bool on_return(void *ctx, uint64_t number)
{
    struct turnover *turnover = ctx;
    struct world *world = turnover->world;

    if (world->is_calm || number != turnover->until_ms)
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

static bool on_fall(void *ctx, uint64_t number)
{
    struct turnover *turnover = ctx;
    struct world *world = turnover->world;

    if (world->is_calm || number != turnover->until_ms)
        return false;
    let_fall(world, turnover->fallen);
    if (world->options.replicas > 1 && chance_hits(&world->chance, 7000))
        scheduler_turn_to(world->scheduler, (turnover->fallen + 1) % world->options.replicas);
    if (chance_hits(&world->chance, 4000))
        world_plan(world, chance_between(&world->chance, 500, 2 * lead_is_gone_ms(world)),
                   on_return, turnover, number);
    return true;
}

/* Somebody is to take what looks free to who leads now. */
static bool on_crowd(void *ctx, uint64_t number)
{
    struct turnover *turnover = ctx;

    if (turnover->world->is_calm || number != turnover->until_ms)
        return false;
    people_crowd(turnover->world->people, 1 + chance_pick(&turnover->world->chance, 3));
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
    turnover->until_ms = world->now_ms + lead_is_gone_ms(world) + LASTS_MS;
    turnover->fallen = replica;
    turnover->is_quiet = chance_hits(&world->chance, 6000);
    deafen_others(world, replica);
    world_plan(world, chance_between(&world->chance, 0, 2 * lead_is_gone_ms(world)), on_crowd,
               turnover, turnover->until_ms);
    return true;
}

bool turnover_on_binding(struct turnover *turnover, size_t replica)
{
    struct world *world = turnover->world;

    if (is_on(turnover))
        return chance_hits(&world->chance, 3000);
    if (!begins(turnover, replica))
        return false;
    world_plan(world, chance_wait_ms(&world->chance, 2000), on_fall, turnover, turnover->until_ms);
    return true;
}

static bool on_lost_touch(void *ctx, uint64_t number)
{
    struct turnover *turnover = ctx;
    struct world *world = turnover->world;

    if (world->is_calm || number != turnover->until_ms)
        return false;
    cut_off(world, turnover->fallen, true, chance_hits(&world->chance, 5000));
    scheduler_turn_to(world->scheduler, (turnover->fallen + 1) % world->options.replicas);
    return true;
}

/*
 * The replica has to live on, or its booking would not: it loses the touch, and the lead with it,
 * and has both back before it sends.
 */
bool turnover_on_job(struct turnover *turnover, size_t replica)
{
    struct world *world = turnover->world;
    uint64_t away_ms = lead_is_gone_ms(world) +
                       chance_between(&world->chance, 0, 3 * (uint64_t)world->setup.retry_ms);

    if (away_ms > world->setup.bind_timeout_ms || chance_hits(&world->chance, 5000) ||
        !begins(turnover, replica))
        return false;
    world_plan(world, 0, on_lost_touch, turnover, turnover->until_ms);
    world_plan(world, away_ms, on_return, turnover, turnover->until_ms);
    return true;
}
