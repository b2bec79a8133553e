/* SPDX-License-Identifier: Apache-2.0 */
/* class_selection - which devices of one class a pod wants, where it asks for several classes. */
#include "topofit/class_selection.h"

#include "topofit/mem.h"

#include <stdlib.h>

const struct class_selection *class_selections_find(const struct class_selections *selections,
                                                    const struct device_class *class)
{
    for (size_t i = 0; i < selections->count; i++) {
        if (selections->items[i].class == class)
            return &selections->items[i];
    }
    return NULL;
}

struct class_selection *class_selections_add(struct class_selections *selections,
                                             const struct device_class *class)
{
    const struct class_selection *known = class_selections_find(selections, class);

    if (known != NULL)
        return &selections->items[known - selections->items];
    selections->items =
        xreallocarray(selections->items, selections->count + 1, sizeof *selections->items);
    selections->items[selections->count] = (struct class_selection){.class = class};
    return &selections->items[selections->count++];
}

bool class_selections_name_devices(const struct class_selections *selections)
{
    for (size_t i = 0; i < selections->count; i++) {
        if (selections->items[i].use_devices.count + selections->items[i].avoid_devices.count > 0)
            return true;
    }
    return false;
}

struct class_selections class_selections_copy(const struct class_selections *from)
{
    struct class_selections to = {.items = xcalloc(from->count, sizeof *to.items),
                                  .count = from->count};

    for (size_t i = 0; i < from->count; i++) {
        const struct class_selection *item = &from->items[i];

        to.items[i] = (struct class_selection){
            .class = item->class,
            .use_devices = word_list_copy(&item->use_devices),
            .avoid_devices = word_list_copy(&item->avoid_devices),
            .use_products = word_list_copy(&item->use_products),
            .avoid_products = word_list_copy(&item->avoid_products),
        };
    }
    return to;
}

bool class_selections_equal(const struct class_selections *a, const struct class_selections *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct class_selection *x = &a->items[i], *y = &b->items[i];

        if (x->class != y->class || !word_list_equal(&x->use_devices, &y->use_devices) ||
            !word_list_equal(&x->avoid_devices, &y->avoid_devices) ||
            !word_list_equal(&x->use_products, &y->use_products) ||
            !word_list_equal(&x->avoid_products, &y->avoid_products))
            return false;
    }
    return true;
}

void class_selections_clear(struct class_selections *selections)
{
    for (size_t i = 0; i < selections->count; i++) {
        word_list_clear(&selections->items[i].use_devices);
        word_list_clear(&selections->items[i].avoid_devices);
        word_list_clear(&selections->items[i].use_products);
        word_list_clear(&selections->items[i].avoid_products);
    }
    free(selections->items);
    *selections = (struct class_selections){0};
}

size_t class_selections_bytes(const struct class_selections *selections)
{
    size_t bytes = selections->items != NULL
                       ? mem_block_bytes(selections->count * sizeof *selections->items)
                       : 0;

    for (size_t i = 0; i < selections->count; i++)
        bytes += word_list_bytes(&selections->items[i].use_devices) +
                 word_list_bytes(&selections->items[i].avoid_devices) +
                 word_list_bytes(&selections->items[i].use_products) +
                 word_list_bytes(&selections->items[i].avoid_products);
    return bytes;
}
