/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class_selection - which devices of one class a pod wants, where it asks for several classes.
 *
 * Vendors' keys select among the devices of that vendor. In a pod that asks for one class alone
 * they are the request's own lists; in one that asks for several, they would exclude all devices
 * of the others, so they are kept here.
 */
#ifndef TOPOFIT_CLASS_SELECTION_H
#define TOPOFIT_CLASS_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "topofit/device_class.h"
#include "topofit/word_list.h"

struct class_selection {
    const struct device_class *class; /* borrowed */
    struct word_list use_devices, avoid_devices, use_products, avoid_products;
};

/* Each class once. Zeroed: none. */
struct class_selections {
    struct class_selection *items;
    size_t count;
};

/* The one of a class, empty when it is new. Borrowed until the next one is added. */
struct class_selection *class_selections_add(struct class_selections *selections,
                                             const struct device_class *class);

/* The one of a class, or NULL. Borrowed. */
const struct class_selection *class_selections_find(const struct class_selections *selections,
                                                    const struct device_class *class);

bool class_selections_name_devices(const struct class_selections *selections);

struct class_selections class_selections_copy(const struct class_selections *from);
bool class_selections_equal(const struct class_selections *a, const struct class_selections *b);
void class_selections_clear(struct class_selections *selections);

/* How much memory they take. */
size_t class_selections_bytes(const struct class_selections *selections);

#endif
