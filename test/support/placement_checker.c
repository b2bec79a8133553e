/* SPDX-License-Identifier: Apache-2.0 */
/* placement_checker - is what the API server holds possible, and is what we said true? */
#include "support/placement_checker.h"
#include "support/placement_record.h"

#include "topofit/map.h"
#include "topofit/mem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 1024
#define BOUND_MAX 200000 /* pods whose node is remembered */

static const struct hash_key KEY = {{1, 2}};

/* A pod that holds devices by its record. */
struct held {
    char *key, *uid, *node; /* key: namespace/name */
    char *record, *status;  /* what the amounts were read from */
    struct placement_amounts *amounts;
    size_t count;
};

/* A node: what its devices have at most, and who is there. */
struct place {
    struct placement_amounts *devices;
    size_t device_count;
    struct held **tenants; /* borrowed */
    size_t tenant_count, tenant_capacity;
};

struct placement_checker {
    const struct api_model *model;
    char *scheduler;
    struct map *held;   /* by uid */
    struct map *places; /* by node name */
    struct map *bound;  /* uid to node name, of all pods ever seen bound */
    uint64_t next[API_KINDS];
    bool has_gap; /* the log was cut: pods may have been bound unseen */
    char text[TEXT_MAX];
};

/* --- life ------------------------------------------------------------------------------------ */

struct placement_checker *placement_checker_new(const struct api_model *model,
                                                const char *scheduler)
{
    struct placement_checker *checker = xcalloc(1, sizeof *checker);

    checker->model = model;
    checker->scheduler = xstrdup(scheduler);
    checker->held = map_new(&KEY);
    checker->places = map_new(&KEY);
    checker->bound = map_new(&KEY);
    return checker;
}

static void free_held(void *value)
{
    struct held *held = value;

    free(held->key);
    free(held->uid);
    free(held->node);
    free(held->record);
    free(held->status);
    free(held->amounts);
    free(held);
}

static void free_place(void *value)
{
    struct place *place = value;

    free(place->devices);
    free(place->tenants);
    free(place);
}

void placement_checker_free(struct placement_checker *checker)
{
    if (checker == NULL)
        return;
    map_free(checker->held, free_held);
    map_free(checker->places, free_place);
    map_free(checker->bound, free);
    free(checker->scheduler);
    free(checker);
}

/* The first thing that is wrong is the one to look at. */
__attribute__((format(printf, 2, 3))) static void complain(struct placement_checker *checker,
                                                           const char *format, ...)
{
    va_list arguments;

    if (checker->text[0] != '\0')
        return;
    va_start(arguments, format);
    vsnprintf(checker->text, sizeof checker->text, format, arguments);
    va_end(arguments);
}

/* --- nodes ----------------------------------------------------------------------------------- */

static struct place *place_of(struct placement_checker *checker, const char *node)
{
    struct place *place = map_get(checker->places, node);

    if (place == NULL) {
        place = xcalloc(1, sizeof *place);
        map_put(checker->places, node, place);
    }
    return place;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Nodes only ever gain here. */
static void learn_node(struct placement_checker *checker, const struct api_object *node)
{
    struct placement_amounts told[PLACEMENT_DEVICES_MAX];
    size_t count = placement_read_inventory(node, told);
    struct place *place = place_of(checker, node->name);

    for (size_t i = 0; i < count; i++) {
        struct placement_amounts *known =
            placement_find(place->devices, place->device_count, told[i].id);

        if (known == NULL) {
            place->devices =
                xreallocarray(place->devices, place->device_count + 1, sizeof *place->devices);
            place->devices[place->device_count++] = told[i];
            continue;
        }
        known->memory_mib = greater(known->memory_mib, told[i].memory_mib);
        known->cores = greater(known->cores, told[i].cores);
        known->slots = greater(known->slots, told[i].slots);
    }
}

/* --- who holds what -------------------------------------------------------------------------- */

static void leave(struct place *place, const struct held *held)
{
    for (size_t i = 0; i < place->tenant_count; i++) {
        if (place->tenants[i] == held) {
            place->tenants[i] = place->tenants[--place->tenant_count];
            return;
        }
    }
}

static void release(struct placement_checker *checker, const char *uid)
{
    struct held *held = map_remove(checker->held, uid);

    if (held == NULL)
        return;
    leave(place_of(checker, held->node), held);
    free_held(held);
}

static struct held *hold(struct placement_checker *checker, const struct api_object *pod,
                         const struct placement_amounts *amounts, size_t count)
{
    struct place *place = place_of(checker, pod->node_name);
    struct held *held = xcalloc(1, sizeof *held);

    held->key = xasprintf("%s/%s", pod->namespace, pod->name);
    held->uid = xstrdup(pod->uid);
    held->node = xstrdup(pod->node_name);
    held->record = xstrdup(api_object_annotation(pod, "topofit.io/allocation"));
    held->status = xstrdup(pod->status);
    held->amounts = xcalloc(count, sizeof *amounts);
    memcpy(held->amounts, amounts, count * sizeof *amounts);
    held->count = count;
    map_put(checker->held, pod->uid, held);
    place->tenants = mem_grow(place->tenants, place->tenant_count, &place->tenant_capacity,
                              sizeof *place->tenants);
    place->tenants[place->tenant_count++] = held;
    return held;
}

/* --- devices --------------------------------------------------------------------------------- */

static void check_company(struct placement_checker *checker, const struct held *pod,
                          const struct held *other, const struct placement_amounts *mine,
                          const struct placement_amounts *theirs,
                          const struct placement_amounts *device)
{
    if (strcmp(mine->mode, theirs->mode) != 0 || strcmp(mine->mode, "shared") == 0)
        complain(checker, "%s of %s: %s has it %s, and %s %s", device->id, pod->node, pod->key,
                 mine->mode, other->key, theirs->mode);
    if (mine->cores >= device->cores || theirs->cores >= device->cores)
        complain(checker, "%s of %s: %s and %s share it, and one of them has all cores", device->id,
                 pod->node, pod->key, other->key);
}

/* A device that a pod has just got, together with all others on it. */
static void check_device(struct placement_checker *checker, const struct place *place,
                         const struct held *pod, const struct placement_amounts *mine)
{
    const struct placement_amounts *device =
        placement_find(place->devices, place->device_count, mine->id);
    struct placement_amounts sum = *mine;
    AUTO(buf_clear) struct buf others = buf_with_max(TEXT_MAX);

    if (device == NULL) {
        complain(checker, "%s has %s, which node %s never had", pod->key, mine->id, pod->node);
        return;
    }
    for (size_t i = 0; i < place->tenant_count; i++) {
        struct held *tenant = place->tenants[i];
        const struct placement_amounts *theirs =
            placement_find(tenant->amounts, tenant->count, mine->id);

        if (tenant == pod || theirs == NULL)
            continue;
        buf_addf(&others, "%s%s", others.length > 0 ? ", " : " beside ", tenant->key);
        check_company(checker, pod, tenant, mine, theirs, device);
        sum.memory_mib += theirs->memory_mib;
        sum.cores += theirs->cores;
        sum.slots += theirs->slots;
    }
    if (sum.memory_mib > device->memory_mib || sum.cores > device->cores ||
        sum.slots > device->slots)
        complain(checker,
                 "%s of %s gives %" PRIu64 " MiB, %" PRIu64 " cores, %" PRIu64
                 " slots, and has %" PRIu64 ", %" PRIu64 ", %" PRIu64 ": %s%s",
                 device->id, pod->node, sum.memory_mib, sum.cores, sum.slots, device->memory_mib,
                 device->cores, device->slots, pod->key, buf_text(&others));
}

static void check_pod_devices(struct placement_checker *checker, const struct held *held)
{
    const struct place *place = place_of(checker, held->node);

    for (size_t i = 0; i < held->count; i++)
        check_device(checker, place, held, &held->amounts[i]);
}

/* --- pods ------------------------------------------------------------------------------------ */

static bool is_finished(const struct api_object *pod)
{
    return strcmp(pod->phase, "Succeeded") == 0 || strcmp(pod->phase, "Failed") == 0;
}

static void remember_bound(struct placement_checker *checker, const struct api_object *pod)
{
    if (map_get(checker->bound, pod->uid) == NULL && map_count(checker->bound) < BOUND_MAX)
        map_put(checker->bound, pod->uid, xstrdup(pod->node_name));
}

static void check_unrecorded(struct placement_checker *checker, const struct api_object *pod)
{
    if (strcmp(pod->scheduler_name, checker->scheduler) == 0 && placement_asks_devices(pod))
        complain(checker, "%s/%s is bound to %s without a record", pod->namespace, pod->name,
                 pod->node_name);
}

/* A pod as it is now: read it if what counts has changed. */
static void learn_pod(struct placement_checker *checker, const struct api_object *pod)
{
    const char *record = api_object_annotation(pod, "topofit.io/allocation");
    const struct held *known = map_get(checker->held, pod->uid);
    struct placement_amounts amounts[PLACEMENT_DEVICES_MAX];
    AUTO_FREE char *wrong = NULL;
    size_t count;

    if (pod->node_name[0] == '\0')
        return;
    remember_bound(checker, pod);
    if (is_finished(pod)) {
        release(checker, pod->uid);
        return;
    }
    if (record == NULL) {
        release(checker, pod->uid);
        check_unrecorded(checker, pod);
        return;
    }
    if (known != NULL && strcmp(known->record, record) == 0 &&
        strcmp(known->status, pod->status) == 0)
        return;
    release(checker, pod->uid);
    wrong = placement_read_record(pod, amounts, &count);
    if (wrong != NULL)
        complain(checker, "%s/%s on %s: %s", pod->namespace, pod->name, pod->node_name, wrong);
    else
        check_pod_devices(checker, hold(checker, pod, amounts, count));
}

/* --- following the log ----------------------------------------------------------------------- */

static bool has_change(const struct placement_checker *checker, enum api_kind kind)
{
    return checker->next[kind] < api_model_end(checker->model, kind);
}

static uint64_t version_of_next(const struct placement_checker *checker, enum api_kind kind)
{
    if (!has_change(checker, kind))
        return UINT64_MAX;
    return api_model_change(checker->model, kind, checker->next[kind])->version;
}

static void follow_pod(struct placement_checker *checker, const struct api_change *change)
{
    if (change->is_deletion)
        release(checker, change->after->uid);
    else
        learn_pod(checker, change->after);
}

static void forget_all_held(struct placement_checker *checker)
{
    struct map_cursor at = {0};

    while (map_next(checker->held, &at)) {
        struct held *held = at.value;

        leave(place_of(checker, held->node), held);
        map_remove(checker->held, held->uid);
        free_held(held);
    }
}

static void start_anew(struct placement_checker *checker)
{
    const struct api_model *model = checker->model;

    checker->has_gap = true;
    forget_all_held(checker);
    for (size_t i = 0; i < api_model_count(model, API_NODE); i++)
        learn_node(checker, api_model_get(model, API_NODE, i));
    for (size_t i = 0; i < api_model_count(model, API_POD); i++)
        learn_pod(checker, api_model_get(model, API_POD, i));
    for (unsigned kind = 0; kind < API_KINDS; kind++)
        checker->next[kind] = api_model_end(model, (enum api_kind)kind);
}

static void follow(struct placement_checker *checker)
{
    const struct api_model *model = checker->model;

    if (checker->next[API_NODE] < api_model_first(model, API_NODE) ||
        checker->next[API_POD] < api_model_first(model, API_POD))
        start_anew(checker);
    while (has_change(checker, API_NODE) || has_change(checker, API_POD)) {
        const struct api_change *change;

        if (version_of_next(checker, API_NODE) < version_of_next(checker, API_POD)) {
            change = api_model_change(model, API_NODE, checker->next[API_NODE]++);
            learn_node(checker, change->after);
        } else {
            change = api_model_change(model, API_POD, checker->next[API_POD]++);
            follow_pod(checker, change);
        }
    }
}

static const char *verdict(const struct placement_checker *checker)
{
    return checker->text[0] != '\0' ? checker->text : NULL;
}

const char *placement_checker_check(struct placement_checker *checker)
{
    checker->text[0] = '\0';
    follow(checker);
    return verdict(checker);
}

/* --- what was said --------------------------------------------------------------------------- */

const char *placement_checker_bind_answered(struct placement_checker *checker, const char *uid,
                                            const char *node, const char *error)
{
    const char *is;

    checker->text[0] = '\0';
    follow(checker);
    is = map_get(checker->bound, uid);
    if (error[0] != '\0')
        return verdict(checker);
    if (is == NULL && !checker->has_gap)
        complain(checker, "success was said for uid %s on %s, which was never bound", uid, node);
    else if (is != NULL && strcmp(is, node) != 0)
        complain(checker, "success was said for uid %s on %s, which is bound to %s", uid, node, is);
    return verdict(checker);
}

static const struct api_object *pod_of_uid(const struct api_model *model, const char *uid)
{
    for (size_t i = 0; i < api_model_count(model, API_POD); i++) {
        const struct api_object *pod = api_model_get(model, API_POD, i);

        if (strcmp(pod->uid, uid) == 0)
            return pod;
    }
    return NULL;
}

static void compare_seen(struct placement_checker *checker, const struct placement_seen *seen)
{
    const struct api_object *pod = pod_of_uid(checker->model, seen->uid);

    if (pod == NULL)
        complain(checker, "%s is held for uid %s, which is gone", seen->node, seen->uid);
    else if (is_finished(pod))
        complain(checker, "%s is held for %s/%s, which has finished", seen->node, pod->namespace,
                 pod->name);
    else if (strcmp(pod->node_name, seen->node) != 0)
        complain(checker, "%s is held for %s/%s, which is on \"%s\"", seen->node, pod->namespace,
                 pod->name, pod->node_name);
}

static bool is_seen(const struct held *held, const struct placement_seen *seen, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(seen[i].uid, held->uid) == 0)
            return true;
    }
    return false;
}

const char *placement_checker_compare(struct placement_checker *checker,
                                      const struct placement_seen *seen, size_t count)
{
    struct map_cursor at = {0};

    checker->text[0] = '\0';
    follow(checker);
    for (size_t i = 0; i < count; i++)
        compare_seen(checker, &seen[i]);
    while (map_next(checker->held, &at)) {
        const struct held *held = at.value;

        if (!is_seen(held, seen, count))
            complain(checker, "%s holds devices of %s, and nobody knows", held->key, held->node);
    }
    return verdict(checker);
}

size_t placement_checker_held_count(const struct placement_checker *checker)
{
    return map_count(checker->held);
}
