/* SPDX-License-Identifier: Apache-2.0 */
/* grant - what pods hold: the record of one pod, and the sums on one node. */
#include "topofit/grant.h"

#include "topofit/core_choice.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- allocations ----------------------------------------------------------------------------- */

void allocation_init(struct allocation *allocation)
{
    *allocation = (struct allocation){.node = xstrdup(""), .pod_uid = xstrdup("")};
}

void allocation_clear(struct allocation *allocation)
{
    for (size_t i = 0; i < allocation->container_count; i++) {
        struct allocated_container *container = &allocation->containers[i];

        for (size_t k = 0; k < container->device_count; k++)
            free(container->devices[k].id);
        free(container->devices);
        free(container->name);
    }
    free(allocation->containers);
    free(allocation->node);
    free(allocation->pod_uid);
    *allocation = (struct allocation){0};
}

struct allocated_container *allocation_add_container(struct allocation *allocation,
                                                     const char *name, enum container_kind kind)
{
    struct allocated_container *container;

    allocation->containers =
        xreallocarray(allocation->containers, allocation->container_count + 1, sizeof *container);
    container = &allocation->containers[allocation->container_count++];
    *container = (struct allocated_container){.name = xstrdup(name), .kind = kind};
    return container;
}

struct allocated_device *allocation_add_device(struct allocated_container *container,
                                               const char *id)
{
    struct allocated_device *device;

    container->devices =
        xreallocarray(container->devices, container->device_count + 1, sizeof *device);
    device = &container->devices[container->device_count++];
    *device = (struct allocated_device){.id = xstrdup(id), .slots = 1};
    return device;
}

void allocation_copy(const struct allocation *from, struct allocation *out)
{
    *out = (struct allocation){.node = xstrdup(from->node),
                               .pod_uid = xstrdup(from->pod_uid),
                               .tier = from->tier,
                               .degraded = from->degraded};
    for (size_t i = 0; i < from->container_count; i++) {
        const struct allocated_container *container = &from->containers[i];
        struct allocated_container *copy =
            allocation_add_container(out, container->name, container->kind);

        for (size_t k = 0; k < container->device_count; k++) {
            struct allocated_device *device = allocation_add_device(copy, container->devices[k].id);
            char *id = device->id;

            *device = container->devices[k];
            device->id = id;
        }
    }
}

size_t allocation_bytes(const struct allocation *allocation)
{
    size_t bytes = mem_text_bytes(allocation->node) + mem_text_bytes(allocation->pod_uid);

    if (allocation->containers != NULL)
        bytes += mem_block_bytes(allocation->container_count * sizeof *allocation->containers);
    for (size_t i = 0; i < allocation->container_count; i++) {
        const struct allocated_container *container = &allocation->containers[i];

        bytes += mem_text_bytes(container->name);
        if (container->devices != NULL)
            bytes += mem_block_bytes(container->device_count * sizeof *container->devices);
        for (size_t k = 0; k < container->device_count; k++)
            bytes += mem_text_bytes(container->devices[k].id);
    }
    return bytes;
}

static bool placement_equal(const struct partition_placement *a,
                            const struct partition_placement *b)
{
    return strcmp(a->profile, b->profile) == 0 && a->start == b->start && a->size == b->size &&
           a->use.slices == b->use.slices && a->use.compute == b->use.compute;
}

static bool container_equal(const struct allocated_container *a,
                            const struct allocated_container *b)
{
    if (strcmp(a->name, b->name) != 0 || a->kind != b->kind || a->device_count != b->device_count)
        return false;
    for (size_t i = 0; i < a->device_count; i++) {
        const struct allocated_device *x = &a->devices[i], *y = &b->devices[i];

        if (strcmp(x->id, y->id) != 0 || x->memory_mib != y->memory_mib || x->cores != y->cores ||
            x->slots != y->slots || x->mode != y->mode || x->service != y->service ||
            x->application != y->application || x->core_mask != y->core_mask ||
            !placement_equal(&x->partition, &y->partition))
            return false;
    }
    return true;
}

bool allocation_equal(const struct allocation *a, const struct allocation *b)
{
    if (strcmp(a->node, b->node) != 0 || strcmp(a->pod_uid, b->pod_uid) != 0 ||
        a->container_count != b->container_count)
        return false;
    for (size_t i = 0; i < a->container_count; i++) {
        if (!container_equal(&a->containers[i], &b->containers[i]))
            return false;
    }
    return true;
}

/* --- grants ---------------------------------------------------------------------------------- */

/* Records come from outside: absurd amounts must not wrap around to small ones. */
static uint16_t add_capped(uint16_t a, uint16_t b)
{
    return b > UINT16_MAX - a ? UINT16_MAX : (uint16_t)(a + b);
}

/* Cores by name are taken, also where no phase has all of them. */
static uint16_t at_least_named(uint16_t cores, uint32_t core_mask)
{
    unsigned named = (unsigned)__builtin_popcount(core_mask);

    return cores < named ? (uint16_t)named : cores;
}

static bool has_grant(const struct grant *grants, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(grants[i].id, id) == 0)
            return true;
    }
    return false;
}

/* A whole device beats a fraction: nobody else may be there in either phase. */
static enum isolation_mode stronger_mode(enum isolation_mode a, enum isolation_mode b)
{
    return a == ISOLATION_NONE || b == ISOLATION_SHARED ? b : a;
}

static size_t list_devices(const struct allocation *allocation, struct grant *out, size_t max)
{
    size_t count = 0;

    for (size_t i = 0; i < allocation->container_count; i++) {
        const struct allocated_container *container = &allocation->containers[i];

        for (size_t k = 0; k < container->device_count; k++) {
            const struct allocated_device *device = &container->devices[k];

            if (count < max && !has_grant(out, count, device->id))
                out[count++] = (struct grant){.id = device->id};
        }
    }
    return count;
}

/*
 * Note the partition of one line of a phase. Two that run together never share a slice; else they
 * may have the same one. What breaks that has more than any device has.
 */
static void add_partition(const struct allocated_device *device, uint32_t *phase,
                          struct partition_use *booked)
{
    struct partition_use use = device->partition.use;
    uint32_t shared = booked->slices & use.slices;
    bool is_bad = (*phase & use.slices) != 0 || (shared != 0 && shared != use.slices);

    *phase |= use.slices;
    if (shared == 0)
        *booked = partition_add(*booked, use);
    if (is_bad)
        booked->compute = PARTITION_COMPUTE_BAD;
}

/* What a phase comes to on one device. */
struct phase_sum {
    uint64_t memory_mib;
    uint16_t cores, slots;
    uint32_t slices;
};

static void add_line(const struct allocated_device *device, struct grant *grant,
                     struct phase_sum *sum)
{
    sum->memory_mib += device->memory_mib;
    sum->cores = add_capped(sum->cores, device->cores);
    sum->slots = add_capped(sum->slots, device->slots);
    grant->mode = stronger_mode(grant->mode, device->mode);
    if (device->service != SERVICE_ANY)
        grant->service = device->service;
    if (device->application != APPLICATION_ANY)
        grant->application = device->application;
    grant->core_mask |= device->core_mask;
    if (device->partition.use.slices != 0)
        add_partition(device, &sum->slices, &grant->partitions);
}

static void raise(struct grant *grant, const struct phase_sum *sum)
{
    if (sum->memory_mib > grant->memory_mib)
        grant->memory_mib = sum->memory_mib;
    if (sum->cores > grant->cores)
        grant->cores = sum->cores;
    if (sum->slots > grant->slots)
        grant->slots = sum->slots;
}

/* Grants being summed up; a line of the record is looked up once, and not in each phase. */
struct summing {
    const struct allocation *allocation;
    const uint8_t *places; /* of each line: its grant, or `count` */
    struct grant *grants;
    size_t count;
};

/* Sum one phase up, and raise the grants to it where they are lower. */
static void raise_to_phase(const struct summing *summing, size_t phase)
{
    struct phase_sum sums[DEVICE_MAX];
    const uint8_t *place = summing->places;

    memset(sums, 0, summing->count * sizeof *sums);
    for (size_t i = 0; i < summing->allocation->container_count; i++) {
        const struct allocated_container *container = &summing->allocation->containers[i];

        if (!container_runs_in(container->kind, i, phase)) {
            place += container->device_count;
            continue;
        }
        for (size_t k = 0; k < container->device_count; k++, place++) {
            if (*place < summing->count)
                add_line(&container->devices[k], &summing->grants[*place], &sums[*place]);
        }
    }
    for (size_t g = 0; g < summing->count; g++)
        raise(&summing->grants[g], &sums[g]);
}

/* The grant of each line. Free it. */
static uint8_t *places_of(const struct allocation *allocation, const struct grant *grants,
                          size_t count)
{
    size_t lines = 0;
    uint8_t *places, *place;

    for (size_t i = 0; i < allocation->container_count; i++)
        lines += allocation->containers[i].device_count;
    place = places = xcalloc(lines + 1, sizeof *places);
    for (size_t i = 0; i < allocation->container_count; i++) {
        for (size_t k = 0; k < allocation->containers[i].device_count; k++, place++) {
            while (*place < count &&
                   strcmp(grants[*place].id, allocation->containers[i].devices[k].id) != 0)
                ++*place;
        }
    }
    return places;
}

size_t allocation_grants(const struct allocation *allocation, bool init_done, struct grant *out,
                         size_t max)
{
    size_t count = list_devices(allocation, out, max);
    AUTO_FREE uint8_t *places = places_of(allocation, out, count);
    const struct summing summing = {allocation, places, out, count};

    assert(max <= DEVICE_MAX);
    raise_to_phase(&summing, PHASE_MAIN);
    for (size_t i = 0; !init_done && i < allocation->container_count; i++) {
        if (allocation->containers[i].kind == CONTAINER_INIT)
            raise_to_phase(&summing, i);
    }
    for (size_t g = 0; g < count; g++)
        out[g].cores = at_least_named(out[g].cores, out[g].core_mask);
    return count;
}

/* --- states ---------------------------------------------------------------------------------- */

enum device_state device_state(const struct device *device, const struct device_use *use)
{
    if (use->conflicted)
        return DEVICE_CONFLICTED;
    if (!device->healthy)
        return DEVICE_UNHEALTHY;
    if (device->cordoned)
        return DEVICE_CORDONED;
    return use->slots > 0 ? DEVICE_IN_USE : DEVICE_IDLE;
}

const char *device_state_name(enum device_state state)
{
    static const char *const names[DEVICE_STATE_COUNT] = {
        [DEVICE_CONFLICTED] = "conflicted",
        [DEVICE_UNHEALTHY] = "unhealthy",
        [DEVICE_CORDONED] = "cordoned",
        [DEVICE_IN_USE] = "in use",
        [DEVICE_IDLE] = "idle",
    };

    return names[state];
}

void node_use_copy(const struct node_use *from, struct node_use *out)
{
    memcpy(out, from, NODE_USE_SIZE(from->device_count));
}

/* --- sums on a node -------------------------------------------------------------------------- */

static bool exceeds(const struct device_use *use, const struct device *device)
{
    return use->memory_mib > device->memory_mib || use->cores > device->cores ||
           use->slots > device->slots;
}

static void add_service(struct device_use *sum, const struct grant *grant)
{
    if (grant->service != SERVICE_ANY)
        sum->service = (uint8_t)grant->service;
    sum->online = (uint8_t)(sum->online +
                            (grant->application == APPLICATION_ONLINE && sum->online < UINT8_MAX));
    sum->offline = (uint8_t)(sum->offline + (grant->application == APPLICATION_OFFLINE &&
                                             sum->offline < UINT8_MAX));
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/*
 * On a divided device partitions are all that counts; who has none there is in the way of all.
 * Memory and cores are told, and others round those of a partition up: never more than there is.
 */
static void add_divided(struct device_use *sum, const struct device *device,
                        const struct grant *grant)
{
    if (grant->mode != ISOLATION_PARTITIONED ||
        partition_conflicts(device->partitions, sum->partitions, grant->partitions))
        sum->conflicted = true;
    if (sum->mode == ISOLATION_NONE)
        sum->mode = grant->mode;
    sum->memory_mib = least(sum->memory_mib + grant->memory_mib, device->memory_mib);
    sum->cores = (uint32_t)least(sum->cores + grant->cores, device->cores);
    sum->slots = add_capped(sum->slots, grant->slots);
    sum->partitions = partition_add(sum->partitions, grant->partitions);
}

/* All cores, or some of which nobody knows which: no other tenant may be there. */
static bool takes_alone(const struct device *device, const struct grant *grant)
{
    return (device->cores > 0 && grant->cores >= device->cores) ||
           (!grant->is_planned &&
            core_naming(device, grant->cores, grant->core_mask) == CORES_UNNAMED);
}

void node_use_add_at(struct node_use *use, const struct node *node, int position,
                     const struct grant *grant)
{
    const struct device *device;
    struct device_use *sum;

    assert(use->device_count == node->device_count);
    /* A grant of nothing: the pod's init containers had the device, and they have ended. */
    if (grant->slots == 0)
        return;
    if (position < 0) {
        use->unattributed++; /* the node calls its devices otherwise now: it may be any of them */
        return;
    }
    device = &node->devices[position];
    sum = &use->devices[position];
    if (device->partitions != NULL || grant->mode == ISOLATION_PARTITIONED) {
        add_divided(sum, device, grant);
        return;
    }
    if (sum->slots > 0 && (sum->exclusive || sum->mode != grant->mode))
        sum->conflicted = true;
    if (takes_alone(device, grant)) {
        sum->conflicted = sum->conflicted || sum->slots > 0;
        sum->exclusive = true;
    }
    if (sum->mode == ISOLATION_NONE)
        sum->mode = grant->mode;
    sum->memory_mib += grant->memory_mib;
    sum->cores += grant->cores;
    sum->slots = add_capped(sum->slots, grant->slots);
    add_service(sum, grant);
    sum->conflicted =
        sum->conflicted || exceeds(sum, device) || (sum->core_mask & grant->core_mask) != 0;
    sum->core_mask |= grant->core_mask;
}

void node_use_add(struct node_use *use, const struct node *node, const struct grant *grant)
{
    node_use_add_at(use, node, node_find_device(node, grant->id), grant);
}

/* --- two times ------------------------------------------------------------------------------- */

static void join_service(struct device_use *use, const struct device_use *other)
{
    use->exclusive =
        use->exclusive || (use->service != other->service && use->service != SERVICE_ANY &&
                           other->service != SERVICE_ANY);
    if (use->service == SERVICE_ANY)
        use->service = other->service;
    if (other->online > use->online)
        use->online = other->online;
    if (other->offline > use->offline)
        use->offline = other->offline;
}

static void join_device(struct device_use *use, const struct device_use *other)
{
    if (other->memory_mib > use->memory_mib)
        use->memory_mib = other->memory_mib;
    if (other->cores > use->cores)
        use->cores = other->cores;
    if (other->slots > use->slots)
        use->slots = other->slots;
    use->exclusive =
        use->exclusive || other->exclusive ||
        (use->mode != other->mode && use->mode != ISOLATION_NONE && other->mode != ISOLATION_NONE);
    if (use->mode == ISOLATION_NONE)
        use->mode = other->mode;
    use->conflicted = use->conflicted || other->conflicted;
    join_service(use, other);
    use->core_mask |= other->core_mask;
    use->partitions.slices |= other->partitions.slices;
    if (other->partitions.compute > use->partitions.compute)
        use->partitions.compute = other->partitions.compute;
}

void node_use_join(struct node_use *use, const struct node_use *other)
{
    assert(use->device_count == other->device_count);
    for (unsigned i = 0; i < use->device_count; i++)
        join_device(&use->devices[i], &other->devices[i]);
    if (other->unattributed > use->unattributed)
        use->unattributed = other->unattributed;
}
