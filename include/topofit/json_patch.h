/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_patch - the difference between two JSON trees, as a patch. source: RFC 6902, RFC 6901
 *
 * No I/O and no state. Only the operations add, remove and replace are written, each as deep in
 * the tree as it goes: what did not change is not named, so that a patch says what was done.
 */
#ifndef TOPOFIT_JSON_PATCH_H
#define TOPOFIT_JSON_PATCH_H

#include <jansson.h>

/*
 * The operations that turn one tree into another. Equal trees, whatever the order of their
 * members, give an empty list. In a list what begins and ends alike stays where it is.
 *
 * from, to  not changed; what they share costs nothing. The operations refer to values of `to`.
 * return    a new JSON array; the caller drops the reference.
 */
json_t *json_patch_between(const json_t *from, const json_t *to);

#endif
