/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantity - Kubernetes amounts as text: "8", "16Gi", "20k", "1e3", "500m".
 *
 * No I/O. One parser per meaning; each refuses what it cannot represent exactly and never rounds
 * to zero. "1E" is an exa, "1E3" a thousand. More than 19 significant digits are ERR_LIMIT.
 * source: k8s.io/apimachinery pkg/api/resource, the grammar in the comment on Quantity
 */
#ifndef TOPOFIT_QUANTITY_H
#define TOPOFIT_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "topofit/error.h"

/*
 * A whole number of things: "2", "1k", "2000m" (= 2), "1e1".
 *
 * out     0..UINT32_MAX
 * errors  ERR_INVALID for what is no quantity, negative or not whole; ERR_LIMIT beyond the range
 */
int quantity_parse_count(const char *text, uint64_t *out, struct error *err);

/*
 * An amount of device memory.
 *
 * A number without a unit is of MiB or of units of another size, also when the API server wrote it
 * as "20k" or "1e3" (it canonicalises 20000 that way). Ki Mi Gi Ti Pi Ei and M G T P E are bytes,
 * rounded up to a MiB.
 *
 * out           0..INT64_MAX: MiB when the amount has one of the units of bytes, else the number as
 *               written; 0 only for a written zero
 * out_has_unit  whether it has one
 * errors        ERR_INVALID for what is no quantity, negative, or without a unit not whole, and for
 *               less than 16 MiB in M G T P E: the API server writes 1000000 as "1M", so either may
 *               be meant; ERR_LIMIT beyond the range
 * source        docs/concepts/requests.md#memory
 */
int quantity_parse_memory(const char *text, uint64_t *out, bool *out_has_unit, struct error *err);

/*
 * Of what machines have, as Kubernetes means it: CPU in thousandths ("2", "100m", "0.5"), and
 * bytes ("1Gi", "500M", "1048576"). Both rounded up; out 0..INT64_MAX.
 *
 * errors  ERR_INVALID for what is no quantity or negative; ERR_LIMIT beyond the range
 */
int quantity_parse_milli(const char *text, uint64_t *out, struct error *err);
int quantity_parse_bytes(const char *text, uint64_t *out, struct error *err);

/*
 * A sum of device memory in MiB, as a quota gives it. A number without a unit counts units of
 * unit_mib, also when the API server wrote it as "20k". Fewer than 16 MiB in M G T P E are a plain
 * number as well: nobody limits a namespace to a few MB, and the API server writes 2000000 as "2M".
 * Fractions are dropped; what is too big is UINT64_MAX.
 *
 * out     UINT64_MAX with ERR_LIMIT as well
 * errors  ERR_INVALID for what is no quantity or negative, ERR_LIMIT for more than 19 digits
 */
int quantity_parse_total_mib(const char *text, uint64_t unit_mib, uint64_t *out, struct error *err);

#endif
