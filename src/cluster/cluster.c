/* SPDX-License-Identifier: Apache-2.0 */
/* cluster - what we know now: nodes, pods and who holds what. */
#include "topofit/cluster.h"

#include "cluster_inside.h"
#include "snapshot.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static char *pod_key(const char *namespace, const char *name)
{
    return xasprintf("%s/%s", namespace, name);
}

struct cluster *cluster_new(const struct hash_key *key)
{
    struct cluster *cluster = xcalloc(1, sizeof *cluster);

    pthread_mutex_init(&cluster->lock, NULL);
    cluster->nodes = map_new(key);
    cluster->pods = map_new(key);
    cluster->pods_by_uid = map_new(key);
    cluster->ledger = ledger_new(key);
    cluster->intern = intern_new(key);
    return cluster;
}

static void unref_state(void *state)
{
    node_state_unref(state);
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
    map_free(cluster->nodes, unref_state);
    map_free(cluster->pods_by_uid, NULL);
    map_free(cluster->pods, unref_pod);
    ledger_free(cluster->ledger);
    intern_free(cluster->intern);
    pthread_mutex_destroy(&cluster->lock);
    free(cluster);
}

/* --- publishing (lock held) ------------------------------------------------------------------ */

static void publish(struct cluster *cluster, struct node *steal_node)
{
    struct node_use use;

    ledger_sum(cluster->ledger, steal_node, NULL, &use);
    node_state_unref(map_put(cluster->nodes, steal_node->name,
                             node_state_new(steal_node, &use, ++cluster->last_version)));
    snapshot_unref(steal_ptr(&cluster->current));
}

/* Holdings on a node changed: sum them up again, if we know the node. */
void cluster_republish(struct cluster *cluster, const char *name)
{
    struct node_state *state = map_get(cluster->nodes, name);

    if (state != NULL)
        publish(cluster, node_ref(state->node));
}

/* --- nodes ----------------------------------------------------------------------------------- */

static void put_node(struct cluster *cluster, struct node *steal_node)
{
    const struct node_state *state = map_get(cluster->nodes, steal_node->name);

    /* Heartbeats change nothing we look at: keep the state, and plans made on it stay valid. */
    if (state != NULL && node_equal(state->node, steal_node)) {
        node_unref(steal_node);
        return;
    }
    intern_node(cluster->intern, steal_node);
    publish(cluster, steal_node);
}

static void remove_node(struct cluster *cluster, const char *name)
{
    node_state_unref(map_remove(cluster->nodes, name));
    snapshot_unref(steal_ptr(&cluster->current));
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
    struct hash_key no_secret = {{0, 0}};
    struct map *listed = map_new(&no_secret);

    LOCK(cluster);
    for (size_t i = 0; i < count; i++) {
        map_put(listed, nodes[i]->name, cluster);
        put_node(cluster, nodes[i]);
    }
    while (map_next(cluster->nodes, &at)) {
        if (map_get(listed, at.key) == NULL)
            remove_node(cluster, at.key);
    }
    map_free(listed, NULL);
    cluster->nodes_listed = true;
}

/* --- pods ------------------------------------------------------------------------------------ */

/* Devices that a pod without a usable record must be taken to hold; absurd counts are cut. */
static unsigned count_unattributed(const struct pod *pod)
{
    unsigned count = 0;

    for (size_t a = 0; a < pod->request.ask_count; a++) {
        const struct ask *ask = &pod->request.asks[a];

        if (pod->request.containers[ask->container].kind != CONTAINER_INIT)
            count += ask->count < DEVICE_MAX ? ask->count : DEVICE_MAX;
    }
    if (count == 0 && (request_wants_devices(&pod->request) || pod->record_problem != NULL))
        count = 1;
    return count;
}

/* A record of another pod or node was copied, with a manifest say: it tells nothing of this pod. */
static bool has_valid_record(const struct pod *pod)
{
    const struct allocation *record = &pod->record;

    return pod->has_record && strcmp(record->node, pod->node) == 0 &&
           (record->pod_uid[0] == '\0' || strcmp(record->pod_uid, pod->uid) == 0);
}

void cluster_forget_holding(struct cluster *cluster, const char *uid)
{
    struct holding *holding = ledger_find(cluster->ledger, uid);
    AUTO_FREE char *node = NULL;

    if (holding == NULL)
        return;
    node = xstrdup(holding->node);
    ledger_remove(cluster->ledger, holding);
    cluster_republish(cluster, node);
}

/* Make the ledger say what a bound pod says. */
static void hold(struct cluster *cluster, const struct pod *pod)
{
    bool recorded = has_valid_record(pod);
    unsigned unattributed = recorded ? 0 : count_unattributed(pod);
    struct holding *holding;

    /* It may have been reserved elsewhere than where the pod is now bound. */
    cluster_forget_holding(cluster, pod->uid);
    /* Most pods of a cluster are of no concern: they must not make plans on their node stale. */
    if (!recorded && unattributed == 0)
        return;
    holding =
        ledger_enter(cluster->ledger, pod, pod->node, recorded ? &pod->record : NULL, unattributed);
    holding->state = HOLDING_BOUND;
    cluster_republish(cluster, pod->node);
}

static void forget_pod(struct cluster *cluster, const char *key)
{
    struct pod *pod = map_remove(cluster->pods, key);

    if (pod == NULL)
        return;
    map_remove(cluster->pods_by_uid, pod->uid);
    cluster_forget_holding(cluster, pod->uid);
    pod_unref(pod);
}

/* Does a new version of a pod change what it holds? */
static bool changes_holding(const struct pod *before, const struct pod *after)
{
    return before == NULL || strcmp(before->node, after->node) != 0 ||
           before->finished != after->finished || before->init_done != after->init_done ||
           !pod_same_record(before, after);
}

/* A uid names one pod for ever: only a dump made by hand has it twice, then the last one counts. */
static void forget_uid_elsewhere(struct cluster *cluster, const char *uid, const char *key)
{
    const struct pod *pod = map_get(cluster->pods_by_uid, uid);
    AUTO_FREE char *other = pod != NULL ? pod_key(pod->namespace, pod->name) : NULL;

    if (other != NULL && strcmp(other, key) != 0)
        forget_pod(cluster, other);
}

static void put_pod(struct cluster *cluster, struct pod *steal_pod)
{
    AUTO_FREE char *key = pod_key(steal_pod->namespace, steal_pod->name);
    struct pod *before = map_get(cluster->pods, key);
    bool changed, held;

    forget_uid_elsewhere(cluster, steal_pod->uid, key);
    if (before != NULL && strcmp(before->uid, steal_pod->uid) != 0) {
        forget_pod(cluster, key);
        before = NULL;
    }
    changed = changes_holding(before, steal_pod);
    held = before != NULL && pod_holds_devices(before);
    pod_unref(map_put(cluster->pods, key, steal_pod));
    map_put(cluster->pods_by_uid, steal_pod->uid, steal_pod);
    if (pod_holds_devices(steal_pod) && changed)
        hold(cluster, steal_pod);
    /* An unbound pod says nothing of a Binding that is younger: what is booked for it stays. */
    if (!pod_holds_devices(steal_pod) && (held || steal_pod->finished))
        cluster_forget_holding(cluster, steal_pod->uid);
}

void cluster_put_pod(struct cluster *cluster, struct pod *steal_pod)
{
    LOCK(cluster);
    put_pod(cluster, steal_pod);
}

void cluster_remove_pod(struct cluster *cluster, const char *namespace, const char *name,
                        const char *uid)
{
    AUTO_FREE char *key = pod_key(namespace, name);
    const struct pod *pod;

    LOCK(cluster);
    pod = map_get(cluster->pods, key);
    if (pod != NULL && (uid == NULL || strcmp(pod->uid, uid) == 0))
        forget_pod(cluster, key);
    else if (uid != NULL)
        cluster_forget_holding(cluster, uid); /* bound by us before the watch showed the pod */
}

void cluster_announce_pod_list(struct cluster *cluster)
{
    LOCK(cluster);
    cluster->list_number++;
}

/*
 * Holdings of pods that a list does not show: the pods were there when we booked for them, so if
 * the list was asked for later, they are gone, and no event will ever say so.
 */
static void forget_unlisted_holdings(struct cluster *cluster)
{
    struct map_cursor at = {0};

    while (ledger_next(cluster->ledger, &at)) {
        const struct holding *holding = at.value;

        if (holding->list_number < cluster->list_number &&
            map_get(cluster->pods_by_uid, holding->uid) == NULL)
            cluster_forget_holding(cluster, holding->uid);
    }
}

void cluster_replace_pods(struct cluster *cluster, struct pod **pods, size_t count)
{
    struct map_cursor at = {0};
    struct hash_key no_secret = {{0, 0}};
    struct map *listed = map_new(&no_secret);

    LOCK(cluster);
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *key = pod_key(pods[i]->namespace, pods[i]->name);

        map_put(listed, key, cluster);
        put_pod(cluster, pods[i]);
    }
    while (map_next(cluster->pods, &at)) {
        if (map_get(listed, at.key) == NULL)
            forget_pod(cluster, at.key);
    }
    forget_unlisted_holdings(cluster);
    map_free(listed, NULL);
    cluster->pods_listed = true;
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
    state = map_get(cluster->nodes, node->name);
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

struct snapshot *cluster_snapshot(struct cluster *cluster)
{
    struct map_cursor at = {0};

    LOCK(cluster);
    if (cluster->current != NULL)
        return snapshot_ref(cluster->current);
    cluster->current = snapshot_new(map_count(cluster->nodes));
    while (map_next(cluster->nodes, &at))
        snapshot_add(cluster->current, at.value);
    snapshot_sort(cluster->current);
    return snapshot_ref(cluster->current);
}

struct pod *cluster_find_pod(struct cluster *cluster, const char *namespace, const char *name)
{
    AUTO_FREE char *key = pod_key(namespace, name);
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

/* --- checking ------------------------------------------------------------------------------------
 */

static void check_use(const struct cluster *cluster, const struct node_state *state)
{
    struct node_use sum;

    ledger_sum(cluster->ledger, state->node, NULL, &sum);
    assert(sum.unattributed == state->use.unattributed);
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

void cluster_check(struct cluster *cluster)
{
    struct map_cursor at = {0};

    LOCK(cluster);
    ledger_check(cluster->ledger);
    assert(map_count(cluster->pods) == map_count(cluster->pods_by_uid));
    while (map_next(cluster->nodes, &at))
        check_use(cluster, at.value);
}
