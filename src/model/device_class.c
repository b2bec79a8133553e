/* SPDX-License-Identifier: Apache-2.0 */
/* device_class - a kind of device: the names of its resources and their units. */
#include "topofit/device_class.h"

#include "topofit/class_keys.h"
#include "topofit/mem.h"
#include "topofit/text.h"

#include <stdlib.h>
#include <string.h>

bool class_numbers_allow(const struct class_numbers *list, uint64_t number)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i] == number)
            return true;
    }
    return list->count == 0;
}

const struct device_class *class_find(const struct class_table *classes, const char *name)
{
    for (size_t i = 0; i < classes->count; i++) {
        if (strcmp(classes->items[i].name, name) == 0)
            return &classes->items[i];
    }
    return NULL;
}

const struct class_resource *class_find_resource(const struct class_table *classes,
                                                 const char *name)
{
    size_t low = 0, high = classes->resource_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(classes->resources[middle].name, name);

        if (order == 0)
            return &classes->resources[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const char *class_nearest(const struct class_table *classes, const char *name, unsigned limit)
{
    const char *nearest = NULL;

    for (size_t i = 0; i < classes->count; i++) {
        const char *const names[] = {nearest != NULL ? nearest : classes->items[i].name,
                                     classes->items[i].name, NULL};

        nearest = text_nearest(name, names, limit);
    }
    return nearest;
}

static int compare_resources(const void *a, const void *b)
{
    const struct class_resource *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static void add_resources(struct class_table *classes, size_t position)
{
    const struct device_class *class = &classes->items[position];
    const char *const names[AMOUNT_KINDS] = {
        [AMOUNT_COUNT] = class->count_resource,     [AMOUNT_MEMORY] = class->memory_resource,
        [AMOUNT_PERCENT] = class->percent_resource, [AMOUNT_CORES] = class->cores_resource,
        [AMOUNT_SLICES] = class->slices_resource,
    };

    for (size_t i = 0; i < AMOUNT_KINDS; i++) {
        if (names[i] != NULL)
            classes->resources[classes->resource_count++] =
                (struct class_resource){names[i], (uint32_t)position, (enum class_amount)i};
    }
}

int class_table_index(struct class_table *classes, struct error *err)
{
    free(classes->resources);
    classes->resources = xcalloc(classes->count, AMOUNT_KINDS * sizeof *classes->resources);
    classes->resource_count = 0;
    for (size_t i = 0; i < classes->count; i++)
        add_resources(classes, i);
    qsort(classes->resources, classes->resource_count, sizeof *classes->resources,
          compare_resources);
    for (size_t i = 1; i < classes->resource_count; i++) {
        const struct class_resource *a = &classes->resources[i - 1], *b = &classes->resources[i];

        if (strcmp(a->name, b->name) == 0)
            return error_set(err, ERR_INVALID,
                             "classes %s and %s: resource %s can have one meaning only",
                             classes->items[a->class].name, classes->items[b->class].name, a->name);
    }
    return 0;
}

void class_clear(struct device_class *class)
{
    class_shape_clear(&class_shape, class);
}

void class_table_clear(struct class_table *classes)
{
    for (size_t i = 0; i < classes->count; i++)
        class_clear(&classes->items[i]);
    free(classes->items);
    free(classes->resources);
    *classes = (struct class_table){0};
}
