/* SPDX-License-Identifier: Apache-2.0 */
/* class_check - do the keys of a class go together? */
#include "class_inside.h"
#include "topofit/mem.h"
#include "topofit/partition.h"
#include "topofit/set_rule.h"

#include <string.h>

#define KEY_BYTES_MAX 128

/* The value of a key, or of the innermost of its groups that the document has. */
static const struct yaml_value *find_place(const struct yaml_value *document, const char *name)
{
    const struct yaml_value *at = document;

    for (;;) {
        char word[KEY_BYTES_MAX] = "";
        size_t length = strcspn(name, ".");
        const struct yaml_value *next;

        memcpy(word, name, length < sizeof word ? length : sizeof word - 1);
        next = yaml_get(at, word);
        if (next == NULL)
            return at;
        at = next;
        if (name[length] == '\0')
            return at;
        name += length + 1;
    }
}

static int refuse(const struct yaml_value *document, const char *key, const char *expected,
                  struct error *err)
{
    const struct yaml_value *place = find_place(document, key);

    return error_set(err, ERR_INVALID, "line %u, column %u: %s %s", place->line, place->column, key,
                     expected);
}

static bool is_zero(const void *memory, size_t size)
{
    static const char zero[sizeof(struct class_list)];

    return memcmp(memory, zero, size) == 0;
}

int class_check_required(const struct class_shape *shape, const void *object,
                         const struct yaml_value *document, struct error *err)
{
    for (size_t i = 0; i < shape->count; i++) {
        const struct class_key *key = &shape->keys[i];

        if (key->required && is_zero((const char *)object + key->offset, key->size))
            return error_set(err, ERR_INVALID, "line %u, column %u: key \"%s\" is missing",
                             document->line, document->column, key->name);
    }
    return 0;
}

/* As the API server wants extended resources: "vendor.com/name". */
static bool has_domain(const char *resource)
{
    const char *slash = resource != NULL ? strchr(resource, '/') : NULL;

    return resource == NULL || (slash != NULL && slash > resource && slash[1] != '\0');
}

static int check_resources(const struct device_class *class, const struct yaml_value *document,
                           struct error *err)
{
    const struct {
        const char *key, *resource;
    } all[] = {
        {"resources.count", class->count_resource},
        {"resources.memory", class->memory_resource},
        {"resources.memoryPercent", class->percent_resource},
        {"resources.cores", class->cores_resource},
        {"resources.slices", class->slices_resource},
        {"resources.priority", class->priority_resource},
    };

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (!has_domain(all[i].resource))
            return refuse(document, all[i].key, "must have a domain: vendor.com/name", err);
    }
    if (class->count_resource == NULL && class->slices_resource == NULL)
        return refuse(document, "resources.count", "is missing: how are devices asked for?", err);
    return 0;
}

static int check_templates(const struct device_class *class, const struct yaml_value *document,
                           struct error *err)
{
    const struct class_templates *list = &class->templates;

    for (size_t i = 1; i < list->count; i++) {
        if (list->items[i].memory_mib <= list->items[i - 1].memory_mib)
            return refuse(document, "memory.templates", "must stand smallest first", err);
    }
    if (list->count > 0 && class->memory_capacity_mib > 0 &&
        list->items[list->count - 1].memory_mib > class->memory_capacity_mib)
        return refuse(document, "memory.capacityMiB", "is less than the largest template", err);
    return 0;
}

static int check_cores(const struct device_class *class, const struct yaml_value *document,
                       struct error *err)
{
    if (class->default_cores > (class->cores_percent ? 100 : class->cores))
        return refuse(document, "defaults.cores", "is more than a device has", err);
    if (class->cores_of_memory_mib > 0 && class->cores_resource != NULL)
        return refuse(document, "cores.ofMemoryMiB", "cannot hold beside resources.cores", err);
    if (class->cores_count_devices && class->cores_resource == NULL)
        return refuse(document, "cores.countDevices", "needs resources.cores", err);
    if (class->cores_count_devices && class->cores_percent)
        return refuse(document, "cores.countDevices", "cannot hold beside cores.percent", err);
    /* Who asks for cores says all there is to say: an amount of memory would be lost. */
    if (class->cores_count_devices &&
        (class->memory_resource != NULL || class->percent_resource != NULL ||
         class->default_memory_mib > 0))
        return refuse(document, "cores.countDevices", "cannot hold where memory is asked for", err);
    return 0;
}

static int check_memory(const struct device_class *class, const struct yaml_value *document,
                        struct error *err)
{
    if (!class->memory_counted &&
        (class->memory_resource != NULL || class->percent_resource != NULL))
        return refuse(document, "memory.counted", "cannot be false where memory is asked for", err);
    for (size_t i = 0; i < class->memory_allowed.count; i++) {
        if (class->memory_allowed.items[i] % class->memory_granule_mib != 0)
            return refuse(document, "memory.allowedMiB", "goes against memory.roundUpToMiB", err);
    }
    if (class->default_memory_mib > 0 &&
        !class_numbers_allow(&class->memory_allowed, class->default_memory_mib))
        return refuse(document, "defaults.memoryMiB", "is not in memory.allowedMiB", err);
    if (class->memory_allowed.count > 0 && class->templates.count > 0)
        return refuse(document, "memory.allowedMiB", "cannot hold beside memory.templates", err);
    if ((class->free_annotation == NULL) != (class->free_value == NULL))
        return refuse(document, "anySize", "needs both annotation and value", err);
    return 0;
}

static int check_sets(const struct device_class *class, const struct yaml_value *document,
                      struct error *err)
{
    for (size_t i = 0; i < class->sets.count; i++) {
        const char *problem = set_rule_problem(&class->sets.items[i]);

        if (problem != NULL)
            return refuse(document, "sets", problem, err);
    }
    return 0;
}

static int check_divisions(const struct class_divisions *divisions, const char *key,
                           const struct yaml_value *document, struct error *err)
{
    for (size_t i = 0; i < divisions->count; i++) {
        const char *fault = NULL;

        partition_table_unref(partition_table_of(&divisions->items[i], &fault));
        if (fault != NULL)
            return refuse(document, key, fault, err);
    }
    return 0;
}

static int check_partitions(const struct device_class *class, const struct yaml_value *document,
                            struct error *err)
{
    if (check_divisions(&class->divisions, "partitions", document, err) < 0)
        return error_pass(err);
    return check_divisions(&class->hami_geometries, "hami.geometries", document, err);
}

/* Some allowed count must be possible under the other rules. */
static int check_counts(const struct device_class *class, const struct yaml_value *document,
                        struct error *err)
{
    for (size_t i = 0; i < class->counts_allowed.count; i++) {
        uint64_t count = class->counts_allowed.items[i];

        if (count > 1 && count % class->count_multiple_of != 0)
            return refuse(document, "count.allowed", "goes against count.multipleOf", err);
    }
    if (class->one_means > 1 && class->one_means % class->count_multiple_of != 0)
        return refuse(document, "count.oneMeans", "goes against count.multipleOf", err);
    if (!class_numbers_allow(&class->counts_allowed, class->default_count))
        return refuse(document, "defaults.count", "is not in count.allowed", err);
    return 0;
}

int class_check(const struct device_class *class, const struct yaml_value *document,
                struct error *err)
{
    static int (*const checks[])(const struct device_class *, const struct yaml_value *,
                                 struct error *) = {
        check_resources, check_templates, check_cores,      check_memory,
        check_counts,    check_sets,      check_partitions,
    };

    if (class_check_required(&class_shape, class, document, err) < 0)
        return error_pass(err);
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        if (checks[i](class, document, err) < 0)
            return error_pass(err);
    }
    return 0;
}
