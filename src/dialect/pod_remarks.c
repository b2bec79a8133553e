/* SPDX-License-Identifier: Apache-2.0 */
/* pod_remarks - what looks as if it concerned us on a pod, and does not. */
#include "topofit/buf.h"
#include "topofit/dialect.h"
#include "topofit/mem.h"
#include "topofit/text.h"

#include <string.h>

#define SUGGESTION_DISTANCE 3
#define RESOURCES_MAX 32 /* misspelt ones of one pod; more say nothing new */
#define REMARK_BYTES 400
#define OWN_DOMAIN "topofit.io/"

struct remarks {
    const struct class_table *classes;
    void (*tell)(void *ctx, const char *text);
    void *ctx;
    const char *told[RESOURCES_MAX]; /* resources, borrowed */
    size_t count;
};

/* --- resources ------------------------------------------------------------------------------- */

/* The length of "nvidia.com/", or 0. */
static size_t domain_length(const char *resource)
{
    const char *slash = strchr(resource, '/');

    return slash != NULL ? (size_t)(slash - resource) + 1 : 0;
}

static bool is_known(const struct class_table *classes, const char *resource)
{
    if (class_find_resource(classes, resource) != NULL)
        return true;
    for (size_t i = 0; i < classes->count; i++) {
        const struct device_class *class = &classes->items[i];
        const char *prefix = class->profile_resources;

        if ((prefix != NULL && strncmp(resource, prefix, strlen(prefix)) == 0) ||
            (class->priority_resource != NULL && strcmp(resource, class->priority_resource) == 0))
            return true;
    }
    return false;
}

/* The resources that are nearest, "a or b"; none within a few letters: nothing. */
static void add_nearest(const struct class_table *classes, const char *resource, struct buf *out)
{
    unsigned least = SUGGESTION_DISTANCE + 1;

    for (size_t i = 0; i < classes->resource_count; i++) {
        const char *name = classes->resources[i].name;
        unsigned distance = text_distance(resource, name, SUGGESTION_DISTANCE);

        if (distance < least) {
            least = distance;
            buf_reset(out);
        }
        if (distance == least && distance <= SUGGESTION_DISTANCE)
            buf_addf(out, "%s%s", out->length > 0 ? " or " : "", name);
    }
}

static bool has_vendor(const struct class_table *classes, const char *resource)
{
    size_t length = domain_length(resource);

    for (size_t i = 0; length > 0 && i < classes->resource_count; i++) {
        if (strncmp(classes->resources[i].name, resource, length) == 0)
            return true;
    }
    return false;
}

static bool is_told(const struct remarks *remarks, const char *resource)
{
    for (size_t i = 0; i < remarks->count; i++) {
        if (strcmp(remarks->told[i], resource) == 0)
            return true;
    }
    return remarks->count == RESOURCES_MAX;
}

static void look_at_resource(struct remarks *remarks, const char *resource)
{
    AUTO(buf_clear) struct buf text = buf_with_max(REMARK_BYTES);
    AUTO(buf_clear) struct buf nearest = buf_with_max(REMARK_BYTES / 2);

    if (domain_length(resource) == 0 || is_known(remarks->classes, resource) ||
        is_told(remarks, resource))
        return;
    add_nearest(remarks->classes, resource, &nearest);
    if (nearest.length > 0)
        buf_addf(&text, "%.100s is of no class; did you mean %s?", resource, buf_text(&nearest));
    else if (has_vendor(remarks->classes, resource))
        buf_addf(&text, "%.100s is of no class; `topofit classes` lists the resources of %.*s",
                 resource, (int)domain_length(resource) - 1, resource);
    else
        return;
    remarks->told[remarks->count++] = resource;
    remarks->tell(remarks->ctx, buf_text(&text));
}

static void look_at_amounts(struct remarks *remarks, const struct kube_pairs *amounts)
{
    for (size_t i = 0; i < amounts->count; i++)
        look_at_resource(remarks, amounts->items[i].key);
}

/* --- annotations ----------------------------------------------------------------------------- */

static void look_at_annotation(struct remarks *remarks, const char *key)
{
    AUTO(buf_clear) struct buf text = buf_with_max(REMARK_BYTES);
    const char *nearest = text_nearest(key, dialect_native.annotations, SUGGESTION_DISTANCE);

    if (strncmp(key, OWN_DOMAIN, strlen(OWN_DOMAIN)) != 0 ||
        (nearest != NULL && strcmp(nearest, key) == 0))
        return;
    buf_addf(&text, "%.100s is no annotation that is read", key);
    if (nearest != NULL)
        buf_addf(&text, "; did you mean %s?", nearest);
    remarks->tell(remarks->ctx, buf_text(&text));
}

/* --- a pod ----------------------------------------------------------------------------------- */

bool dialect_pod_remarks(const struct kube_pod *kube, const struct class_table *classes,
                         void (*tell)(void *ctx, const char *text), void *ctx)
{
    struct remarks remarks = {.classes = classes, .tell = tell, .ctx = ctx};

    for (size_t i = 0; i < kube->container_count; i++) {
        look_at_amounts(&remarks, &kube->containers[i].limits);
        look_at_amounts(&remarks, &kube->containers[i].requests);
    }
    for (size_t i = 0; i < kube->meta.annotations.count; i++)
        look_at_annotation(&remarks, kube->meta.annotations.items[i].key);
    return remarks.count > 0;
}
