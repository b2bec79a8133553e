/* SPDX-License-Identifier: Apache-2.0 */
/* device_class - a kind of device: the names of its resources and their units. */
#include "topofit/device_class.h"

#include <stdlib.h>
#include <string.h>

const struct device_class *class_find(const struct class_table *classes, const char *name)
{
    for (size_t i = 0; i < classes->count; i++) {
        if (strcmp(classes->items[i].name, name) == 0)
            return &classes->items[i];
    }
    return NULL;
}

void class_clear(struct device_class *class)
{
    free(class->name);
    free(class->title);
    free(class->count_resource);
    free(class->memory_resource);
    free(class->percent_resource);
    free(class->cores_resource);
    *class = (struct device_class){0};
}

void class_table_clear(struct class_table *classes)
{
    for (size_t i = 0; i < classes->count; i++)
        class_clear(&classes->items[i]);
    free(classes->items);
    *classes = (struct class_table){0};
}
