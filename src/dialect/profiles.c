/* SPDX-License-Identifier: Apache-2.0 */
/* profiles - partitions that containers ask for by the name of their profile. */
#include "profiles.h"

#include "topofit/mem.h"
#include "topofit/quantity.h"

#include <string.h>

/* The profile that a resource is the name of, or NULL. */
static const char *profile_of(const struct device_class *class, const char *resource)
{
    size_t length = class->profile_resources != NULL ? strlen(class->profile_resources) : 0;

    if (length == 0 || strncmp(resource, class->profile_resources, length) != 0)
        return NULL;
    return resource + length;
}

/* Each partition is an ask of its own: several may have a place on one device. */
static void add_asks(const char *profile, uint64_t count, struct ask *ask, struct request *out)
{
    size_t length = strlen(profile);

    if (length == 0 || length >= sizeof ask->profile) {
        request_set_problem(out, "\"%.60s\" is no name of a partition profile", profile);
        return;
    }
    ask->memory_kind = MEMORY_PROFILE;
    ask->memory = partition_name_mib(profile);
    if (ask->memory == 0)
        ask->memory = 1;
    memcpy(ask->profile, profile, length + 1);
    for (; count > 0 && out->problem == NULL; count--)
        request_add_ask(out, ask);
}

/* Of a key that is repeated the last one counts. */
static void read_pair(const struct kube_container *container, const struct kube_pairs *pairs,
                      size_t i, struct ask *ask, struct request *out)
{
    const struct kube_pair *pair = &pairs->items[i];
    const char *profile = profile_of(ask->class, pair->key);
    struct error err = {0};
    uint64_t count = 0;

    if (profile == NULL || kube_pairs_get(pairs, pair->key) != pair->value)
        return;
    if (quantity_parse_count(pair->value, &count, &err) < 0)
        request_set_problem(out, "%s of container %s is \"%.60s\": expected a whole number",
                            pair->key, container->name, pair->value);
    add_asks(profile, count, ask, out);
}

void profiles_read(const struct kube_container *container, size_t position,
                   const struct device_class *class, struct request *out)
{
    struct ask ask = {.container = (unsigned)position, .class = class, .count = 1};

    for (size_t i = 0; i < container->limits.count; i++)
        read_pair(container, &container->limits, i, &ask, out);
    for (size_t i = 0; i < container->requests.count; i++) {
        const struct kube_pair *pair = &container->requests.items[i];

        if (profile_of(class, pair->key) != NULL &&
            kube_pairs_get(&container->limits, pair->key) == NULL)
            read_pair(container, &container->requests, i, &ask, out);
    }
}
