/* SPDX-License-Identifier: Apache-2.0 */
/* waste_memo - the models of the present mix, remembered from call to call. */
#include "topofit/waste_memo.h"

#include "topofit/mem.h"

#include <pthread.h>
#include <stdlib.h>

#define FIRST_SLOTS 64

struct waste_models {
    unsigned references;
    struct pod_mix *mix; /* one reference */

    pthread_mutex_t lock;       /* all below */
    struct waste_model **slots; /* by kind of device, open addressing; at most half in use */
    size_t count, slot_count;
    uint64_t computed;
};

struct waste_memo {
    pthread_mutex_t lock;
    struct waste_models *models; /* of the mix asked about last; one reference, or NULL */
};

/* --- of one mix ------------------------------------------------------------------------------- */

static struct waste_models *models_new(struct pod_mix *mix)
{
    struct waste_models *models = xcalloc(1, sizeof *models);

    models->references = 1;
    models->mix = pod_mix_ref(mix);
    pthread_mutex_init(&models->lock, NULL);
    models->slot_count = FIRST_SLOTS;
    models->slots = xcalloc(models->slot_count, sizeof(*models->slots));
    return models;
}

static struct waste_models *models_ref(struct waste_models *models)
{
    __atomic_add_fetch(&models->references, 1, __ATOMIC_RELAXED);
    return models;
}

void waste_models_unref(struct waste_models *models)
{
    if (models == NULL || __atomic_sub_fetch(&models->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (size_t i = 0; i < models->slot_count; i++)
        free(models->slots[i]);
    free(models->slots);
    pod_mix_unref(models->mix);
    pthread_mutex_destroy(&models->lock);
    free(models);
}

uint64_t waste_models_computed(struct waste_models *models)
{
    uint64_t computed;

    pthread_mutex_lock(&models->lock);
    computed = models->computed;
    pthread_mutex_unlock(&models->lock);
    return computed;
}

static size_t hash_kind(const struct device *device)
{
    const uint64_t words[] = {(uintptr_t)device->class, device->memory_mib, device->cores};
    uint64_t hash = 0;

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return (size_t)hash;
}

/* With the lock held: the slot of a kind, or the free one where it belongs. */
static struct waste_model **find_slot(const struct waste_models *models,
                                      const struct device *device)
{
    for (size_t at = hash_kind(device);; at++) {
        struct waste_model **slot = &models->slots[at & (models->slot_count - 1)];

        if (*slot == NULL || waste_model_is_of(*slot, device))
            return slot;
    }
}

/* With the lock held. */
static void make_room(struct waste_models *models)
{
    struct waste_model **before = models->slots;
    size_t slot_count = models->slot_count;

    if (models->count * 2 < slot_count)
        return;
    models->slot_count = slot_count * 2;
    models->slots = xcalloc(models->slot_count, sizeof(*models->slots));
    for (size_t i = 0; i < slot_count; i++) {
        if (before[i] != NULL)
            *find_slot(models, &(struct device){.class = before[i]->class,
                                                .memory_mib = before[i]->memory_mib,
                                                .cores = before[i]->cores}) = before[i];
    }
    free(before);
}

static const struct waste_model *find(struct waste_models *models, const struct device *device)
{
    const struct waste_model *found;

    pthread_mutex_lock(&models->lock);
    found = *find_slot(models, device);
    pthread_mutex_unlock(&models->lock);
    return found;
}

/* return what is kept of that kind, or NULL: there is no room, and it stays the caller's. */
static const struct waste_model *keep(struct waste_models *models, const struct device *device,
                                      const struct waste_model *computed)
{
    const struct waste_model *kept;
    struct waste_model **slot;

    pthread_mutex_lock(&models->lock);
    models->computed++;
    make_room(models);
    slot = find_slot(models, device);
    if (*slot == NULL && models->count < WASTE_KINDS_MAX) {
        *slot = xmalloc(sizeof(**slot));
        **slot = *computed;
        models->count++;
    }
    kept = *slot;
    pthread_mutex_unlock(&models->lock);
    return kept;
}

static bool is_beyond(const struct node_models *of, const struct waste_model *model)
{
    return model >= of->beyond && model < of->beyond + DEVICE_MAX;
}

void waste_models_of_node(struct waste_models *models, const struct node *node,
                          struct node_models *out)
{
    for (unsigned i = 0; i < node->device_count; i++) {
        const struct device *device = &node->devices[i];

        if (out->last == NULL || !waste_model_is_of(out->last, device))
            out->last = find(models, device);
        if (out->last == NULL) {
            waste_model_init(&out->beyond[i], models->mix, device);
            out->last = keep(models, device, &out->beyond[i]);
        }
        if (out->last == NULL)
            out->last = &out->beyond[i];
        out->of[i] = out->last;
    }
    if (is_beyond(out, out->last))
        out->last = NULL; /* the next node's go there */
}

/* --- of the present one ----------------------------------------------------------------------- */

struct waste_memo *waste_memo_new(void)
{
    struct waste_memo *memo = xcalloc(1, sizeof *memo);

    pthread_mutex_init(&memo->lock, NULL);
    return memo;
}

void waste_memo_free(struct waste_memo *memo)
{
    if (memo == NULL)
        return;
    waste_models_unref(memo->models);
    pthread_mutex_destroy(&memo->lock);
    free(memo);
}

struct waste_models *waste_memo_models(struct waste_memo *memo, struct pod_mix *mix)
{
    struct waste_models *models, *before = NULL;

    if (mix == NULL)
        return NULL;
    if (memo == NULL)
        return models_new(mix);
    pthread_mutex_lock(&memo->lock);
    if (memo->models == NULL || memo->models->mix != mix) {
        before = memo->models;
        memo->models = models_new(mix);
    }
    models = models_ref(memo->models);
    pthread_mutex_unlock(&memo->lock);
    waste_models_unref(before);
    return models;
}
