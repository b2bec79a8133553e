/* SPDX-License-Identifier: Apache-2.0 */
/* people - all others: who creates and deletes pods, what becomes of nodes, other schedulers. */
#include "people.h"

#include "network.h"
#include "plugin.h"
#include "replica.h"
#include "scheduler.h"
#include "turnover.h"
#include "checker.h"
#include "support/api_model.h"

#include "topofit/buf.h"
#include "topofit/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 4
#define PODS_MAX 20
#define OTHERS_MAX 4
#define CALM_TICK_MS 1000u
#define QUIET_TICK_MS 5000u
#define CORDONED_DEVICES "topofit.io/cordoned-devices"

struct machine {
    char name[16];
    unsigned devices, slots;
    uint64_t memory_mib;
    char *topology;  /* or NULL */
    uint64_t broken; /* mask */
    bool has_plugin; /* HAMi's, which wants the node locked */
};

struct people {
    struct world *world;
    struct machine machines[NODES_MAX];
    size_t machine_count;
    uint64_t tick_ms, ticks;
    size_t pods_most, waiting_most;
    bool wants_whole; /* in this round pods ask for whole devices only */
    unsigned last_other, machines_made;
    bool is_restart_planned[REPLICAS_MAX];
    unsigned weights[32];
};

static bool on_tick(void *ctx, uint64_t number);

/* --- nodes ----------------------------------------------------------------------------------- */

static char *inventory_text(const struct machine *machine)
{
    struct buf out = buf_with_max(1u << 16);

    buf_add_text(&out, "{\"devices\":[");
    for (unsigned i = 0; i < machine->devices; i++)
        buf_addf(&out,
                 "%s{\"id\":\"GPU-%s-%u\",\"index\":%u,\"class\":\"nvidia\",\"memoryMiB\":%" PRIu64
                 ",\"slots\":%u,\"healthy\":%s}",
                 i > 0 ? "," : "", machine->name, i, i, machine->memory_mib, machine->slots,
                 (machine->broken >> i & 1) != 0 ? "false" : "true");
    buf_add_text(&out, "]}");
    return buf_steal(&out);
}

static void put_machine(struct people *people, struct machine *machine)
{
    struct api_model *api = people->world->api;

    /* In one write: before its plugin is there, such a node has no devices to give. */
    api_model_put_node(api, &(struct api_node_spec){.name = machine->name,
                                                    .devices = machine->devices,
                                                    .memory_mib = machine->memory_mib,
                                                    .slots = machine->slots,
                                                    .topology = machine->topology,
                                                    .plugin = machine->has_plugin ? "hami" : NULL});
    if (machine->broken != 0) {
        AUTO_FREE char *inventory = inventory_text(machine);

        api_model_annotate(api, API_NODE, "", machine->name, "topofit.io/inventory", inventory);
    }
}

/* Devices linked in pairs. */
static char *pairs_text(unsigned devices)
{
    struct buf out = buf_with_max(1u << 16);

    buf_add_text(&out, "{\"links\":[");
    for (unsigned i = 0; i + 1 < devices; i += 2)
        buf_addf(&out, "%s{\"a\":%u,\"b\":%u,\"type\":\"NV4\",\"tier\":0,\"gbps\":100}",
                 i > 0 ? "," : "", i, i + 1);
    buf_add_text(&out, "]}");
    return buf_steal(&out);
}

static void make_machine(struct people *people, struct machine *machine)
{
    static const unsigned counts[] = {1, 1, 2, 2, 4, 8}, slots[] = {1, 1, 2, 4, 10};
    struct jitter *chance = &people->world->chance;

    free(machine->topology);
    *machine = (struct machine){0};
    snprintf(machine->name, sizeof machine->name, "n%u", people->machines_made++);
    machine->devices = counts[chance_pick(chance, ARRAY_LEN(counts))];
    machine->slots = slots[chance_pick(chance, ARRAY_LEN(slots))];
    machine->memory_mib = 8000 * (1 + chance_pick(chance, 3));
    if (machine->devices > 1 && chance_hits(chance, 5000))
        machine->topology = pairs_text(machine->devices);
    machine->has_plugin = chance_hits(chance, 5000);
    put_machine(people, machine);
}

/* --- life ------------------------------------------------------------------------------------ */

/* Another cluster, as it were. What runs on the old machines goes with them. */
static void make_machines(struct people *people)
{
    for (size_t i = 0; i < people->machine_count; i++)
        api_model_remove_node(people->world->api, people->machines[i].name);
    people->machine_count = (size_t)chance_between(&people->world->chance, 1, NODES_MAX);
    for (size_t i = 0; i < people->machine_count; i++)
        make_machine(people, &people->machines[i]);
}

struct people *people_new(struct world *world)
{
    struct people *people = xcalloc(1, sizeof *people);

    people->world = world;
    make_machines(people);
    return people;
}

void people_free(struct people *people)
{
    if (people == NULL)
        return;
    for (size_t i = 0; i < NODES_MAX; i++)
        free(people->machines[i].topology);
    free(people);
}

static const struct api_object *pick_pod(struct people *people,
                                         bool (*wanted)(const struct api_object *pod))
{
    const struct api_model *api = people->world->api;
    size_t count = api_model_count(api, API_POD), start;

    if (count == 0)
        return NULL;
    start = chance_pick(&people->world->chance, count);
    for (size_t i = 0; i < count; i++) {
        const struct api_object *pod = api_model_get(api, API_POD, (start + i) % count);

        if (wanted(pod))
            return pod;
    }
    return NULL;
}

static bool is_other(const struct api_object *pod)
{
    return strncmp(pod->name, PEOPLE_OTHER, strlen(PEOPLE_OTHER)) == 0;
}

static bool is_waiting(const struct api_object *pod)
{
    return pod->node_name[0] == '\0';
}

static bool is_any(const struct api_object *pod)
{
    (void)pod;
    return true;
}

static bool is_bound(const struct api_object *pod)
{
    return pod->node_name[0] != '\0';
}

static bool is_bound_other(const struct api_object *pod)
{
    return is_bound(pod) && is_other(pod);
}

static bool is_bound_ours(const struct api_object *pod)
{
    return is_bound(pod) && !is_other(pod);
}

static bool is_gated(const struct api_object *pod)
{
    return pod->gates != NULL;
}

/* --- what they do ---------------------------------------------------------------------------- */

static void delete_pod(struct people *people)
{
    const struct api_object *pod = pick_pod(people, is_bound);

    if (pod != NULL)
        api_model_delete_pod(people->world->api, pod->namespace, pod->name, 30);
}

/* Of those that run, so that there is room for others. */
static void end_pod(struct people *people)
{
    const struct api_object *pod = pick_pod(people, is_bound_ours);

    if (pod != NULL)
        api_model_delete_pod(people->world->api, pod->namespace, pod->name, 0);
}

static void kill_pod(struct people *people)
{
    const struct api_object *pod = pick_pod(people, is_any);

    if (pod != NULL)
        api_model_delete_pod(people->world->api, pod->namespace, pod->name, 0);
}

static bool can_be_placed(const struct api_object *pod)
{
    return !is_bound(pod) && !is_gated(pod);
}

static size_t count_waiting(const struct people *people)
{
    const struct api_model *api = people->world->api;
    size_t count = 0;

    for (size_t i = 0; i < api_model_count(api, API_POD); i++)
        count += can_be_placed(api_model_get(api, API_POD, i));
    return count;
}

/* What is missing or broken comes back. return false when all is as it was made. */
static bool mend(struct people *people)
{
    const struct api_model *api = people->world->api;

    for (size_t i = 0; i < people->machine_count; i++) {
        struct machine *machine = &people->machines[i];
        const struct api_object *node = api_model_find(api, API_NODE, "", machine->name);

        if (node != NULL && machine->broken == 0 &&
            api_object_annotation(node, CORDONED_DEVICES) == NULL)
            continue;
        machine->broken = 0;
        put_machine(people, machine);
        api_model_annotate(people->world->api, API_NODE, "", machine->name, CORDONED_DEVICES, NULL);
        return true;
    }
    return false;
}

/* Somebody goes. Without anybody to go, it is those who wait who lose their patience. */
static void make_room(struct people *people)
{
    const struct api_object *pod;

    if (chance_hits(&people->world->chance, 1000) && mend(people))
        return;
    pod = pick_pod(people, is_bound);
    if (pod == NULL)
        pod = pick_pod(people, is_waiting);
    if (pod != NULL)
        api_model_delete_pod(people->world->api, pod->namespace, pod->name, 0);
}

static unsigned most_devices(const struct people *people)
{
    unsigned most = 1;

    for (size_t i = 0; i < people->machine_count; i++)
        most = people->machines[i].devices > most ? people->machines[i].devices : most;
    return most;
}

static void add_pod(struct people *people)
{
    static const unsigned counts[] = {1, 1, 1, 1, 2, 2, 4};
    static const uint64_t memory_mib[] = {0, 0, 2000, 4000, 8000};
    static const unsigned cores[] = {0, 0, 30, 100};
    struct world *world = people->world;
    struct jitter *chance = &world->chance;
    unsigned count = counts[chance_pick(chance, ARRAY_LEN(counts))], most = most_devices(people);
    char name[16];

    if (api_model_count(world->api, API_POD) >= people->pods_most)
        return;
    do
        snprintf(name, sizeof name, "p%zu", chance_pick(chance, people->pods_most));
    while (api_model_find(world->api, API_POD, "default", name) != NULL);
    api_model_create_pod(
        world->api, &(struct api_pod_spec){
                        .name = name,
                        .devices = count < most ? count : most,
                        .memory_mib = people->wants_whole ? 0 : memory_mib[chance_pick(chance, 5)],
                        .cores = people->wants_whole ? 0 : cores[chance_pick(chance, 4)],
                        .gated = chance_hits(chance, 300)});
}

/* When many wait already, there is need for room instead. */
static void create_pod(struct people *people)
{
    const struct api_model *api = people->world->api;

    if (api_model_count(api, API_POD) < people->pods_most &&
        count_waiting(people) < people->waiting_most)
        add_pod(people);
    else if (chance_hits(&people->world->chance, 6000))
        make_room(people);
}

void people_crowd(struct people *people, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_pod(people);
}

static void finish_pod(struct people *people)
{
    const struct api_object *pod = pick_pod(people, is_bound);

    if (pod != NULL)
        api_model_set_phase(people->world->api, pod->namespace, pod->name,
                            chance_hits(&people->world->chance, 5000) ? "Succeeded" : "Failed");
}

static void recreate_pod(struct people *people)
{
    const struct api_object *pod = pick_pod(people, is_any);

    if (pod != NULL && !is_other(pod))
        api_model_recreate_pod(people->world->api, pod->namespace, pod->name);
}

static void ungate_pod(struct people *people)
{
    const struct api_object *pod = pick_pod(people, is_gated);

    if (pod != NULL)
        api_model_ungate_pod(people->world->api, pod->namespace, pod->name);
}

static void move_machine(struct people *people)
{
    struct machine *machine =
        &people->machines[chance_pick(&people->world->chance, people->machine_count)];

    if (api_model_find(people->world->api, API_NODE, "", machine->name) == NULL)
        put_machine(people, machine);
    else
        api_model_remove_node(people->world->api, machine->name);
}

static void break_device(struct people *people)
{
    struct jitter *chance = &people->world->chance;
    struct machine *machine = &people->machines[chance_pick(chance, people->machine_count)];

    if (api_model_find(people->world->api, API_NODE, "", machine->name) == NULL)
        return;
    machine->broken ^= (uint64_t)1 << chance_pick(chance, machine->devices);
    put_machine(people, machine);
}

static void cordon_device(struct people *people)
{
    struct jitter *chance = &people->world->chance;
    const struct machine *machine = &people->machines[chance_pick(chance, people->machine_count)];
    char id[32];

    snprintf(id, sizeof id, "GPU-%s-%zu", machine->name, chance_pick(chance, machine->devices));
    api_model_annotate(people->world->api, API_NODE, "", machine->name, CORDONED_DEVICES,
                       chance_hits(chance, 5000) ? id : NULL);
}

static char *other_record(struct people *people, const struct api_object *pod,
                          const struct machine *machine)
{
    return xasprintf("{\"version\":1,\"node\":\"%s\",\"podUID\":\"%s\",\"tier\":0,\"containers\":[{"
                     "\"name\":\"main\",\"kind\":\"app\",\"devices\":[{\"id\":\"GPU-%s-%zu\","
                     "\"memoryMiB\":2000,\"cores\":0,\"slots\":1,\"mode\":\"soft\"}]}]}",
                     machine->name, pod->uid, machine->name,
                     chance_pick(&people->world->chance, machine->devices));
}

/* Another scheduler places a pod, with or without a record: where it likes. */
static void place_other(struct people *people)
{
    struct world *world = people->world;
    const struct machine *machine =
        &people->machines[chance_pick(&world->chance, people->machine_count)];
    const struct api_object *pod;
    AUTO_FREE char *record = NULL;
    char name[24];

    snprintf(name, sizeof name, PEOPLE_OTHER "%u", people->last_other++ % OTHERS_MAX);
    pod = api_model_create_pod(
        world->api, &(struct api_pod_spec){
                        .name = name, .devices = 1, .memory_mib = 2000, .scheduler = "other"});
    if (pod == NULL)
        return;
    record = other_record(people, pod, machine);
    if (chance_hits(&world->chance, 5000))
        api_model_annotate(world->api, API_POD, "default", name, "topofit.io/allocation", record);
    api_model_bind_elsewhere(world->api, "default", name, machine->name);
}

/* Somebody edits a record: another device, or nonsense, or none. */
static void edit_record(struct people *people)
{
    const struct api_object *pod = pick_pod(people, is_bound_other);
    struct jitter *chance = &people->world->chance;
    AUTO_FREE char *record = NULL;

    if (pod == NULL)
        return;
    for (size_t i = 0; i < people->machine_count && chance_hits(chance, 7000); i++) {
        if (strcmp(people->machines[i].name, pod->node_name) == 0)
            record = other_record(people, pod, &people->machines[i]);
    }
    if (record == NULL && chance_hits(chance, 5000))
        record = xstrdup("{\"version\":1,\"containers\":7}");
    api_model_annotate(people->world->api, API_POD, pod->namespace, pod->name,
                       "topofit.io/allocation", record);
}

static void lock_for_another(struct people *people)
{
    plugins_rival(people->world->plugins);
}

static void label_node(struct people *people)
{
    const struct machine *machine =
        &people->machines[chance_pick(&people->world->chance, people->machine_count)];
    AUTO_FREE char *value = xasprintf("%" PRIu64, people->ticks);

    api_model_annotate(people->world->api, API_NODE, "", machine->name, "example.com/heartbeat",
                       value);
}

/* --- what goes wrong ------------------------------------------------------------------------- */

static bool on_server_up(void *ctx, uint64_t number)
{
    (void)number;
    network_set_server(((struct people *)ctx)->world->network, true);
    return true;
}

static bool on_restart(void *ctx, uint64_t number)
{
    struct people *people = ctx;

    people->is_restart_planned[number] = false;
    if (replica_is_alive(people->world->replicas[number]))
        return false;
    replica_start(people->world->replicas[number]);
    return true;
}

/* Whoever is down comes back by and by. */
static void plan_restarts(struct people *people)
{
    struct world *world = people->world;

    for (size_t i = 0; i < world->options.replicas; i++) {
        if (replica_is_alive(world->replicas[i]) || people->is_restart_planned[i])
            continue;
        people->is_restart_planned[i] = true;
        world_plan(world, chance_wait_ms(&world->chance, world->is_calm ? 1000 : 20000), on_restart,
                   people, i);
    }
}

static uint64_t outage_ms(struct jitter *chance)
{
    if (chance_hits(chance, 4000))
        return 0;
    return chance_hits(chance, 5000) ? chance_wait_ms(chance, 60000)
                                     : chance_between(chance, 1000, 40000);
}

/* Watches have connections of their own, which may have troubles of their own. */
static void cut_off(struct people *people, size_t index)
{
    struct jitter *chance = &people->world->chance;
    struct outage outage = {
        outage_ms(chance), outage_ms(chance), outage_ms(chance),
        chance_hits(chance, 5000) ? 10000 : (unsigned)chance_between(chance, 3000, 9500)};

    network_cut(people->world->network, index, &outage);
}

static void trouble_replica(struct people *people, size_t index)
{
    struct world *world = people->world;
    struct replica *replica = world->replicas[index];

    if (!replica_is_alive(replica))
        return;
    if (world_fault(world, FAULT_CRASH))
        replica_crash(replica);
    if (world_fault(world, FAULT_PARTITION))
        cut_off(people, index);
    if (world_fault(world, FAULT_STOP))
        replica_stop(replica);
    if (world_fault(world, FAULT_PAUSE))
        replica_pause(replica, chance_wait_ms(&world->chance, 60000));
    if (world_fault(world, FAULT_CLOCK_JUMP))
        replica_jump_clock(replica);
    if (world_fault(world, FAULT_RECONCILE))
        replica_reconcile(replica);
}

static void trouble(struct people *people)
{
    struct world *world = people->world;

    for (size_t i = 0; i < world->options.replicas; i++)
        trouble_replica(people, i);
    if (world_fault(world, FAULT_COMPACTION))
        api_model_compact(world->api);
    if (world_fault(world, FAULT_SCHEDULER_RESTART))
        scheduler_restart(world->scheduler);
    if (world_fault(world, FAULT_SERVER_DOWN)) {
        network_set_server(world->network, false);
        world_plan(world, chance_wait_ms(&world->chance, 40000), on_server_up, people, 0);
    }
}

/* --- kubelets and controllers ---------------------------------------------------------------- */

/* One of them does what it has to; in calm all of it is done in the end. */
static void keep_house(struct people *people)
{
    struct api_model *api = people->world->api;
    size_t count = api_model_count(api, API_POD);

    for (size_t i = count; i > 0; i--) {
        const struct api_object *pod = api_model_get(api, API_POD, i - 1);
        bool has_node = api_model_find(api, API_NODE, "", pod->node_name) != NULL;

        if (!people->world->is_calm && !chance_hits(&people->world->chance, 500))
            continue;
        if (pod->deleting || (is_bound(pod) && !has_node))
            api_model_remove_pod(api, pod->namespace, pod->name);
        else if (is_bound(pod) && strcmp(pod->phase, "Pending") == 0 &&
                 !plugins_are_awaited(people->world->plugins, pod))
            api_model_set_phase(api, pod->namespace, pod->name, "Running");
    }
}

bool people_are_done(const struct people *people)
{
    const struct api_model *api = people->world->api;

    for (size_t i = 0; i < api_model_count(api, API_POD); i++) {
        const struct api_object *pod = api_model_get(api, API_POD, i);

        if (pod->deleting || (is_bound(pod) && strcmp(pod->phase, "Pending") == 0))
            return false;
    }
    return true;
}

/* --- habits ---------------------------------------------------------------------------------- */

static const struct {
    void (*act)(struct people *people);
    unsigned most; /* weight */
} habits[] = {
    {create_pod, 100}, {end_pod, 20},         {delete_pod, 15}, {kill_pod, 5},
    {finish_pod, 15},  {recreate_pod, 10},    {ungate_pod, 20}, {move_machine, 4},
    {break_device, 6}, {cordon_device, 4},    {place_other, 6}, {edit_record, 4},
    {label_node, 3},   {lock_for_another, 8},
};

static void act(struct people *people)
{
    struct jitter *chance = &people->world->chance;
    uint64_t sum = 1, at;

    for (size_t i = 0; i < ARRAY_LEN(habits); i++)
        sum += people->weights[i];
    at = chance_between(chance, 1, sum);
    for (size_t i = 0; i < ARRAY_LEN(habits); i++) {
        if (at <= people->weights[i]) {
            habits[i].act(people);
            return;
        }
        at -= people->weights[i];
    }
}

/* Whoever could do nothing lets others work. */
static uint64_t next_tick_ms(struct people *people, bool did_something)
{
    struct jitter *chance = &people->world->chance;

    if (people->world->is_calm)
        return CALM_TICK_MS;
    if (turnover_is_quiet(people->world->turnover))
        return chance_between(chance, 1, QUIET_TICK_MS);
    if (did_something)
        return chance_between(chance, 1, people->tick_ms);
    return chance_between(chance, 20, 800);
}

static bool on_tick(void *ctx, uint64_t number)
{
    struct people *people = ctx;
    struct world *world = people->world;
    uint64_t version = api_model_version(world->api);

    if (number != people->ticks)
        return false;
    keep_house(people);
    plan_restarts(people);
    if (!world->is_calm) {
        trouble(people);
        act(people);
    }
    world_plan(world, next_tick_ms(people, api_model_version(world->api) != version), on_tick,
               people, ++people->ticks);
    return true;
}

void people_begin(struct people *people)
{
    struct jitter *chance = &people->world->chance;

    if (!people->world->is_calm && chance_hits(chance, 4000))
        make_machines(people);
    people->tick_ms = (uint64_t)5 << chance_pick(chance, 5);
    people->pods_most = (size_t)chance_between(chance, 6, PODS_MAX);
    people->wants_whole = chance_hits(chance, 5000);
    people->waiting_most = (size_t)chance_between(chance, 1, 6);
    for (size_t i = 0; i < ARRAY_LEN(habits); i++)
        people->weights[i] =
            chance_hits(chance, 7000) ? (unsigned)chance_between(chance, 1, habits[i].most) : 0;
    people->weights[0] += 40; /* there are always some who come */
    people->weights[1] += 5;  /* and some who go */
    if (people->world->is_calm) {
        network_set_server(people->world->network, true);
        for (size_t i = 0; i < people->world->options.replicas; i++)
            replica_resume(people->world->replicas[i]);
        for (size_t i = 0; i < people->world->options.replicas; i++)
            network_cut(people->world->network, i, &(struct outage){0});
    }
    world_plan(people->world, 0, on_tick, people, ++people->ticks);
}
