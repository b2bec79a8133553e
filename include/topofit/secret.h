/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret - numbers that nobody else can know: keys of hashes, seeds of waits and names.
 *
 * From the kernel, which has them as soon as it is up; without them the process is aborted, for a
 * key that can be guessed would look as good as one that cannot. Any thread.
 */
#ifndef TOPOFIT_SECRET_H
#define TOPOFIT_SECRET_H

#include <stddef.h>
#include <stdint.h>

#define SECRET_BYTES_MAX 256 /* at once; so few are never cut short */

void secret_fill(void *out, size_t bytes);

uint64_t secret_number(void);

#endif
