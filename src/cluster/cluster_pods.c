/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_pods - what the API server tells of pods, and what follows for the ledger. */
#include "cluster_inside.h"

#include <stdlib.h>
#include <string.h>

char *cluster_pod_key(const char *namespace, const char *name)
{
    size_t length = strlen(namespace), size = strlen(name) + 1;
    char *key = xmalloc(length + 1 + size);

    memcpy(key, namespace, length);
    key[length] = '/';
    memcpy(key + length + 1, name, size);
    return key;
}

/* Devices that a pod asks for beyond its init steps; absurd counts are cut. */
static unsigned count_asked(const struct pod *pod)
{
    unsigned count = 0;

    for (size_t a = 0; a < pod->request.ask_count; a++) {
        const struct ask *ask = &pod->request.asks[a];

        if (pod->request.containers[ask->container].kind != CONTAINER_INIT)
            count += ask->count < DEVICE_MAX ? ask->count : DEVICE_MAX;
    }
    return count;
}

/* Devices that a pod without a usable record must be taken to hold. */
static unsigned count_unattributed(const struct pod *pod)
{
    unsigned count = count_asked(pod);

    if (count == 0 && request_wants_devices(&pod->request))
        count = 1;
    return count;
}

/* Devices that a pod asks for and its record leaves out: nobody bound by us has any. */
static unsigned count_left_out(const struct pod *pod)
{
    unsigned asked = count_asked(pod);
    size_t recorded = 0;

    for (size_t i = 0; i < pod->record.container_count; i++) {
        const struct allocated_container *container = &pod->record.containers[i];

        recorded += container->kind != CONTAINER_INIT ? container->device_count : 0;
    }
    return asked > recorded ? asked - (unsigned)recorded : 0;
}

/*
 * A record of another pod or node was copied, with a manifest say: it tells nothing of this pod.
 * One that names no pod, as HAMi's, counts for who asks for devices: anybody could write it.
 */
static bool has_valid_record(const struct pod *pod)
{
    const struct allocation *record = &pod->record;

    if (!pod->has_record || strcmp(record->node, pod->node) != 0)
        return false;
    return record->pod_uid[0] != '\0' ? strcmp(record->pod_uid, pod->uid) == 0
                                      : request_wants_devices(&pod->request);
}

void cluster_forget_holding(struct cluster *cluster, const char *uid, struct touched *touched)
{
    struct holding *holding = ledger_find(cluster->ledger, uid);

    if (holding == NULL)
        return;
    if (cluster_state_of(cluster, holding->node) == NULL)
        cluster_note_freed_nowhere(cluster);
    else
        cluster_touch(cluster, holding->node, touched);
    ledger_remove(cluster->ledger, holding);
    /* Nothing is booked for it any more: what it is nominated for is held again. */
    cluster_touch_nomination(cluster, map_get(cluster->pods_by_uid, uid), touched);
}

/* What a bound pod holds: what its record says, and so many devices that nobody can name. */
struct claim {
    const struct allocation *record; /* of the pod, or NULL */
    unsigned unattributed;
};

static struct claim claim_of(const struct pod *pod)
{
    if (has_valid_record(pod))
        return (struct claim){&pod->record, count_left_out(pod)};
    return (struct claim){.unattributed = count_unattributed(pod)};
}

/* Most pods of a cluster are of no concern: they must not make plans on their node stale. */
static bool is_nothing(struct claim claim)
{
    return claim.record == NULL && claim.unattributed == 0;
}

/* Make the ledger say what a bound pod says. */
static void hold(struct cluster *cluster, struct pod *pod, struct touched *touched)
{
    struct claim claim = claim_of(pod);
    struct holding *before = ledger_find(cluster->ledger, pod->uid);
    uint64_t booked_s = before != NULL ? before->booked_s : cluster->now_s;

    /* It may have been reserved elsewhere than where the pod is now bound. */
    if (before != NULL)
        cluster_touch(cluster, before->node, touched);
    ledger_remove(cluster->ledger, before);
    if (is_nothing(claim))
        return;
    ledger_tell(cluster->ledger, pod, claim.record != NULL, claim.unattributed)->booked_s =
        booked_s;
    cluster_touch(cluster, pod->node, touched);
}

/* A pod comes to, or leaves, what is known: its node's host is loaded with it, or eased. */
static void load_host(struct cluster *cluster, const struct pod *pod)
{
    if (pod_holds_devices(pod))
        host_loads_add(cluster->host_loads, pod->node, pod->host);
}

static void ease_host(struct cluster *cluster, const struct pod *pod)
{
    if (pod_holds_devices(pod))
        host_loads_remove(cluster->host_loads, pod->node, pod->host);
}

/* A pod has left the maps: what it held goes, too. */
static void drop_pod(struct cluster *cluster, struct pod *steal_pod, struct touched *touched)
{
    ease_host(cluster, steal_pod);
    nominations_remove(cluster->nominations, steal_pod);
    cluster_forget_holding(cluster, steal_pod->uid, touched);
    cluster_touch(cluster, steal_pod->node, touched);
    cluster_touch_nomination(cluster, steal_pod, touched);
    pod_unref(steal_pod);
}

static void forget_pod(struct cluster *cluster, const char *key, struct touched *touched)
{
    struct pod *pod = map_remove(cluster->pods, key);

    if (pod == NULL)
        return;
    map_remove(cluster->pods_by_uid, pod->uid);
    drop_pod(cluster, pod, touched);
}

/* Does a new version of a pod change what it holds? */
static bool changes_holding(const struct pod *before, const struct pod *after)
{
    return before == NULL || strcmp(before->node, after->node) != 0 ||
           before->finished != after->finished || before->init_done != after->init_done ||
           claim_of(before).unattributed != claim_of(after).unattributed ||
           !quota_traits_equal(&before->request.traits, &after->request.traits) ||
           !pod_same_record(before, after);
}

/* A uid names one pod for ever: only a dump made by hand has it twice, then the last one counts. */
static void forget_other_name(struct cluster *cluster, const struct pod *other, const char *name,
                              struct touched *touched)
{
    if (strcmp(other->full_name, name) != 0)
        drop_pod(cluster, map_remove(cluster->pods, other->full_name), touched);
}

static void renew(struct cluster *cluster, struct pod *pod, struct touched *touched)
{
    struct holding *holding = ledger_find(cluster->ledger, pod->uid);
    bool has_started;

    if (holding == NULL)
        return;
    has_started = holding->pod->started_s != pod->started_s;
    ledger_renew(cluster->ledger, holding, pod);
    if (has_started)
        cluster_touch(cluster, pod->node, touched);
}

/* before: an older version of the pod, or NULL. */
static void settle_holding(struct cluster *cluster, const struct pod *before, struct pod *after,
                           struct touched *touched)
{
    if (pod_holds_devices(after)) {
        if (changes_holding(before, after))
            hold(cluster, after, touched);
        else
            renew(cluster, after, touched);
        return;
    }
    /* An unbound pod says nothing of a Binding that is younger: what is booked for it stays. */
    if (after->finished || (before != NULL && pod_holds_devices(before)))
        cluster_forget_holding(cluster, after->uid, touched);
}

static bool loads_host_alike(const struct pod *a, const struct pod *b)
{
    if (!pod_holds_devices(a) || !pod_holds_devices(b))
        return pod_holds_devices(a) == pod_holds_devices(b);
    return strcmp(a->node, b->node) == 0 && host_equal(a->host, b->host);
}

/* named: who had the name before, or NULL. Most news of a pod change nothing here. */
static void touch_hosts(const struct cluster *cluster, const struct pod *named,
                        const struct pod *after, struct touched *touched)
{
    if (named != NULL && loads_host_alike(named, after))
        return;
    if (named != NULL && pod_holds_devices(named))
        cluster_touch(cluster, named->node, touched);
    if (pod_holds_devices(after))
        cluster_touch(cluster, after->node, touched);
}

/* named: as above. Nominations, and who leaves for them, change what is held. */
static void touch_nominations(const struct cluster *cluster, const struct pod *named,
                              const struct pod *after, struct touched *touched)
{
    cluster_touch_nomination(cluster, named, touched);
    cluster_touch_nomination(cluster, after, touched);
    if (named != NULL && named->deleting != after->deleting &&
        nominations_on_node(cluster->nominations, after->node) != NULL)
        cluster_touch(cluster, after->node, touched);
}

/* --- the mix ---------------------------------------------------------------------------- */

static void tally(struct cluster *cluster, const struct pod *pod)
{
    if (cluster->tally != NULL && !pod->finished)
        mix_tally_add(cluster->tally, &pod->request, pod->host);
}

static void publish_mix(struct cluster *cluster, struct pod_mix *steal_mix)
{
    pod_mix_unref(cluster->mix);
    cluster->mix = steal_mix;
    cluster_show_mix(cluster);
}

static void summarise_mix(struct cluster *cluster)
{
    if (cluster->tally == NULL || !mix_tally_has_news(cluster->tally))
        return;
    publish_mix(cluster, mix_tally_summary(cluster->tally));
}

void cluster_set_pod_mix(struct cluster *cluster, struct pod_mix *steal_mix)
{
    LOCK(cluster);
    mix_tally_free(steal_ptr(&cluster->tally));
    publish_mix(cluster, steal_mix);
}

struct mix_origin cluster_mix_origin(struct cluster *cluster)
{
    LOCK(cluster);
    if (cluster->tally == NULL)
        return (struct mix_origin){.is_given = true};
    return (struct mix_origin){.pods = mix_tally_pods(cluster->tally)};
}

/* --- pods ------------------------------------------------------------------------------------ */

/* The maps are asked as seldom as can be: a list puts hundreds of thousands of pods. */
static void put_pod(struct cluster *cluster, struct pod *steal_pod)
{
    const struct pod *other = map_put(cluster->pods_by_uid, steal_pod->uid, steal_pod);
    AUTO(pod_unref_pointer) struct pod *named = NULL;
    struct touched touched = {0};
    const struct pod *before;

    if (other != NULL)
        forget_other_name(cluster, other, steal_pod->full_name, &touched);
    named = map_put(cluster->pods, steal_pod->full_name, steal_pod);
    before = named;
    if (named != NULL) {
        ease_host(cluster, named);
        nominations_remove(cluster->nominations, named);
    }
    load_host(cluster, steal_pod);
    nominations_add(cluster->nominations, steal_pod);
    if (named != NULL && strcmp(named->uid, steal_pod->uid) != 0) {
        map_remove(cluster->pods_by_uid, named->uid);
        cluster_forget_holding(cluster, named->uid, &touched);
        before = NULL;
    }
    settle_holding(cluster, before, steal_pod, &touched);
    touch_hosts(cluster, named, steal_pod, &touched);
    touch_nominations(cluster, named, steal_pod, &touched);
    cluster_republish(cluster, &touched);
}

void cluster_put_pod(struct cluster *cluster, struct pod *steal_pod)
{
    LOCK(cluster);
    if (map_get(cluster->pods_by_uid, steal_pod->uid) == NULL)
        tally(cluster, steal_pod);
    put_pod(cluster, steal_pod);
    summarise_mix(cluster);
}

void cluster_remove_pod(struct cluster *cluster, const char *namespace, const char *name,
                        const char *uid)
{
    AUTO_FREE char *key = cluster_pod_key(namespace, name);
    struct touched touched = {0};
    const struct pod *pod;

    LOCK(cluster);
    pod = map_get(cluster->pods, key);
    if (pod != NULL && (uid == NULL || strcmp(pod->uid, uid) == 0))
        forget_pod(cluster, key, &touched);
    else if (uid != NULL) /* bound by us before the watch showed the pod */
        cluster_forget_holding(cluster, uid, &touched);
    cluster_republish(cluster, &touched);
}

void cluster_announce_pod_list(struct cluster *cluster)
{
    LOCK(cluster);
    cluster->list_number++;
}

/* --- pictures -------------------------------------------------------------------------------- */

/* Does the ledger hold what hold() would enter? Who says nothing may have a booking of ours. */
static bool is_booked_right(const struct cluster *cluster, const struct pod *pod)
{
    const struct holding *holding = ledger_find(cluster->ledger, pod->uid);
    struct claim claim = claim_of(pod);

    if (!pod_holds_devices(pod))
        return holding == NULL || !holding->told;
    if (holding == NULL || is_nothing(claim))
        return holding == NULL && is_nothing(claim);
    return holding->told && strcmp(holding->node, pod->node) == 0 &&
           holding->pod->init_done == pod->init_done &&
           holding->unattributed == claim.unattributed &&
           (holding->allocation != NULL) == (claim.record != NULL) &&
           (claim.record == NULL || allocation_equal(holding->allocation, claim.record));
}

struct pod_picture *cluster_picture_pods(struct cluster *cluster, size_t *count)
{
    struct map_cursor at = {0};
    struct pod_picture *pictures;

    LOCK(cluster);
    pictures = xcalloc(map_count(cluster->pods) + 1, sizeof *pictures);
    *count = 0;
    while (map_next(cluster->pods, &at))
        pictures[(*count)++] =
            (struct pod_picture){pod_ref(at.value), is_booked_right(cluster, at.value)};
    return pictures;
}

char **cluster_picture_orphans(struct cluster *cluster, size_t *count)
{
    struct map_cursor at = {0};
    size_t capacity = 0;
    char **uids = NULL;

    *count = 0;
    LOCK(cluster);
    while (ledger_next(cluster->ledger, &at)) {
        const struct holding *holding = at.value;

        if (holding->state != HOLDING_BOUND ||
            map_get(cluster->pods_by_uid, holding->pod->uid) != NULL)
            continue;
        uids = mem_grow(uids, *count, &capacity, sizeof *uids);
        uids[(*count)++] = xstrdup(holding->pod->uid);
    }
    return uids;
}

struct node **cluster_picture_nodes(struct cluster *cluster, size_t *count)
{
    struct map_cursor at = {0};
    struct node **nodes;

    LOCK(cluster);
    nodes = xcalloc(map_count(cluster->nodes) + 1, sizeof *nodes);
    *count = 0;
    while (map_next(cluster->nodes, &at))
        nodes[(*count)++] = node_ref(((const struct known_node *)at.value)->state->node);
    return nodes;
}

/* --- lists ----------------------------------------------------------------------------------- */

/*
 * Does a booking outlive a list of pods? What the list shows as bound or ended speaks for itself.
 * What it does not show was there when we booked for it, so if we saw it since, or the list was
 * asked for later, it is gone, and no event will ever say so.
 */
static bool outlives_list(const struct cluster *cluster, const struct cluster *listed,
                          const struct holding *holding)
{
    const struct pod *pod;

    if (holding->told)
        return false;
    pod = map_get(listed->pods_by_uid, holding->pod->uid);
    if (pod != NULL)
        return !pod->finished && !pod_holds_devices(pod);
    return holding->list_number >= cluster->list_number &&
           map_get(cluster->pods_by_uid, holding->pod->uid) == NULL;
}

/* A list does not say since when a pod is there: what is known stays, others are new. */
static void keep_ages(const struct cluster *cluster, struct cluster *listed)
{
    struct map_cursor at = {0};

    while (ledger_next(listed->ledger, &at)) {
        struct holding *holding = at.value;
        const struct holding *before = ledger_find(cluster->ledger, holding->pod->uid);

        holding->booked_s = before != NULL ? before->booked_s : cluster->now_s;
    }
}

static void keep_bookings(struct cluster *cluster, struct cluster *listed)
{
    struct map_cursor at = {0};

    while (ledger_next(cluster->ledger, &at)) {
        struct holding *holding = at.value;

        if (!outlives_list(cluster, listed, holding))
            continue;
        ledger_take(cluster->ledger, holding);
        ledger_add(listed->ledger, holding);
    }
}

#define SWAP(a, b) \
    do { \
        __typeof__(a) swapped = (a); \
        (a) = (b); \
        (b) = swapped; \
    } while (0)

static bool is_first_list(struct cluster *cluster)
{
    LOCK(cluster);
    return !cluster->pods_listed;
}

/* The lock is held for what was booked and for the sums; reading and freeing need none. */
void cluster_replace_pods(struct cluster *cluster, struct pod **pods, size_t count)
{
    struct cluster *listed = cluster_new(&cluster->key); /* knows no nodes, so it sums nothing */
    bool is_first = is_first_list(cluster);

    /* The first list shows who runs here. Later ones show hardly anybody whom no watch showed. */
    for (size_t i = 0; is_first && i < count; i++)
        tally(listed, pods[i]);
    for (size_t i = 0; i < count; i++)
        put_pod(listed, pods[i]);
    pthread_mutex_lock(&cluster->lock);
    keep_ages(cluster, listed);
    keep_bookings(cluster, listed);
    SWAP(cluster->pods, listed->pods);
    SWAP(cluster->pods_by_uid, listed->pods_by_uid);
    SWAP(cluster->ledger, listed->ledger);
    SWAP(cluster->nominations, listed->nominations);
    SWAP(cluster->host_loads, listed->host_loads);
    cluster_republish_all(cluster);
    if (!cluster->pods_listed && cluster->tally != NULL) /* a mix that was given stays */
        SWAP(cluster->tally, listed->tally);
    cluster->pods_listed = true;
    summarise_mix(cluster);
    pthread_mutex_unlock(&cluster->lock);
    cluster_free(listed);
}
