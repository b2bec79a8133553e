/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base64 - the standard alphabet of RFC 4648, as in kubeconfigs and HTTP. No I/O and no state: from
 * any thread.
 */
#ifndef TOPOFIT_BASE64_H
#define TOPOFIT_BASE64_H

#include <stddef.h>

#include "topofit/error.h"

/*
 * Decode a text; blanks and newlines in it are skipped.
 *
 * out     NUL-terminated behind out_length bytes; the caller frees it.
 * errors  ERR_INVALID for other characters, wrong padding or leftover bits.
 */
int base64_decode(const char *text, char **out, size_t *out_length, struct error *err);

/* Encode bytes, in one line with padding. The caller frees the text. */
char *base64_encode(const char *bytes, size_t length);

#endif
