/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_text - bytes that stand in a JSON string as they are, and bytes that are the same.
 *
 * Plain is printable ASCII without quote and backslash (and DEL): no escape, no character of more
 * than one byte. Looked at eight at a time and more.
 */
#ifndef TOPOFIT_PLAIN_TEXT_H
#define TOPOFIT_PLAIN_TEXT_H

#include <stddef.h>

/* How many plain bytes there are at the start of bytes[length]. */
size_t plain_span(const char *bytes, size_t length);

/* How many bytes two texts, of `length` bytes each, have in common at their start. */
size_t common_span(const char *a, const char *b, size_t length);

#endif
