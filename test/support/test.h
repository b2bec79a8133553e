/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test - what every test includes: cmocka with the headers it needs before it.
 *
 * One claim per function, named test_<function>__<claim_as_a_sentence>.
 */
#ifndef TOPOFIT_TEST_H
#define TOPOFIT_TEST_H

#include "topofit/error.h"
#include "topofit/mem.h"

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

/* Fail with the error's text when a call that should succeed did not. */
#define assert_ok(call, err) \
    do { \
        if ((call) < 0) \
            fail_msg("%s: %s", #call, (err)->text); \
    } while (0)

/* Fail unless `text` contains `part`. */
#define assert_contains(text, part) \
    do { \
        if (strstr((text), (part)) == NULL) \
            fail_msg("\"%s\" is not in \"%s\"", (part), (text)); \
    } while (0)

/* A whole file, NUL-terminated; fails the test if it cannot be read. Free it. */
char *test_read_file(const char *path, size_t *length);

#endif
