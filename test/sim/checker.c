/* SPDX-License-Identifier: Apache-2.0 */
/* checker - what must be true after each step, and once all has come to rest. */
#include "checker.h"

#include "people.h"
#include "plugin.h"
#include "replica.h"
#include "scheduler.h"
#include "support/api_model.h"
#include "support/placement_checker.h"

#include "topofit/cluster.h"
#include "topofit/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEN_MAX 256
#define OTHERS_ARE_KNOWN_MS 200000u /* after this much calm everybody has seen others' pods */

struct checker {
    struct world *world;
    struct placement_checker *placements;
    uint64_t version; /* looked at */
    uint64_t calm_since_ms;
    bool was_calm;
    uint64_t looks;
};

struct checker *checker_new(struct world *world)
{
    struct checker *checker = xcalloc(1, sizeof *checker);

    checker->world = world;
    checker->placements = placement_checker_new(world->api, API_SCHEDULER);
    return checker;
}

void checker_free(struct checker *checker)
{
    if (checker == NULL)
        return;
    placement_checker_free(checker->placements);
    free(checker);
}

/* What others write may contradict what is there; nobody can know it before the watch tells. */
static bool is_others_fault(const struct checker *checker, const char *wrong)
{
    const struct world *world = checker->world;

    return strstr(wrong, "/" PEOPLE_OTHER) != NULL &&
           !(world->is_calm && world->now_ms - checker->calm_since_ms > OTHERS_ARE_KNOWN_MS);
}

static void note(struct checker *checker, const char *wrong)
{
    if (wrong != NULL && !is_others_fault(checker, wrong))
        world_fail(checker->world, "%s", wrong);
}

/* The reconciler compares at one version, so whatever it finds is a mistake. */
static void look_at_replica(struct checker *checker, const struct replica *replica, size_t index)
{
    struct replica_state state;

    replica_read_state(replica, &state);
    if (state.differences > 0)
        world_fail(checker->world, "r%zu finds a difference to the server: %s", index,
                   replica_difference(replica));
    if (replica_is_alive(replica))
        cluster_check(replica_cluster(replica));
}

void checker_look(struct checker *checker)
{
    struct world *world = checker->world;

    if (world->is_calm != checker->was_calm) {
        checker->was_calm = world->is_calm;
        checker->calm_since_ms = world->now_ms;
    }
    if (api_model_version(world->api) != checker->version) {
        checker->version = api_model_version(world->api);
        note(checker, placement_checker_check(checker->placements));
    }
    if (++checker->looks % 64 != 0)
        return;
    for (size_t i = 0; i < world->options.replicas; i++)
        look_at_replica(checker, world->replicas[i], i);
}

/* The pod that has just been bound has the uid that the record names. */
void checker_on_binding(struct checker *checker, const char *path, const char *body, size_t length)
{
    const char *at = strstr(path, "/namespaces/");
    char namespace[64], name[64];

    (void)body;
    (void)length;
    checker->world->bindings++;
    if (at != NULL && sscanf(at, "/namespaces/%63[^/]/pods/%63[^/]", namespace, name) == 2)
        plugins_on_binding(checker->world->plugins, namespace, name);
    checker_look(checker);
}

void checker_on_bind_answer(struct checker *checker, const char *uid, const char *node,
                            bool is_bound)
{
    note(checker, placement_checker_bind_answered(checker->placements, uid, node,
                                                  is_bound ? "" : "not bound"));
}

/* --- rest ------------------------------------------------------------------------------------ */

static bool compare_holdings(struct checker *checker, const struct replica *replica, char *text,
                             size_t size)
{
    struct placement_seen seen[SEEN_MAX];
    const char *wrong;
    size_t count;
    struct holding_view *views = cluster_holdings(replica_cluster(replica), NULL, &count);

    for (size_t i = 0; i < count && i < SEEN_MAX; i++) {
        seen[i] = (struct placement_seen){views[i].uid, views[i].node};
        if (views[i].state != HOLDING_BOUND && text[0] == '\0')
            snprintf(text, size, "%s is still held %s", views[i].name,
                     views[i].state == HOLDING_UNKNOWN ? "unknown" : "reserved");
    }
    wrong = placement_checker_compare(checker->placements, seen, count);
    if (wrong != NULL && text[0] == '\0')
        snprintf(text, size, "%s", wrong);
    holding_views_free(views, count);
    return text[0] == '\0';
}

static void check_replica(struct checker *checker, size_t index, char *text, size_t size)
{
    const struct replica *replica = checker->world->replicas[index];
    struct replica_state state;

    replica_read_state(replica, &state);
    if (!replica_is_alive(replica))
        snprintf(text, size, "it is not running");
    else if (!state.watches)
        snprintf(text, size, "a watch is not open: %.300s", state.problem);
    else if (state.binds_in_flight > 0)
        snprintf(text, size, "%zu Bindings are in flight", state.binds_in_flight);
    else if (state.events_waiting > 0)
        snprintf(text, size, "%zu Events wait", state.events_waiting);
    else
        compare_holdings(checker, replica, text, size);
}

static size_t count_leaders(const struct world *world, size_t *leader)
{
    struct replica_state state;
    size_t count = 0;

    for (size_t i = 0; i < world->options.replicas; i++) {
        replica_read_state(world->replicas[i], &state);
        if (!state.may_bind)
            continue;
        *leader = i;
        count++;
    }
    return count;
}

bool checker_is_at_rest(struct checker *checker, char *text, size_t size)
{
    struct world *world = checker->world;
    size_t leaders, leader = 0;

    if (!people_are_done(world->people)) {
        snprintf(text, size, "pods are on their way to run or to end");
        return false;
    }
    if (!plugins_are_done(world->plugins, text, size))
        return false;
    for (size_t i = 0; i < world->options.replicas; i++) {
        char why[400] = "";

        check_replica(checker, i, why, sizeof why);
        if (why[0] != '\0') {
            snprintf(text, size, "r%zu: %s", i, why);
            return false;
        }
        look_at_replica(checker, world->replicas[i], i);
    }
    leaders = count_leaders(world, &leader);
    if (leaders != 1) {
        snprintf(text, size, "%zu replicas may bind", leaders);
        return false;
    }
    return !scheduler_owes(world->scheduler, leader, text, size);
}
