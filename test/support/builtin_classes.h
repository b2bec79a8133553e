/* SPDX-License-Identifier: Apache-2.0 */
/* builtin_classes - the classes that are built in, for a group of tests. */
#ifndef TOPOFIT_TEST_BUILTIN_CLASSES_H
#define TOPOFIT_TEST_BUILTIN_CLASSES_H

#include "topofit/device_class.h"

/* For cmocka_run_group_tests_name(): the table is there from one to the other. */
int builtin_classes_set_up(void **state);
int builtin_classes_tear_down(void **state);

const struct class_table *builtin_classes(void);

/* The class of that name; fails the test when there is none. */
const struct device_class *builtin_class(const char *name);

#endif
