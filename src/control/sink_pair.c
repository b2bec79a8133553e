/* SPDX-License-Identifier: Apache-2.0 */
/* sink_pair - what a reflector brings, for two. */
#include "sink_pair.h"

static void begin_both(void *ctx)
{
    const struct sink_pair *pair = ctx;

    pair->first.begin(pair->first.ctx);
    pair->second.begin(pair->second.ctx);
}

static void commit_both(void *ctx)
{
    const struct sink_pair *pair = ctx;

    pair->first.commit(pair->first.ctx);
    pair->second.commit(pair->second.ctx);
}

static void item_both(void *ctx, struct kube_object *object)
{
    const struct sink_pair *pair = ctx;

    pair->first.item(pair->first.ctx, object);
    pair->second.item(pair->second.ctx, object);
}

static void upsert_both(void *ctx, struct kube_object *object)
{
    const struct sink_pair *pair = ctx;

    pair->first.upsert(pair->first.ctx, object);
    pair->second.upsert(pair->second.ctx, object);
}

static void remove_both(void *ctx, struct kube_object *object)
{
    const struct sink_pair *pair = ctx;

    pair->first.remove(pair->first.ctx, object);
    pair->second.remove(pair->second.ctx, object);
}

struct reflector_sink sink_pair_sink(struct sink_pair *pair)
{
    return (struct reflector_sink){.ctx = pair,
                                   .begin = begin_both,
                                   .item = item_both,
                                   .commit = commit_both,
                                   .upsert = upsert_both,
                                   .remove = remove_both};
}
