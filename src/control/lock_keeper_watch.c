/* SPDX-License-Identifier: Apache-2.0 */
/* lock_keeper_watch - what the watches of nodes and pods say about locks. */
#include "lock_keeper_inside.h"

#include "topofit/dialect.h"
#include "topofit/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- nodes ----------------------------------------------------------------------------------- */

/*
 * Versions are opaque by contract and numbers by practice; since Kubernetes 1.35 also by contract.
 * 0 for what is none: nothing is locked then.
 * source  KEP-5504
 */
uint64_t lock_version_of(const struct kube_node *node)
{
    const char *text = node->meta.resource_version;
    char *end;
    uint64_t version;

    if (text[0] < '1' || text[0] > '9')
        return 0;
    errno = 0;
    version = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0' ? version : 0;
}

static bool is_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Only another text is another lock; the age of one that stays goes on. */
static void show(struct lane *lane, enum node_lock kind, const char *text)
{
    struct shown_lock *shown = &lane->shown[kind];

    if (is_text(shown->text, text))
        return;
    free(shown->text);
    *shown =
        (struct shown_lock){.text = text != NULL ? xstrdup(text) : NULL, .number = ++lane->shows};
    lane->look_at_ms = lane->ask_at_ms = 0;
}

static bool has_lock(const struct kube_node *node)
{
    for (enum node_lock kind = NODE_LOCK_NONE + 1; kind < NODE_LOCK_KINDS; kind++) {
        if (kube_pairs_get(&node->meta.annotations, node_lock_key(kind)) != NULL)
            return true;
    }
    return false;
}

static void show_all(struct lock_keeper *keeper, const struct kube_node *node)
{
    struct lane *lane = map_get(keeper->lanes, node->meta.name);

    if (lane == NULL && !has_lock(node))
        return;
    if (lane == NULL)
        lane = lock_lane(keeper, node->meta.name);
    for (enum node_lock kind = NODE_LOCK_NONE + 1; kind < NODE_LOCK_KINDS; kind++)
        show(lane, kind, kube_pairs_get(&node->meta.annotations, node_lock_key(kind)));
    lock_settle_claims(lane, lock_version_of(node));
    if (!lock_lane_drop(keeper, lane))
        lane_index_touch(&keeper->index, lane);
}

void lock_take_node(struct lock_keeper *keeper, const struct kube_node *node)
{
    version_book_put(&keeper->versions, node->meta.name, lock_version_of(node));
    show_all(keeper, node);
}

static void forget_waste(struct lane *lane)
{
    struct claim *claim = lane->claims;

    while (claim != NULL) {
        struct claim *next = claim->next;

        if (claim->owner == NULL)
            lock_claim_drop(lane, claim);
        claim = next;
    }
}

void lock_forget_node(struct lock_keeper *keeper, const char *node)
{
    struct lane *lane = map_get(keeper->lanes, node);

    version_book_put(&keeper->versions, node, 0);
    if (lane == NULL)
        return;
    for (enum node_lock kind = NODE_LOCK_NONE + 1; kind < NODE_LOCK_KINDS; kind++)
        show(lane, kind, NULL);
    forget_waste(lane);
    if (!lock_lane_drop(keeper, lane))
        lane_index_touch(&keeper->index, lane);
}

/* --- the sink -------------------------------------------------------------------------------- */

/*
 * A list is kept apart until it is complete. Of its nodes only the versions are kept, and those
 * with a lock or a queue whole.
 */
static void free_listed(void *value)
{
    struct kube_node *node = value;

    kube_node_clear(node);
    free(node);
}

static void begin_list(void *ctx)
{
    struct lock_keeper *keeper = ctx;

    version_book_clear(&keeper->arriving);
    map_free(keeper->listed, free_listed);
    keeper->listed = map_new(&keeper->versions.key);
}

/* What of a node has to do with locks. */
static struct kube_node *copy_node(const struct kube_node *node)
{
    struct kube_node *copy = xcalloc(1, sizeof *copy);

    kube_node_init(copy);
    free(copy->meta.name);
    copy->meta.name = xstrdup(node->meta.name);
    free(copy->meta.resource_version);
    copy->meta.resource_version = xstrdup(node->meta.resource_version);
    for (enum node_lock kind = NODE_LOCK_NONE + 1; kind < NODE_LOCK_KINDS; kind++) {
        const char *text = kube_pairs_get(&node->meta.annotations, node_lock_key(kind));

        if (text != NULL)
            kube_pairs_add(&copy->meta.annotations, node_lock_key(kind), text);
    }
    return copy;
}

static void add_to_list(void *ctx, struct kube_object *object)
{
    struct lock_keeper *keeper = ctx;
    const struct kube_node *node = &object->node;

    version_book_put(&keeper->arriving, node->meta.name, lock_version_of(node));
    if (has_lock(node)) {
        struct kube_node *before = map_put(keeper->listed, node->meta.name, copy_node(node));

        if (before != NULL)
            free_listed(before);
    }
}

/* A lane that the list says nothing of has no lock, or no node any more. */
static void show_unlisted(struct lock_keeper *keeper)
{
    struct map_cursor at = {0};

    while (map_next(keeper->lanes, &at)) {
        struct lane *lane = at.value;
        uint64_t version = version_book_get(&keeper->versions, lane->node);

        if (map_get(keeper->listed, lane->node) != NULL)
            continue;
        for (enum node_lock kind = NODE_LOCK_NONE + 1; kind < NODE_LOCK_KINDS; kind++)
            show(lane, kind, NULL);
        lock_settle_claims(lane, version != 0 ? version : UINT64_MAX);
        if (!lock_lane_drop(keeper, lane))
            lane_index_touch(&keeper->index, lane);
    }
}

static void commit_list(void *ctx)
{
    struct lock_keeper *keeper = ctx;
    struct map_cursor at = {0};

    version_book_clear(&keeper->versions);
    keeper->versions = keeper->arriving;
    version_book_init(&keeper->arriving, &keeper->versions.key);
    show_unlisted(keeper);
    while (map_next(keeper->listed, &at))
        show_all(keeper, at.value);
    map_free(keeper->listed, free_listed);
    keeper->listed = map_new(&keeper->versions.key);
}

static void put_node(void *ctx, struct kube_object *object)
{
    lock_take_node(ctx, &object->node);
}

static void remove_node(void *ctx, struct kube_object *object)
{
    lock_forget_node(ctx, object->node.meta.name);
}

struct reflector_sink lock_keeper_nodes(struct lock_keeper *keeper)
{
    return (struct reflector_sink){.ctx = keeper,
                                   .begin = begin_list,
                                   .item = add_to_list,
                                   .commit = commit_list,
                                   .upsert = put_node,
                                   .remove = remove_node};
}

/* --- pods ------------------------------------------------------------------------------------ */

bool lock_names(const char *text, const char *namespace, const char *name)
{
    struct lock_holder holder = node_lock_holder(text);

    return holder.name != NULL && strlen(namespace) == holder.namespace_length &&
           memcmp(namespace, holder.namespace, holder.namespace_length) == 0 &&
           strcmp(name, holder.name) == 0;
}

static struct holder_view judge(const struct lane *lane, const char *node, bool is_finished,
                                bool is_handed_out)
{
    struct holder_view view = {HOLDER_OVER, LOCK_END_ENDED};

    if (is_finished)
        return view;
    if (node[0] == '\0')
        return (struct holder_view){HOLDER_UNBOUND, LOCK_END_UNBOUND};
    if (strcmp(node, lane->node) != 0)
        view.end = LOCK_END_ELSEWHERE;
    else if (is_handed_out)
        view.end = LOCK_END_SERVED;
    else
        view.holder = HOLDER_ALLOCATING;
    return view;
}

struct holder_view lock_judge_pod(const struct lane *lane, const struct kube_pod *pod)
{
    bool is_finished = strcmp(pod->phase, "Succeeded") == 0 || strcmp(pod->phase, "Failed") == 0;

    return judge(lane, pod->node_name, is_finished, dialect_is_handed_out(pod));
}

struct holder_view lock_judge_watched(const struct lock_keeper *keeper, const struct lane *lane,
                                      const char *text)
{
    struct lock_holder holder = node_lock_holder(text);
    AUTO_FREE char *namespace = NULL;
    AUTO(pod_unref_pointer) struct pod *pod = NULL;

    if (holder.name == NULL)
        return (struct holder_view){HOLDER_ALLOCATING, LOCK_END_AGED};
    namespace = xasprintf("%.*s", (int)holder.namespace_length, holder.namespace);
    pod = cluster_find_pod(keeper->options.cluster, namespace, holder.name);
    if (pod == NULL)
        return (struct holder_view){HOLDER_OVER, LOCK_END_GONE};
    return judge(lane, pod->node, pod->finished, pod->handed_out);
}
