/* SPDX-License-Identifier: Apache-2.0 */
/* api_store - the objects of the API model, and the log of what happened to them. */
#include "support/api_model_inside.h"

#include "topofit/mem.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOG_STANDARD 4096

const struct api_resource api_resources[API_KINDS] = {
    [API_NODE] = {"v1", "", "nodes", "Node", "/api/v1/", false},
    [API_POD] = {"v1", "", "pods", "Pod", "/api/v1/", true},
    [API_LEASE] = {"coordination.k8s.io/v1", "coordination.k8s.io", "leases", "Lease",
                   "/apis/coordination.k8s.io/v1/", true},
    [API_EVENT] = {"events.k8s.io/v1", "events.k8s.io", "events", "Event",
                   "/apis/events.k8s.io/v1/", true},
    [API_QUOTA] = {"v1", "", "resourcequotas", "ResourceQuota", "/api/v1/", true},
};

/* --- life ------------------------------------------------------------------------------------ */

struct api_model *api_model_new(size_t log_max)
{
    struct api_model *model = xcalloc(1, sizeof *model);

    model->log_max = log_max > 0 ? log_max : LOG_STANDARD;
    model->version = 1;
    model->scratch = buf_with_max(API_BYTES_MAX);
    for (size_t i = 0; i < API_KINDS; i++) {
        model->stores[i].ring = xcalloc(model->log_max, sizeof(struct api_change));
        model->stores[i].oldest = model->version;
    }
    return model;
}

static void forget_change(struct api_model *model, struct api_store *store)
{
    struct api_change *change = &store->ring[store->first % model->log_max];

    store->oldest = change->version;
    api_object_unref(change->before);
    api_object_unref(change->after);
    *change = (struct api_change){0};
    store->first++;
}

void api_model_free(struct api_model *model)
{
    if (model == NULL)
        return;
    for (size_t i = 0; i < API_KINDS; i++) {
        struct api_store *store = &model->stores[i];

        while (store->first < store->end)
            forget_change(model, store);
        api_state_free(store->live, store->count);
        free(store->ring);
    }
    buf_clear(&model->scratch);
    free(model);
}

struct api_options *api_model_options(struct api_model *model)
{
    return &model->options;
}

void api_model_at(struct api_model *model, uint64_t now_ms)
{
    model->now_ms = now_ms;
}

void api_time_text(const struct api_model *model, char out[24])
{
    time_t second = (time_t)((model->options.epoch_ms + model->now_ms) / 1000);
    struct tm parts;

    gmtime_r(&second, &parts);
    strftime(out, 24, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

char *api_new_uid(struct api_model *model)
{
    return xasprintf("00000000-0000-4000-8000-%012" PRIx64, ++model->uids);
}

/* --- the order of keys ----------------------------------------------------------------------- */

int api_key_compare(const struct api_object *object, const char *namespace, const char *name)
{
    int order = strcmp(object->namespace, namespace);

    return order != 0 ? order : strcmp(object->name, name);
}

size_t api_store_place(struct api_object *const *objects, size_t count, const char *namespace,
                       const char *name)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (api_key_compare(objects[middle], namespace, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(struct api_object *const *objects, size_t count, size_t place,
                  const struct api_object *object)
{
    return place < count && api_key_compare(objects[place], object->namespace, object->name) == 0;
}

static void insert(struct api_object **objects, size_t count, size_t place,
                   struct api_object *object)
{
    memmove(&objects[place + 1], &objects[place], (count - place) * sizeof(struct api_object *));
    objects[place] = object;
}

static void take_out(struct api_object **objects, size_t count, size_t place)
{
    memmove(&objects[place], &objects[place + 1],
            (count - place - 1) * sizeof(struct api_object *));
}

/* --- changes --------------------------------------------------------------------------------- */

static void log_change(struct api_model *model, struct api_store *store, struct api_change change)
{
    if (store->end - store->first == model->log_max)
        forget_change(model, store);
    store->ring[store->end++ % model->log_max] = change;
}

static void stamp(struct api_model *model, struct api_object *object)
{
    object->version = ++model->version;
    api_object_render(object, &model->scratch);
}

const struct api_object *api_store_add(struct api_model *model, struct api_object *steal)
{
    struct api_store *store = &model->stores[steal->kind];
    size_t place = api_store_place(store->live, store->count, steal->namespace, steal->name);

    assert(!is_at(store->live, store->count, place, steal));
    free(steal->uid);
    steal->uid = api_new_uid(model);
    api_time_text(model, steal->created);
    stamp(model, steal);
    store->live = mem_grow(store->live, store->count, &store->capacity, sizeof *store->live);
    insert(store->live, store->count++, place, steal);
    log_change(model, store,
               (struct api_change){.version = steal->version, .after = api_object_ref(steal)});
    return steal;
}

/* A new version that says the same is none. */
const struct api_object *api_store_update(struct api_model *model, struct api_object *steal)
{
    struct api_store *store = &model->stores[steal->kind];
    size_t place = api_store_place(store->live, store->count, steal->namespace, steal->name);
    struct api_object *before;

    assert(is_at(store->live, store->count, place, steal));
    before = store->live[place];
    api_object_render(steal, &model->scratch);
    if (api_object_is_same(before, steal)) {
        api_object_unref(steal);
        return before;
    }
    stamp(model, steal);
    store->live[place] = steal;
    log_change(model, store,
               (struct api_change){
                   .version = steal->version, .before = before, .after = api_object_ref(steal)});
    return steal;
}

void api_store_remove(struct api_model *model, const struct api_object *object)
{
    struct api_store *store = &model->stores[object->kind];
    size_t place = api_store_place(store->live, store->count, object->namespace, object->name);
    struct api_object *before, *after;

    assert(is_at(store->live, store->count, place, object));
    before = store->live[place];
    after = api_object_copy(before);
    stamp(model, after);
    take_out(store->live, store->count--, place);
    log_change(
        model, store,
        (struct api_change){
            .version = after->version, .before = before, .after = after, .is_deletion = true});
}

void api_model_compact(struct api_model *model)
{
    for (size_t i = 0; i < API_KINDS; i++) {
        while (model->stores[i].first < model->stores[i].end)
            forget_change(model, &model->stores[i]);
        model->stores[i].oldest = model->version;
    }
}

/* --- the past -------------------------------------------------------------------------------- */

static void undo(struct api_object **state, size_t *count, const struct api_change *change)
{
    const struct api_object *object = change->after;
    size_t place = api_store_place(state, *count, object->namespace, object->name);

    if (change->before == NULL) {
        api_object_unref(state[place]);
        take_out(state, (*count)--, place);
    } else if (change->is_deletion) {
        insert(state, (*count)++, place, api_object_ref(change->before));
    } else {
        api_object_unref(state[place]);
        state[place] = api_object_ref(change->before);
    }
}

struct api_object **api_store_state(const struct api_model *model, enum api_kind kind,
                                    uint64_t version, size_t *out_count)
{
    const struct api_store *store = &model->stores[kind];
    uint64_t behind = api_store_behind(model, kind, version);
    struct api_object **state = xcalloc(store->count + (store->end - behind) + 1, sizeof *state);
    size_t count = store->count;

    assert(version >= store->oldest);
    for (size_t i = 0; i < count; i++)
        state[i] = api_object_ref(store->live[i]);
    for (uint64_t n = store->end; n > behind; n--)
        undo(state, &count, &store->ring[(n - 1) % model->log_max]);
    *out_count = count;
    return state;
}

void api_state_free(struct api_object **state, size_t count)
{
    for (size_t i = 0; i < count; i++)
        api_object_unref(state[i]);
    free(state);
}

uint64_t api_store_behind(const struct api_model *model, enum api_kind kind, uint64_t version)
{
    const struct api_store *store = &model->stores[kind];
    uint64_t low = store->first, high = store->end;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (store->ring[middle % model->log_max].version <= version)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* --- reading --------------------------------------------------------------------------------- */

uint64_t api_model_version(const struct api_model *model)
{
    return model->version;
}

size_t api_model_count(const struct api_model *model, enum api_kind kind)
{
    return model->stores[kind].count;
}

const struct api_object *api_model_get(const struct api_model *model, enum api_kind kind,
                                       size_t index)
{
    assert(index < model->stores[kind].count);
    return model->stores[kind].live[index];
}

const struct api_object *api_model_find(const struct api_model *model, enum api_kind kind,
                                        const char *namespace, const char *name)
{
    const struct api_store *store = &model->stores[kind];
    size_t place = api_store_place(store->live, store->count, namespace, name);

    if (place == store->count || api_key_compare(store->live[place], namespace, name) != 0)
        return NULL;
    return store->live[place];
}

uint64_t api_model_first(const struct api_model *model, enum api_kind kind)
{
    return model->stores[kind].first;
}

uint64_t api_model_end(const struct api_model *model, enum api_kind kind)
{
    return model->stores[kind].end;
}

const struct api_change *api_model_change(const struct api_model *model, enum api_kind kind,
                                          uint64_t number)
{
    const struct api_store *store = &model->stores[kind];

    assert(number >= store->first && number < store->end);
    return &store->ring[number % model->log_max];
}
