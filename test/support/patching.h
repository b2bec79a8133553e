/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patching - apply a JSON Patch, written anew from RFC 6902 for tests: add, remove, replace.
 */
#ifndef TOPOFIT_TEST_PATCHING_H
#define TOPOFIT_TEST_PATCHING_H

#include <jansson.h>

/*
 * A new tree: `document` after the operations. A patch that cannot be applied, as a parent that is
 * missing or an index behind the end, fails the test.
 */
json_t *patching_apply(const json_t *document, const json_t *operations);

#endif
