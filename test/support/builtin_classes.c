/* SPDX-License-Identifier: Apache-2.0 */
/* builtin_classes - the classes that are built in, for a group of tests. */
#include "support/builtin_classes.h"

#include "support/test.h"

#include "topofit/class.h"

static struct class_table classes;

int builtin_classes_set_up(void **state)
{
    (void)state;
    classes_builtin(&classes);
    return 0;
}

int builtin_classes_tear_down(void **state)
{
    (void)state;
    class_table_clear(&classes);
    return 0;
}

const struct class_table *builtin_classes(void)
{
    return &classes;
}

const struct device_class *builtin_class(const char *name)
{
    const struct device_class *class = class_find(&classes, name);

    assert_non_null(class);
    return class;
}
