/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hami_partitions - devices in MIG mode, in the spellings of both generations of HAMi's plugin.
 *
 * The plugin of 2.10 lists profiles with placements, and a pod's partitions stand in
 * hami.io/vgpu-mig-allocations. That of 2.9 lists nothing: the ways to divide a product stand in
 * the class (hami.geometries), and a partition is the suffix of an id, "[way-position]". For
 * hami*.c only.
 */
#ifndef TOPOFIT_HAMI_PARTITIONS_H
#define TOPOFIT_HAMI_PARTITIONS_H

#include "hami_list.h"
#include "topofit/dialect.h"
#include "topofit/partition.h"

#define HAMI_MODE_DIVIDED "mig"

struct json_t;

/*
 * The table of "migProfiles" of a register annotation.
 *
 * return   one reference, or NULL when there are none; or *out_fault, static text.
 */
struct partition_table *hami_profiles_read(const struct json_t *profiles, const char **out_fault);

/* The table that the class has for a product, with one reference, or NULL. */
struct partition_table *hami_geometry_of(const struct device_class *class, const char *product);

/*
 * The partition that the suffix of a line means: of the class's geometries that which has a
 * partition of this memory there. return false when none has.
 */
bool hami_partition_of_line(const struct device_class *class, const struct hami_line *line,
                            struct partition_placement *out);

/* The suffix for a partition of a table of geometries; false for any other table. */
bool hami_suffix_of(const struct partition_table *table,
                    const struct partition_placement *partition, struct hami_line *out);

/* What hami.io/vgpu-mig-allocations says of a line of a list. */
struct hami_reservation {
    size_t slot, line;
    struct partition_placement partition;
};

struct hami_reservations {
    struct hami_reservation *items;
    size_t count;
};

/*
 * Read the annotation for the devices of a list.
 *
 * out     the caller clears it.
 * errors  ERR_INVALID: not readable, or names a device that the list has not there.
 */
int hami_reservations_read(const char *text, const struct hami_list *list,
                           struct hami_reservations *out, struct error *err);
void hami_reservations_clear(struct hami_reservations *reservations);

/* The annotation for the devices of a class; nothing where none is divided that way. */
void hami_reservations_write(const struct dialect_placement *placement,
                             const struct device_class *class, struct buf *out);

#endif
