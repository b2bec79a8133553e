/* SPDX-License-Identifier: Apache-2.0 */
/* quotas - what the pods of a namespace may hold together. */
#include "quotas.h"

#include "cluster_inside.h"

#include <stdlib.h>
#include <string.h>

/* --- the objects ----------------------------------------------------------------------------- */

void quota_set_free(void *value)
{
    struct quota_set *set = value;

    for (size_t i = 0; i < set->count; i++)
        quota_free(set->items[i]);
    free(set->items);
    free(set);
}

/* The place of a name in a set, or where it would stand. */
static size_t place_of(const struct quota_set *set, const char *name)
{
    size_t at = 0;

    while (at < set->count && strcmp(set->items[at]->name, name) < 0)
        at++;
    return at;
}

static struct quota *find(const struct cluster *cluster, const char *namespace, const char *name)
{
    const struct quota_set *set = map_get(cluster->quotas, namespace);
    size_t at = set != NULL ? place_of(set, name) : 0;

    if (set == NULL || at == set->count || strcmp(set->items[at]->name, name) != 0)
        return NULL;
    return set->items[at];
}

static void insert(struct map *quotas, struct quota *steal_quota)
{
    struct quota_set *set = map_get(quotas, steal_quota->namespace);
    size_t at;

    if (set == NULL) {
        set = xcalloc(1, sizeof *set);
        map_put(quotas, steal_quota->namespace, set);
    }
    at = place_of(set, steal_quota->name);
    if (at < set->count && strcmp(set->items[at]->name, steal_quota->name) == 0) {
        quota_free(set->items[at]);
        set->items[at] = steal_quota;
        return;
    }
    set->items = mem_grow(set->items, set->count, &set->capacity, sizeof *set->items);
    memmove(set->items + at + 1, set->items + at, (set->count - at) * sizeof *set->items);
    set->items[at] = steal_quota;
    set->count++;
}

static void take_out(struct map *quotas, const char *namespace, const char *name)
{
    struct quota_set *set = map_get(quotas, namespace);
    size_t at = place_of(set, name);

    quota_free(set->items[at]);
    set->count--;
    memmove(set->items + at, set->items + at + 1, (set->count - at) * sizeof *set->items);
    if (set->count == 0)
        quota_set_free(map_remove(quotas, namespace));
}

/* Does a new version (NULL: none) of an object allow something that the old one did not? Where
 * scopes are about, perhaps. */
static bool is_eased(const struct quota *before, const struct quota *now)
{
    for (size_t i = 0; i < before->limit_count; i++) {
        const struct quota_limit *limit = &before->limits[i];

        if (now == NULL || now->scope_count > 0 || before->scope_count > 0 ||
            quota_limit_of(now, limit->class, limit->kind) > limit->amount)
            return true;
    }
    return false;
}

void cluster_put_quota(struct cluster *cluster, struct quota *steal_quota)
{
    const struct quota *before;
    bool eased;

    LOCK(cluster);
    before = find(cluster, steal_quota->namespace, steal_quota->name);
    /* The API server writes the status at every pod that comes: nothing that we look at. */
    if (before != NULL && quota_equal(before, steal_quota)) {
        quota_free(steal_quota);
        return;
    }
    eased = before != NULL && is_eased(before, steal_quota);
    insert(cluster->quotas, steal_quota);
    if (eased)
        cluster_note_freed_nowhere(cluster);
}

void cluster_remove_quota(struct cluster *cluster, const char *namespace, const char *name,
                          const char *uid)
{
    const struct quota *quota;
    bool eased;

    LOCK(cluster);
    quota = find(cluster, namespace, name);
    if (quota == NULL || (uid != NULL && strcmp(quota->uid, uid) != 0))
        return;
    eased = is_eased(quota, NULL);
    take_out(cluster->quotas, namespace, name);
    if (eased)
        cluster_note_freed_nowhere(cluster);
}

/* Of the objects before a list, does one allow more in it, or lack? */
static bool list_eases(const struct cluster *cluster, const struct cluster *listed)
{
    struct map_cursor at = {0};

    while (map_next(cluster->quotas, &at)) {
        const struct quota_set *set = at.value;

        for (size_t i = 0; i < set->count; i++) {
            if (is_eased(set->items[i], find(listed, at.key, set->items[i]->name)))
                return true;
        }
    }
    return false;
}

void cluster_replace_quotas(struct cluster *cluster, struct quota **quotas, size_t count)
{
    struct cluster listed = {.quotas = map_new(&cluster->key)};

    for (size_t i = 0; i < count; i++)
        insert(listed.quotas, quotas[i]);
    LOCK(cluster);
    if (list_eases(cluster, &listed))
        cluster_note_freed_nowhere(cluster);
    map_free(cluster->quotas, quota_set_free);
    cluster->quotas = listed.quotas;
}

bool cluster_has_new_remarks(struct cluster *cluster, const struct quota *quota)
{
    const struct quota *before;

    LOCK(cluster);
    before = find(cluster, quota->namespace, quota->name);
    return quota->remark_count > 0 && (before == NULL || !quota_same_remarks(before, quota));
}

/* --- sizes ----------------------------------------------------------------------------------- */

static struct class_size *size_for(struct class_sizes *sizes, const struct device_class *class)
{
    for (size_t i = 0; i < sizes->count; i++) {
        if (sizes->items[i].class == class)
            return &sizes->items[i];
    }
    sizes->items = mem_grow(sizes->items, sizes->count, &sizes->capacity, sizeof *sizes->items);
    sizes->items[sizes->count] = (struct class_size){
        .class = class, .smallest = {.memory_mib = UINT64_MAX, .cores = UINT16_MAX}};
    return &sizes->items[sizes->count++];
}

static void note_size(struct class_sizes *sizes, const struct device *device)
{
    struct class_size *size = size_for(sizes, device->class);

    size->is_divided = size->is_divided || device->partitions != NULL;
    if (device->memory_mib < size->smallest.memory_mib)
        size->smallest.memory_mib = device->memory_mib;
    if (device->memory_mib > size->largest.memory_mib)
        size->largest.memory_mib = device->memory_mib;
    if (device->cores < size->smallest.cores)
        size->smallest.cores = device->cores;
    if (device->cores > size->largest.cores)
        size->largest.cores = device->cores;
}

static const struct class_sizes *current_sizes(struct cluster *cluster)
{
    struct map_cursor at = {0};

    if (cluster->sizes.is_current)
        return &cluster->sizes;
    cluster->sizes.count = 0;
    while (map_next(cluster->nodes, &at)) {
        const struct node *node = ((const struct known_node *)at.value)->state->node;

        for (unsigned i = 0; i < node->device_count; i++)
            note_size(&cluster->sizes, &node->devices[i]);
    }
    cluster->sizes.is_current = true;
    return &cluster->sizes;
}

static const struct class_size *find_size(const struct class_sizes *sizes,
                                          const struct device_class *class)
{
    for (size_t i = 0; i < sizes->count; i++) {
        if (sizes->items[i].class == class)
            return &sizes->items[i];
    }
    return NULL;
}

static struct device_size smallest(const void *ctx, const struct device_class *class)
{
    const struct class_size *size = find_size(ctx, class);
    struct device_size found = size != NULL ? size->smallest : (struct device_size){0};

    found.no_profiles = true;
    return found;
}

static struct device_size largest(const void *ctx, const struct device_class *class)
{
    const struct class_size *size = find_size(ctx, class);

    return size != NULL ? size->largest : (struct device_size){0};
}

/* --- room ------------------------------------------------------------------------------------ */

/* Several objects that count the pod hold at once: the one that leaves least. */
static void fill_kind(const struct cluster *cluster, const struct quota_set *set,
                      const char *namespace, const struct quota_traits *traits,
                      enum quota_kind kind, struct quota_line *out)
{
    out->limits[kind] = QUOTA_NO_LIMIT;
    for (size_t i = 0; i < set->count; i++) {
        const struct quota *quota = set->items[i];
        struct quota_line own = {.class = out->class};

        own.limits[kind] = quota_limit_of(quota, out->class, kind);
        if (own.limits[kind] == QUOTA_NO_LIMIT || !quota_covers(quota, traits))
            continue;
        own.used[kind] = ledger_charged(cluster->ledger, namespace, quota, out->class, kind);
        out->is_scoped[kind] = out->is_scoped[kind] || quota->scope_count > 0;
        if (quota_left(&own, kind) > quota_left(out, kind) ||
            (quota_left(&own, kind) == quota_left(out, kind) &&
             own.limits[kind] >= out->limits[kind]))
            continue;
        out->limits[kind] = own.limits[kind];
        out->used[kind] = own.used[kind];
    }
}

/* Add the line of a class, unless it is there or nothing limits it. */
static void add_line(const struct cluster *cluster, const struct quota_set *set,
                     const char *namespace, const struct request *request,
                     const struct device_class *class, struct quota_room *out)
{
    struct quota_line line = {.class = class};
    bool limited = false;

    if (quota_room_line(out, class) != NULL)
        return;
    for (unsigned kind = 0; kind < QUOTA_KINDS; kind++) {
        fill_kind(cluster, set, namespace, &request->traits, (enum quota_kind)kind, &line);
        limited = limited || line.limits[kind] != QUOTA_NO_LIMIT;
    }
    if (limited)
        out->lines[out->count++] = line;
}

static void find_room(const struct cluster *cluster, const char *namespace, const char *uid,
                      const struct request *request, struct quota_room *out)
{
    const struct quota_set *set = map_get(cluster->quotas, namespace);
    const struct holding *own;

    out->count = 0;
    for (size_t a = 0; set != NULL && a < request->ask_count; a++)
        add_line(cluster, set, namespace, request, request->asks[a].class, out);
    if (out->count == 0 || uid == NULL)
        return;
    own = ledger_find(cluster->ledger, uid);
    if (own != NULL && strcmp(own->pod->namespace, namespace) == 0)
        quota_room_give_back(out, own->charges, own->charge_count,
                             quota_traits_equal(&own->pod->request.traits, &request->traits));
}

static bool is_any_divided(const struct class_sizes *sizes, const struct quota_room *room)
{
    bool any = false;

    for (size_t i = 0; i < room->count; i++) {
        const struct class_size *size = find_size(sizes, room->lines[i].class);

        any = any || (size != NULL && size->is_divided);
    }
    return any;
}

static enum quota_answer judge(const struct class_sizes *sizes, const struct request *request,
                               const struct quota_room *room, struct quota_shortage *shortage)
{
    struct charge charges[CHARGES_MAX];
    size_t count = charges_of_request(request, false, smallest, sizes, charges);
    const struct charge *over;
    const struct quota_line *line;
    enum quota_kind kind;

    over = quota_first_over(room, charges, count, &kind);
    if (over == NULL && is_any_divided(sizes, room))
        return QUOTA_DEPENDS;
    if (over == NULL) {
        count = charges_of_request(request, false, largest, sizes, charges);
        return quota_first_over(room, charges, count, &kind) == NULL ? QUOTA_KEPT : QUOTA_DEPENDS;
    }
    line = quota_room_line(room, over->class);
    *shortage = (struct quota_shortage){.class = over->class,
                                        .kind = kind,
                                        .wanted = over->amounts[kind],
                                        .used = line->used[kind],
                                        .limit = line->limits[kind]};
    return over->amounts[kind] > line->limits[kind] ? QUOTA_TOO_BIG : QUOTA_EXCEEDED;
}

enum quota_answer cluster_ask_quota(struct cluster *cluster, const char *namespace, const char *uid,
                                    const struct request *request, struct quota_room *room,
                                    struct quota_shortage *shortage)
{
    LOCK(cluster);
    find_room(cluster, namespace, uid, request, room);
    if (room->count == 0)
        return QUOTA_KEPT;
    return judge(current_sizes(cluster), request, room, shortage);
}

bool cluster_quota_allows(const struct cluster *cluster, const struct pod *pod,
                          const struct allocation *record)
{
    struct charge charges[CHARGES_MAX];
    struct quota_room room;
    enum quota_kind kind;
    size_t count;

    find_room(cluster, pod->namespace, NULL, &pod->request, &room);
    if (room.count == 0)
        return true;
    count = charges_of_record(&pod->request, record, pod->init_done, charges);
    return quota_first_over(&room, charges, count, &kind) == NULL;
}
