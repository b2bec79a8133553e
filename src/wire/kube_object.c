/* SPDX-License-Identifier: Apache-2.0 */
/* kube_object - nodes and pods as Kubernetes writes them, reduced to what is ever looked at. */
#include "topofit/kube_object.h"

#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

const char *kube_pairs_get(const struct kube_pairs *pairs, const char *key)
{
    for (size_t i = pairs->count; i > 0; i--) {
        if (strcmp(pairs->items[i - 1].key, key) == 0)
            return pairs->items[i - 1].value;
    }
    return NULL;
}

void kube_pairs_add(struct kube_pairs *pairs, const char *key, const char *value)
{
    pairs->items = mem_grow(pairs->items, pairs->count, &pairs->capacity, sizeof *pairs->items);
    pairs->items[pairs->count++] = (struct kube_pair){xstrdup(key), xstrdup(value)};
}

void kube_pairs_clear(struct kube_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        free(pairs->items[i].key);
        free(pairs->items[i].value);
    }
    free(pairs->items);
    *pairs = (struct kube_pairs){0};
}

static void init_meta(struct kube_meta *meta)
{
    *meta = (struct kube_meta){
        .name = xstrdup(""),
        .namespace = xstrdup(""),
        .uid = xstrdup(""),
        .resource_version = xstrdup(""),
    };
}

static void clear_meta(struct kube_meta *meta)
{
    free(meta->name);
    free(meta->namespace);
    free(meta->uid);
    free(meta->resource_version);
    kube_pairs_clear(&meta->labels);
    kube_pairs_clear(&meta->annotations);
}

void kube_container_clear(struct kube_container *container)
{
    free(container->name);
    kube_pairs_clear(&container->limits);
    kube_pairs_clear(&container->requests);
    *container = (struct kube_container){0};
}

void kube_pod_init(struct kube_pod *pod)
{
    *pod = (struct kube_pod){
        .node_name = xstrdup(""),
        .phase = xstrdup(""),
        .nominated_node = xstrdup(""),
        .scheduler_name = xstrdup(""),
        .priority_class = xstrdup(""),
    };
    init_meta(&pod->meta);
}

void kube_pod_clear(struct kube_pod *pod)
{
    clear_meta(&pod->meta);
    for (size_t i = 0; i < pod->container_count; i++)
        kube_container_clear(&pod->containers[i]);
    free(pod->containers);
    free(pod->node_name);
    free(pod->phase);
    free(pod->nominated_node);
    free(pod->scheduler_name);
    free(pod->priority_class);
    kube_pairs_clear(&pod->requests);
    kube_pairs_clear(&pod->limits);
    kube_pairs_clear(&pod->overhead);
    *pod = (struct kube_pod){0};
}

void kube_node_init(struct kube_node *node)
{
    *node = (struct kube_node){0};
    init_meta(&node->meta);
}

void kube_node_clear(struct kube_node *node)
{
    clear_meta(&node->meta);
    kube_pairs_clear(&node->allocatable);
    *node = (struct kube_node){0};
}

void kube_quota_init(struct kube_quota *quota)
{
    *quota = (struct kube_quota){0};
    init_meta(&quota->meta);
}

static void clear_scope(struct kube_scope *scope)
{
    for (size_t i = 0; i < scope->value_count; i++)
        free(scope->values[i]);
    free(scope->values);
    free(scope->name);
    free(scope->op);
}

void kube_quota_clear(struct kube_quota *quota)
{
    clear_meta(&quota->meta);
    kube_pairs_clear(&quota->hard);
    for (size_t i = 0; i < quota->scope_count; i++)
        clear_scope(&quota->scopes[i]);
    free(quota->scopes);
    *quota = (struct kube_quota){0};
}
