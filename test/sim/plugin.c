/* SPDX-License-Identifier: Apache-2.0 */
/* plugin - HAMi's device plugins on some of the nodes, and another scheduler that uses their locks.
 */
#include "plugin.h"

#include "people.h"
#include "support/api_model.h"

#include "topofit/lock_keeper.h"
#include "topofit/mem.h"
#include "topofit/moment.h"
#include "topofit/node_lock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_PLUGIN "topofit.io/device-plugin"
#define PLACES_MAX 16
#define NAME_BYTES 32
/* A node that was made anew has no lock of a Binding from before, which may take as long as this.
 */
#define YOUNG_MS 70000u
#define RIVAL_MAX_MS 8000u /* less than what topofit gives it */
#define PARDONS_MAX 64
#define RIVALS_MAX 3

enum stage { RESTS = 0, ALLOCATES, TELLS, RELEASES };

/* A node as a plugin sees it. */
struct place {
    char node[NAME_BYTES], uid[64];
    uint64_t since_ms; /* since the node is there */
    enum stage stage;
    bool is_slow;
    char pod[NAME_BYTES], pod_uid[64];
    uint64_t number; /* of what is planned */
};

/* A pod that the other scheduler is about to bind. */
struct rival {
    bool is_busy;
    char node[NAME_BYTES], node_uid[64], pod[NAME_BYTES], pod_uid[64];
};

struct plugins {
    struct world *world;
    struct place places[PLACES_MAX];
    size_t place_count;
    struct rival rivals[RIVALS_MAX];
    char pardoned[PARDONS_MAX]
                 [64]; /* uids of pods that were bound without a lock, on a young node */
    size_t pardons;
    uint64_t planned;
    unsigned last_rival;
};

struct plugins *plugins_new(struct world *world)
{
    struct plugins *plugins = xcalloc(1, sizeof *plugins);

    plugins->world = world;
    return plugins;
}

void plugins_free(struct plugins *plugins)
{
    free(plugins);
}

/* --- objects --------------------------------------------------------------------------------- */

static const struct api_object *find_node(const struct plugins *plugins, const char *name)
{
    const struct api_object *node = api_model_find(plugins->world->api, API_NODE, "", name);

    return node != NULL && api_object_annotation(node, KEY_PLUGIN) != NULL ? node : NULL;
}

static const struct api_object *find_pod(const struct plugins *plugins, const char *name,
                                         const char *uid)
{
    const struct api_object *pod = api_model_find(plugins->world->api, API_POD, "default", name);

    return pod != NULL && strcmp(pod->uid, uid) == 0 ? pod : NULL;
}

static const char *lock_of(const struct api_object *node)
{
    return api_object_annotation(node, node_lock_key(NODE_LOCK_NAMED));
}

/* As the plugin looks at it: by its end. */
static bool is_for(const char *lock, const char *pod)
{
    AUTO_FREE char *end = xasprintf(",default,%s", pod);
    size_t length = strlen(end);

    return lock != NULL && strlen(lock) > length && strcmp(lock + strlen(lock) - length, end) == 0;
}

static bool has_phase(const struct api_object *pod, const char *phase)
{
    const char *value = api_object_annotation(pod, BIND_PHASE_KEY);

    return value != NULL && strcmp(value, phase) == 0;
}

static void set_lock(struct plugins *plugins, const char *node, const char *lock)
{
    api_model_annotate(plugins->world->api, API_NODE, "", node, node_lock_key(NODE_LOCK_NAMED),
                       lock);
}

/* A new one, or that of a node that is gone: names of nodes do not end, nodes at one time are few.
 */
static struct place *free_place(struct plugins *plugins)
{
    if (plugins->place_count < PLACES_MAX)
        return &plugins->places[plugins->place_count++];
    for (size_t i = 0; i < PLACES_MAX; i++) {
        if (find_node(plugins, plugins->places[i].node) == NULL)
            return &plugins->places[i];
    }
    abort(); /* more plugins at one time than PLACES_MAX */
}

static struct place *find_place(struct plugins *plugins, const char *node)
{
    struct place *place;

    for (size_t i = 0; i < plugins->place_count; i++) {
        if (strcmp(plugins->places[i].node, node) == 0)
            return &plugins->places[i];
    }
    place = free_place(plugins);
    *place = (struct place){.number = ++plugins->planned};
    snprintf(place->node, sizeof place->node, "%s", node);
    return place;
}

static void pardon(struct plugins *plugins, const struct api_object *pod)
{
    snprintf(plugins->pardoned[plugins->pardons++ % PARDONS_MAX], sizeof plugins->pardoned[0], "%s",
             pod->uid);
}

/* Their lock went with the node that was here before. */
static void pardon_all_on(struct plugins *plugins, const char *node)
{
    const struct api_model *api = plugins->world->api;

    for (size_t i = 0; i < api_model_count(api, API_POD); i++) {
        const struct api_object *pod = api_model_get(api, API_POD, i);

        if (strcmp(pod->node_name, node) == 0 && strcmp(pod->phase, "Pending") == 0)
            pardon(plugins, pod);
    }
}

/* The place of a node, which forgets what was when the node is another one. */
static struct place *place_of(struct plugins *plugins, const struct api_object *node)
{
    struct place *place = find_place(plugins, node->name);

    if (strcmp(place->uid, node->uid) == 0)
        return place;
    snprintf(place->uid, sizeof place->uid, "%s", node->uid);
    place->since_ms = plugins->world->now_ms;
    place->stage = RESTS;
    place->number = ++plugins->planned;
    pardon_all_on(plugins, node->name);
    return place;
}

static bool is_young(const struct plugins *plugins, const struct place *place)
{
    return plugins->world->now_ms < place->since_ms + YOUNG_MS;
}

static bool is_pardoned(const struct plugins *plugins, const char *uid)
{
    for (size_t i = 0; i < PARDONS_MAX; i++) {
        if (strcmp(plugins->pardoned[i], uid) == 0)
            return true;
    }
    return false;
}

bool plugins_are_awaited(const struct plugins *plugins, const struct api_object *pod)
{
    return pod->node_name[0] != '\0' && strcmp(pod->phase, "Pending") == 0 &&
           has_phase(pod, BIND_PHASE_ALLOCATING) && find_node(plugins, pod->node_name) != NULL;
}

/* --- the plugin ------------------------------------------------------------------------------ */

static bool on_stage(void *ctx, uint64_t number);

static void go_on(struct plugins *plugins, struct place *place, enum stage stage)
{
    struct world *world = plugins->world;
    bool is_slow = world_fault(world, FAULT_SLOW_PLUGIN);
    uint64_t in_ms =
        is_slow ? chance_wait_ms(&world->chance, 30000) : chance_between(&world->chance, 1, 20);

    place->stage = stage;
    place->is_slow = is_slow;
    place->number = ++plugins->planned;
    world_plan(world, in_ms, on_stage, plugins, place->number);
}

static void rest(struct place *place)
{
    place->stage = RESTS;
}

static void fail_pod(struct plugins *plugins, struct place *place)
{
    api_model_set_phase(plugins->world->api, "default", place->pod, "Failed");
    rest(place);
}

static void allocate(struct plugins *plugins, struct place *place, const struct api_object *node)
{
    struct world *world = plugins->world;
    const char *lock = lock_of(node);

    if (!is_for(lock, place->pod) && !is_pardoned(plugins, place->pod_uid))
        world_fail(world, "the plugin of %s is asked for %s, and the lock is \"%s\"", place->node,
                   place->pod, lock != NULL ? lock : "");
    TRACE(world, "plugin of %s is asked for %s", place->node, place->pod);
    if (world_fault(world, FAULT_PLUGIN_CRASH)) {
        fail_pod(plugins, place); /* the lock stays */
    } else if (world_fault(world, FAULT_PLUGIN_FAILS)) {
        api_model_annotate(world->api, API_POD, "default", place->pod, BIND_PHASE_KEY,
                           BIND_PHASE_FAILED);
        if (is_for(lock, place->pod))
            set_lock(plugins, place->node, NULL);
        fail_pod(plugins, place);
    } else {
        go_on(plugins, place, TELLS);
    }
}

static void tell(struct plugins *plugins, struct place *place)
{
    api_model_annotate(plugins->world->api, API_POD, "default", place->pod, BIND_PHASE_KEY,
                       BIND_PHASE_SUCCESS);
    if (world_fault(plugins->world, FAULT_PLUGIN_CRASH))
        rest(place); /* the lock stays */
    else
        go_on(plugins, place, RELEASES);
}

static void release(struct plugins *plugins, struct place *place, const struct api_object *node)
{
    if (is_for(lock_of(node), place->pod))
        set_lock(plugins, place->node, NULL);
    rest(place);
}

static bool on_stage(void *ctx, uint64_t number)
{
    struct plugins *plugins = ctx;
    const struct api_object *node, *pod;
    struct place *place = plugins->places;

    while (place < plugins->places + plugins->place_count && place->number != number)
        place++;
    if (place == plugins->places + plugins->place_count || place->stage == RESTS)
        return false;
    node = find_node(plugins, place->node);
    pod = find_pod(plugins, place->pod, place->pod_uid);
    if (node == NULL || strcmp(node->uid, place->uid) != 0)
        rest(place);
    else if (place->stage == RELEASES && (pod != NULL || !place->is_slow))
        release(plugins, place, node);
    else if (pod == NULL || strcmp(pod->phase, "Pending") != 0)
        rest(place); /* and its lock stays */
    else if (place->stage == ALLOCATES)
        allocate(plugins, place, node);
    else
        tell(plugins, place);
    return true;
}

/* --- what is there --------------------------------------------------------------------------- */

static void look_at(struct plugins *plugins, const struct api_object *node)
{
    const struct api_model *api = plugins->world->api;
    struct place *place = place_of(plugins, node);
    const struct api_object *next = NULL;
    unsigned count = 0;

    for (size_t i = 0; i < api_model_count(api, API_POD); i++) {
        const struct api_object *pod = api_model_get(api, API_POD, i);

        if (strcmp(pod->node_name, node->name) != 0 || !plugins_are_awaited(plugins, pod))
            continue;
        count += !is_pardoned(plugins, pod->uid);
        if (next == NULL || pod->version < next->version)
            next = pod;
    }
    if (count > 1)
        world_fail(plugins->world, "%u pods at once wait for the plugin of %s", count, node->name);
    if (next == NULL || place->stage != RESTS || next->deleting)
        return;
    snprintf(place->pod, sizeof place->pod, "%s", next->name);
    snprintf(place->pod_uid, sizeof place->pod_uid, "%s", next->uid);
    go_on(plugins, place, ALLOCATES);
}

void plugins_look(struct plugins *plugins)
{
    const struct api_model *api = plugins->world->api;

    for (size_t i = 0; i < api_model_count(api, API_NODE); i++) {
        const struct api_object *node = api_model_get(api, API_NODE, i);

        if (api_object_annotation(node, KEY_PLUGIN) != NULL)
            look_at(plugins, node);
    }
}

void plugins_on_binding(struct plugins *plugins, const char *namespace, const char *name)
{
    const struct api_object *pod = api_model_find(plugins->world->api, API_POD, namespace, name);
    const struct api_object *node = pod != NULL ? find_node(plugins, pod->node_name) : NULL;
    const char *lock;

    if (node == NULL || api_object_annotation(pod, "topofit.io/allocation") == NULL)
        return;
    lock = lock_of(node);
    if (is_for(lock, name))
        return;
    if (is_young(plugins, place_of(plugins, node))) {
        pardon(plugins, pod);
        return;
    }
    world_fail(plugins->world, "%s is bound to %s, and the lock there is \"%s\"", name, node->name,
               lock != NULL ? lock : "");
}

bool plugins_are_done(const struct plugins *plugins, char *text, size_t size)
{
    const struct api_model *api = plugins->world->api;

    for (size_t i = 0; i < api_model_count(api, API_NODE); i++) {
        const struct api_object *node = api_model_get(api, API_NODE, i);

        if (lock_of(node) == NULL)
            continue;
        snprintf(text, size, "a lock is left on %s: \"%s\"", node->name, lock_of(node));
        return false;
    }
    for (size_t i = 0; i < plugins->place_count; i++) {
        if (plugins->places[i].stage == RESTS)
            continue;
        snprintf(text, size, "the plugin of %s is at work", plugins->places[i].node);
        return false;
    }
    return true;
}

/* --- the other scheduler --------------------------------------------------------------------- */

static void bind_rival(struct plugins *plugins, const struct rival *rival)
{
    struct world *world = plugins->world;
    const struct api_object *node = find_node(plugins, rival->node);
    const struct api_object *pod = find_pod(plugins, rival->pod, rival->pod_uid);

    if (node == NULL || strcmp(node->uid, rival->node_uid) != 0 || pod == NULL || pod->deleting ||
        pod->node_name[0] != '\0')
        return;
    if (!is_for(lock_of(node), rival->pod)) {
        world_fail(world, "the lock of %s on %s was replaced before its Binding", rival->pod,
                   rival->node);
        return;
    }
    TRACE(world, "another scheduler binds %s to %s", rival->pod, rival->node);
    api_model_annotate(world->api, API_POD, "default", rival->pod, BIND_PHASE_KEY,
                       BIND_PHASE_ALLOCATING);
    api_model_bind_elsewhere(world->api, "default", rival->pod, rival->node);
}

static bool on_rival(void *ctx, uint64_t index)
{
    struct plugins *plugins = ctx;
    struct rival *rival = &plugins->rivals[index];

    if (!rival->is_busy)
        return false;
    rival->is_busy = false;
    if (!world_fault(plugins->world, FAULT_RIVAL_DIES))
        bind_rival(plugins, rival);
    return true;
}

static const struct api_object *pick_free_node(struct plugins *plugins)
{
    const struct api_model *api = plugins->world->api;
    size_t count = api_model_count(api, API_NODE);
    size_t start = count > 0 ? chance_pick(&plugins->world->chance, count) : 0;

    for (size_t i = 0; i < count; i++) {
        const struct api_object *node = api_model_get(api, API_NODE, (start + i) % count);

        if (find_node(plugins, node->name) != NULL && lock_of(node) == NULL)
            return node;
    }
    return NULL;
}

static void lock_for_rival(struct plugins *plugins, const struct rival *rival)
{
    char when[MOMENT_TEXT_BYTES];
    AUTO_FREE char *lock = NULL;

    moment_write(plugins->world->now_ms, 0, when);
    lock = xasprintf("%s,default,%s", when, rival->pod);
    set_lock(plugins, rival->node, lock);
}

void plugins_rival(struct plugins *plugins)
{
    struct world *world = plugins->world;
    const struct api_object *node = pick_free_node(plugins), *pod;
    size_t index = chance_pick(&world->chance, RIVALS_MAX);
    struct rival *rival = &plugins->rivals[index];

    if (node == NULL || rival->is_busy)
        return;
    *rival = (struct rival){.is_busy = true};
    snprintf(rival->node, sizeof rival->node, "%s", node->name);
    snprintf(rival->node_uid, sizeof rival->node_uid, "%s", node->uid);
    snprintf(rival->pod, sizeof rival->pod, PEOPLE_OTHER "hami-%u", plugins->last_rival++ % 4);
    pod = api_model_create_pod(world->api, &(struct api_pod_spec){.name = rival->pod,
                                                                  .devices = 1,
                                                                  .memory_mib = 2000,
                                                                  .scheduler = "other"});
    rival->is_busy = pod != NULL;
    if (pod == NULL)
        return;
    snprintf(rival->pod_uid, sizeof rival->pod_uid, "%s", pod->uid);
    lock_for_rival(plugins, rival);
    world_plan(world, chance_wait_ms(&world->chance, RIVAL_MAX_MS), on_rival, plugins, index);
}
