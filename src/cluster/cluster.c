/* SPDX-License-Identifier: Apache-2.0 */
/* cluster - what we know now: nodes, pods and who holds what. */
#include "topofit/cluster.h"

#include "cluster_inside.h"
#include "likeness.h"
#include "snapshot_inside.h"
#include "supply.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct cluster *cluster_new(const struct hash_key *key)
{
    struct cluster *cluster = xcalloc(1, sizeof *cluster);

    pthread_mutex_init(&cluster->lock, NULL);
    cluster->key = *key;
    cluster->nodes = map_new(key);
    cluster->pods = map_new_borrowing(key);
    cluster->pods_by_uid = map_new_borrowing(key);
    cluster->ledger = ledger_new(key);
    cluster->nominations = nominations_new(key);
    cluster->quotas = map_new(key);
    cluster->host_loads = host_loads_new(key);
    cluster->tally = mix_tally_new(key);
    cluster->intern = intern_new(key);
    return cluster;
}

static void free_known_node(void *value)
{
    struct known_node *known = value;

    node_state_unref(known->state);
    free(known);
}

static void unref_pod(void *pod)
{
    pod_unref(pod);
}

void cluster_free(struct cluster *cluster)
{
    if (cluster == NULL)
        return;
    snapshot_unref(cluster->current);
    map_free(cluster->nodes, free_known_node);
    free(cluster->freed_node);
    for (size_t i = 0; i < cluster->conflict_count; i++)
        conflict_clear(&cluster->conflicts[i]);
    map_free(cluster->pods_by_uid, NULL);
    map_free(cluster->pods, unref_pod);
    supply_clear(&cluster->supply);
    pod_mix_unref(cluster->mix);
    mix_tally_free(cluster->tally);
    host_loads_free(cluster->host_loads);
    nominations_free(cluster->nominations);
    map_free(cluster->quotas, quota_set_free);
    free(cluster->sizes.items);
    ledger_free(cluster->ledger);
    intern_free(cluster->intern);
    pthread_mutex_destroy(&cluster->lock);
    free(cluster);
}

/* --- publishing (lock held) ------------------------------------------------------------------ */

bool cluster_use_equal(const struct node_use *a, const struct node_use *b)
{
    bool equal = a->device_count == b->device_count && a->unattributed == b->unattributed;

    for (unsigned i = 0; equal && i < a->device_count; i++) {
        const struct device_use *x = &a->devices[i], *y = &b->devices[i];

        equal = x->memory_mib == y->memory_mib && x->cores == y->cores && x->slots == y->slots &&
                x->mode == y->mode && x->exclusive == y->exclusive &&
                x->conflicted == y->conflicted && x->service == y->service &&
                x->online == y->online && x->offline == y->offline &&
                x->partitions.slices == y->partitions.slices &&
                x->partitions.compute == y->partitions.compute && x->core_mask == y->core_mask;
    }
    return equal;
}

/* Could somebody join who could not before? */
static bool is_eased(const struct device_use *now, const struct device_use *before)
{
    return now->memory_mib < before->memory_mib || now->cores < before->cores ||
           now->slots < before->slots || (before->exclusive && !now->exclusive) ||
           (before->conflicted && !now->conflicted) ||
           (before->mode != ISOLATION_NONE && now->mode != before->mode);
}

bool cluster_is_less_used(const struct node_use *now, const struct node_use *before)
{
    bool less = now->unattributed < before->unattributed;

    for (unsigned i = 0; !less && i < now->device_count; i++)
        less = is_eased(&now->devices[i], &before->devices[i]);
    return less;
}

/* Whatever changes about a node itself (health, wiring, labels) may be what a pod waits for. */
static void note_freed(struct cluster *cluster, const struct node_state *before,
                       const struct node_state *now)
{
    if (before != NULL && before->node == now->node &&
        !cluster_is_less_used(&now->use, &before->use) &&
        !cluster_lets_go(cluster, before->nominees, now->nominees, now->node->name))
        return;
    cluster->freed_version = now->version;
    free(cluster->freed_node);
    cluster->freed_node = xstrdup(now->node->name);
}

static bool was_conflicted(const struct node_state *before, const struct device *device)
{
    int position = before != NULL ? node_find_device(before->node, device->id) : -1;

    return position >= 0 && before->use.devices[position].conflicted;
}

/* The first ones stand for all: who does not ask for them has them as the devices' state. */
static void note_conflicts(struct cluster *cluster, const struct node_state *before,
                           const struct node_state *now)
{
    for (unsigned i = 0; i < now->node->device_count; i++) {
        const struct device *device = &now->node->devices[i];

        if (!now->use.devices[i].conflicted || was_conflicted(before, device))
            continue;
        cluster->conflicts_seen++;
        if (cluster->conflict_count == CONFLICTS_KEPT)
            continue;
        cluster->conflicts[cluster->conflict_count++] =
            (struct conflict){.node = xstrdup(now->node->name),
                              .node_uid = xstrdup(now->node->uid),
                              .device = xstrdup(device->id)};
    }
}

/* By bound pods, and by those whose Binding is on its way. */
static struct host_amounts sum_host(const struct cluster *cluster, const char *node)
{
    struct host_amounts sum = host_loads_sum(cluster->host_loads, node);

    for (const struct holding *holding = ledger_on_node(cluster->ledger, node); holding != NULL;
         holding = holding->next) {
        if (!holding->told)
            sum = host_add(sum, holding->pod->host);
    }
    return sum;
}

/* When the pod with devices began that has run longest there; 0: nobody knows of any. */
static uint64_t oldest_on(const struct cluster *cluster, const char *node)
{
    uint64_t oldest_s = 0;

    for (const struct holding *holding = ledger_on_node(cluster->ledger, node); holding != NULL;
         holding = holding->next) {
        uint64_t since_s =
            holding->pod->started_s > 0 ? holding->pod->started_s : holding->booked_s;

        if (since_s > 0 && (oldest_s == 0 || since_s < oldest_s))
            oldest_s = since_s;
    }
    return oldest_s;
}

static struct rank_facts rank_facts_of(const struct cluster *cluster, struct known_node *known,
                                       const char *node)
{
    known->oldest_s = oldest_on(cluster, node);
    return (struct rank_facts){sum_host(cluster, node),
                               settled_0_7(known->oldest_s, cluster->now_s)};
}

/* Readers keep the picture they have; the next one shows the node's new state. */
static void show(struct cluster *cluster, const struct known_node *known)
{
    if (cluster->current == NULL)
        return;
    cluster->current = snapshot_own(cluster->current);
    cluster->current->version = cluster->last_version;
    product_supply_clear(&cluster->current->supply);
    supply_show(&cluster->supply, &cluster->current->supply);
    snapshot_set(cluster->current, known->position, known->state);
}

static void publish(struct cluster *cluster, struct known_node *known, struct node *steal_node,
                    const struct node_use *use)
{
    struct node_state *before = known->state;

    known->state =
        node_state_new(steal_node, use, cluster_gather_nominees(cluster, steal_node),
                       rank_facts_of(cluster, known, steal_node->name), ++cluster->last_version);
    known->state->likeness = likeness_of(&cluster->key, steal_node, use);
    note_freed(cluster, before, known->state);
    note_conflicts(cluster, before, known->state);
    supply_add(&cluster->supply, known->state);
    if (before != NULL)
        supply_remove(&cluster->supply, before);
    node_state_unref(before);
    show(cluster, known);
}

void cluster_note_freed_nowhere(struct cluster *cluster)
{
    cluster->freed_version = ++cluster->last_version;
    if (cluster->current == NULL)
        return;
    cluster->current = snapshot_own(cluster->current); /* decisions on the one before are older */
    cluster->current->version = cluster->last_version;
}

void cluster_show_mix(struct cluster *cluster)
{
    if (cluster->current == NULL)
        return;
    cluster->current = snapshot_own(cluster->current);
    pod_mix_unref(cluster->current->mix);
    cluster->current->mix = cluster->mix != NULL ? pod_mix_ref(cluster->mix) : NULL;
}

static void publish_rank(struct cluster *cluster, struct known_node *known, struct rank_facts rank)
{
    struct node_state *before = known->state;

    if (rank_facts_equal(&rank, &before->rank))
        return;
    known->state = node_state_with_rank(before, rank, ++cluster->last_version);
    node_state_unref(before);
    show(cluster, known);
}

void cluster_tell_time(struct cluster *cluster, uint64_t unix_ms)
{
    struct map_cursor at = {0};

    LOCK(cluster);
    cluster->now_s = unix_ms / 1000;
    if (cluster->now_s / TIME_STEP_S == cluster->settled_at_s / TIME_STEP_S)
        return;
    cluster->settled_at_s = cluster->now_s;
    while (map_next(cluster->nodes, &at)) {
        struct known_node *known = at.value;
        struct rank_facts rank = known->state->rank;

        rank.settled_0_7 = settled_0_7(known->oldest_s, cluster->now_s);
        publish_rank(cluster, known, rank);
    }
}

static bool has_same_nominees(const struct cluster *cluster, const struct node_state *state)
{
    struct nominees *now = cluster_gather_nominees(cluster, state->node);
    bool same = cluster_same_nominees(now, state->nominees);

    nominees_unref(now);
    return same;
}

/* Where nothing comes out different, plans stay valid. */
static void sum_again(struct cluster *cluster, struct known_node *known)
{
    struct node_use use;

    ledger_sum(cluster->ledger, known->state->node, NULL, &use);
    if (cluster_use_equal(&use, &known->state->use) && has_same_nominees(cluster, known->state))
        publish_rank(cluster, known, rank_facts_of(cluster, known, known->state->node->name));
    else
        publish(cluster, known, node_ref(known->state->node), &use);
}

void cluster_touch(const struct cluster *cluster, const char *name, struct touched *touched)
{
    struct known_node *known = map_get(cluster->nodes, name);
    unsigned i = 0;

    if (known == NULL)
        return;
    while (i < touched->count && touched->nodes[i] != known)
        i++;
    assert(i < TOUCHED_MAX);
    touched->nodes[i] = known;
    touched->count += i == touched->count;
}

void cluster_touch_nomination(const struct cluster *cluster, const struct pod *pod,
                              struct touched *touched)
{
    if (pod != NULL && pod_waits_nominated(pod))
        cluster_touch(cluster, pod->nominated, touched);
}

void cluster_republish(struct cluster *cluster, const struct touched *touched)
{
    for (unsigned i = 0; i < touched->count; i++)
        sum_again(cluster, touched->nodes[i]);
}

void cluster_republish_all(struct cluster *cluster)
{
    struct map_cursor at = {0};

    while (map_next(cluster->nodes, &at))
        sum_again(cluster, at.value);
}

const struct node_state *cluster_state_of(const struct cluster *cluster, const char *name)
{
    const struct known_node *known = map_get(cluster->nodes, name);

    return known != NULL ? known->state : NULL;
}

/* --- nodes ----------------------------------------------------------------------------------- */

static struct known_node *know_node(struct cluster *cluster, const char *name)
{
    struct known_node *known = map_get(cluster->nodes, name);

    if (known == NULL) {
        known = xcalloc(1, sizeof *known);
        known->position = SIZE_MAX;
        map_put(cluster->nodes, name, known);
        snapshot_unref(steal_ptr(&cluster->current));
    }
    return known;
}

static void put_node(struct cluster *cluster, struct node *steal_node)
{
    struct known_node *known = know_node(cluster, steal_node->name);
    struct node_use use;

    known->list_number = cluster->node_list_number;
    /* Heartbeats change nothing we look at: keep the state, and plans made on it stay valid. */
    if (known->state != NULL && node_equal(known->state->node, steal_node)) {
        node_unref(steal_node);
        return;
    }
    intern_node(cluster->intern, steal_node);
    cluster->sizes.is_current = false;
    ledger_sum(cluster->ledger, steal_node, NULL, &use);
    publish(cluster, known, steal_node, &use);
}

static void remove_node(struct cluster *cluster, const char *name)
{
    struct known_node *known = map_remove(cluster->nodes, name);

    if (known == NULL)
        return;
    supply_remove(&cluster->supply, known->state);
    cluster->sizes.is_current = false;
    free_known_node(known);
    snapshot_unref(steal_ptr(&cluster->current));
}

void cluster_share_words(struct cluster *cluster, struct node *node)
{
    LOCK(cluster);
    intern_node(cluster->intern, node);
}

void cluster_put_node(struct cluster *cluster, struct node *steal_node)
{
    LOCK(cluster);
    put_node(cluster, steal_node);
}

void cluster_remove_node(struct cluster *cluster, const char *name)
{
    LOCK(cluster);
    remove_node(cluster, name);
}

void cluster_replace_nodes(struct cluster *cluster, struct node **nodes, size_t count)
{
    struct map_cursor at = {0};

    LOCK(cluster);
    cluster->node_list_number++;
    for (size_t i = 0; i < count; i++)
        put_node(cluster, nodes[i]);
    while (map_next(cluster->nodes, &at)) {
        const struct known_node *known = at.value;

        if (known->list_number != cluster->node_list_number)
            remove_node(cluster, at.key);
    }
    cluster->nodes_listed = true;
}

bool cluster_is_synced(struct cluster *cluster)
{
    LOCK(cluster);
    return cluster->nodes_listed && cluster->pods_listed;
}

/* --- problems -------------------------------------------------------------------------------- */

static bool is_new_text(const char *before, const char *now)
{
    return now != NULL && (before == NULL || strcmp(before, now) != 0);
}

bool cluster_is_new_node_problem(struct cluster *cluster, const struct node *node)
{
    const struct node_state *state;

    LOCK(cluster);
    state = cluster_state_of(cluster, node->name);
    return is_new_text(state != NULL ? state->node->problem : NULL, node->problem);
}

bool cluster_is_new_record_problem(struct cluster *cluster, const struct pod *pod)
{
    const struct pod *before;

    LOCK(cluster);
    before = map_get(cluster->pods_by_uid, pod->uid);
    return is_new_text(before != NULL ? before->record_problem : NULL, pod->record_problem);
}

/* --- reading --------------------------------------------------------------------------------- */

void cluster_sum_use(struct cluster *cluster, const struct node *node, const char *except,
                     struct node_use *out)
{
    LOCK(cluster);
    ledger_sum(cluster->ledger, node, except, out);
}

struct nominees *cluster_nominees(struct cluster *cluster, const struct node *node)
{
    LOCK(cluster);
    return cluster_gather_nominees(cluster, node);
}

/* In the order they had, new ones by name behind them. */
static int compare_nodes(const void *a, const void *b)
{
    const struct known_node *x = *(struct known_node *const *)a;
    const struct known_node *y = *(struct known_node *const *)b;

    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return strcmp(x->state->node->name, y->state->node->name);
}

/* All nodes in order. Free it. */
static struct known_node **sort_nodes(const struct cluster *cluster)
{
    struct known_node **sorted = xcalloc(map_count(cluster->nodes) + 1, sizeof *sorted);
    struct map_cursor at = {0};
    size_t count = 0;

    while (map_next(cluster->nodes, &at))
        sorted[count++] = at.value;
    qsort(sorted, count, sizeof *sorted, compare_nodes);
    return sorted;
}

/* Nodes come and go seldom: only then, or for another order, a picture is made from nothing. */
static struct snapshot *draw(struct cluster *cluster)
{
    size_t count = map_count(cluster->nodes);
    struct known_node **sorted = sort_nodes(cluster);
    const char **names = xcalloc(count + 1, sizeof *names);
    struct snapshot *snapshot;

    for (size_t i = 0; i < count; i++)
        names[i] = sorted[i]->state->node->name;
    snapshot = snapshot_new(name_table_new(&cluster->key, names, count));
    snapshot->version = cluster->last_version;
    supply_show(&cluster->supply, &snapshot->supply);
    snapshot->mix = cluster->mix != NULL ? pod_mix_ref(cluster->mix) : NULL;
    for (size_t i = 0; i < count; i++) {
        sorted[i]->position = i;
        snapshot_set(snapshot, i, sorted[i]->state);
    }
    free(sorted);
    free(names);
    return snapshot;
}

struct snapshot *cluster_snapshot(struct cluster *cluster)
{
    LOCK(cluster);
    if (cluster->current == NULL)
        cluster->current = draw(cluster);
    return snapshot_ref(cluster->current);
}

/* Is it time to follow an order? At the first wish, then after ever more wishes. */
static bool is_due(struct cluster *cluster)
{
    if (++cluster->order_wishes < cluster->order_due)
        return false;
    cluster->order_wishes = 0;
    cluster->order_due =
        cluster->order_due < ORDER_DUE_MAX ? cluster->order_due * 8 + 1 : ORDER_DUE_MAX;
    return true;
}

void cluster_follow_order(struct cluster *cluster, const struct snapshot *snapshot,
                          const uint32_t *positions, size_t count)
{
    AUTO_FREE size_t *order = xcalloc(snapshot->count + 1, sizeof *order);
    struct map_cursor at = {0};
    size_t next = 0;

    LOCK(cluster);
    if (cluster->current == NULL || cluster->current->names != snapshot->names || !is_due(cluster))
        return;
    for (size_t i = 0; i < snapshot->count; i++)
        order[i] = count + i; /* who is not mentioned comes last */
    for (size_t i = 0; i < count; i++) {
        if (positions[i] != NAME_NOWHERE)
            order[positions[i]] = next++;
    }
    while (map_next(cluster->nodes, &at)) {
        struct known_node *known = at.value;

        known->position = order[known->position];
    }
    snapshot_unref(steal_ptr(&cluster->current));
}

struct pod *cluster_find_pod(struct cluster *cluster, const char *namespace, const char *name)
{
    AUTO_FREE char *key = cluster_pod_key(namespace, name);
    struct pod *pod;

    LOCK(cluster);
    pod = map_get(cluster->pods, key);
    return pod != NULL ? pod_ref(pod) : NULL;
}

struct pod *cluster_find_pod_by_uid(struct cluster *cluster, const char *uid)
{
    struct pod *pod;

    LOCK(cluster);
    pod = map_get(cluster->pods_by_uid, uid);
    return pod != NULL ? pod_ref(pod) : NULL;
}

static int compare_pods(const void *a, const void *b)
{
    const struct pod *x = *(struct pod *const *)a, *y = *(struct pod *const *)b;
    int order = strcmp(x->namespace, y->namespace);

    return order != 0 ? order : strcmp(x->name, y->name);
}

struct pod **cluster_pods(struct cluster *cluster, size_t *count)
{
    struct map_cursor at = {0};
    struct pod **pods;

    LOCK(cluster);
    pods = xcalloc(map_count(cluster->pods), sizeof *pods);
    *count = 0;
    while (map_next(cluster->pods, &at))
        pods[(*count)++] = pod_ref(at.value);
    if (*count > 0)
        qsort(pods, *count, sizeof *pods, compare_pods);
    return pods;
}

/* With the lock held: the node that was freed last, another one when it is gone, or NULL. */
static const char *any_freed_node(const struct cluster *cluster)
{
    struct map_cursor at = {0};

    if (cluster->freed_node != NULL && map_get(cluster->nodes, cluster->freed_node) != NULL)
        return cluster->freed_node;
    return map_next(cluster->nodes, &at) ? at.key : NULL;
}

uint64_t cluster_freed(struct cluster *cluster, char **node)
{
    const char *name;

    LOCK(cluster);
    if (node != NULL) {
        name = any_freed_node(cluster);
        free(*node);
        *node = name != NULL ? xstrdup(name) : NULL;
    }
    return cluster->freed_version;
}

void conflict_clear(struct conflict *conflict)
{
    free(conflict->node);
    free(conflict->node_uid);
    free(conflict->device);
    *conflict = (struct conflict){0};
}

bool cluster_next_conflict(struct cluster *cluster, struct conflict *out)
{
    LOCK(cluster);
    if (cluster->conflict_count == 0)
        return false;
    *out = cluster->conflicts[--cluster->conflict_count];
    return true;
}

uint64_t cluster_conflicts_seen(struct cluster *cluster)
{
    LOCK(cluster);
    return cluster->conflicts_seen;
}

/* --- checking -------------------------------------------------------------------------------- */

static void check_use(const struct cluster *cluster, const struct known_node *known)
{
    const struct node_state *state = known->state;
    struct node_use sum;

    ledger_sum(cluster->ledger, state->node, NULL, &sum);
    assert(sum.unattributed == state->use.unattributed);
    assert(has_same_nominees(cluster, state));
    assert(known->oldest_s == oldest_on(cluster, state->node->name));
    assert(host_equal(sum_host(cluster, state->node->name), state->rank.host_used));
    for (unsigned i = 0; i < sum.device_count; i++) {
        const struct device *device = &state->node->devices[i];
        const struct device_use *use = &state->use.devices[i];

        assert(use->memory_mib == sum.devices[i].memory_mib);
        assert(use->cores == sum.devices[i].cores && use->slots == sum.devices[i].slots);
        assert(use->mode == sum.devices[i].mode || use->conflicted);
        assert(use->conflicted || (use->memory_mib <= device->memory_mib &&
                                   use->cores <= device->cores && use->slots <= device->slots));
    }
}

/* What a pod said itself goes with the pod. */
static void check_told(const struct cluster *cluster)
{
    struct map_cursor at = {0};

    while (ledger_next(cluster->ledger, &at)) {
        const struct holding *holding = at.value;

        assert(!holding->told || map_get(cluster->pods_by_uid, holding->pod->uid) != NULL);
    }
}

static void check_product(const struct supply *supply, const struct product_count *sum)
{
    size_t i = 0;

    while (i < supply->count && supply->items[i].product != sum->product)
        i++;
    assert(i < supply->count);
    assert(supply->items[i].devices == sum->devices &&
           supply->items[i].idle_milli == sum->idle_milli);
}

static void check_supply(const struct cluster *cluster)
{
    AUTO(supply_clear) struct supply sum = {0};
    struct map_cursor at = {0};

    while (map_next(cluster->nodes, &at))
        supply_add(&sum, ((const struct known_node *)at.value)->state);
    assert(sum.count == cluster->supply.count);
    for (size_t i = 0; i < sum.count; i++)
        check_product(&cluster->supply, &sum.items[i]);
}

void cluster_check(struct cluster *cluster)
{
    struct map_cursor at = {0};

    LOCK(cluster);
    check_supply(cluster);
    ledger_check(cluster->ledger);
    check_told(cluster);
    assert(map_count(cluster->pods) == map_count(cluster->pods_by_uid));
    while (map_next(cluster->nodes, &at))
        check_use(cluster, at.value);
}
