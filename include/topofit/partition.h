/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition - into what a device can be divided by its hardware, and what of that is taken.
 *
 * Placements, not counts: a partition starts at one of a few memory slices and takes some in a
 * row, so the same partitions fit or do not fit by where they are. Two limits hold at once: no
 * slice is taken twice, and the compute slices of all partitions stay within those of the device.
 *
 * Where a device can only be divided in one of a few fixed ways (a geometry), each way is a
 * group: the places of all groups are numbered on, a partition takes one place, and as long as
 * one is taken the others can only be of its group.
 *
 * A table is built, then shared and never changed again; reference counted atomically.
 * source: docs/concepts/partitions.md
 */
#ifndef TOPOFIT_PARTITION_H
#define TOPOFIT_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#include "topofit/device_class.h"

#define PARTITION_NAME_MAX 24     /* bytes of a profile's name, with its end */
#define PARTITION_PROFILES_MAX 16 /* profiles of one device */
#define PARTITION_SLICES_MAX 16   /* memory slices of one device, or places of its geometry */
#define PARTITION_LIMITS_MAX 16   /* sum of `max` over all profiles that have one */

/* One kind of partition. */
struct partition_profile {
    char name[PARTITION_NAME_MAX]; /* "1g.10gb+me" */
    uint64_t memory_mib;
    uint16_t cores;   /* core units that it serves; what it books: partition_cores() */
    uint8_t width;    /* memory slices in a row; 1 in a geometry */
    uint8_t compute;  /* compute slices; 0 in a geometry */
    uint16_t starts;  /* slices at which it may start, a bit each */
    uint8_t max;      /* at once on a device; 0 = as many as fit */
    uint8_t group;    /* way of dividing the device, from 1; 0 = not a geometry */
    uint8_t limit_at; /* set by partition_table_add(): first of the bits that count up to `max` */
};

struct partition_table {
    unsigned references;
    uint8_t slices;      /* memory slices of the device */
    uint8_t compute;     /* compute slices of the device; 0 = no limit */
    uint8_t limits_used; /* bits that `max` of its profiles take */
    uint8_t count;
    uint8_t shape_count;
    /* Profiles that differ in memory or compute, the largest first: positions in `profiles`. */
    uint8_t shapes[PARTITION_PROFILES_MAX];
    struct partition_profile profiles[PARTITION_PROFILES_MAX];
};

/* What is taken of a device: bits of its memory slices, above them those that count to `max`. */
struct partition_use {
    uint32_t slices;
    uint8_t compute;
};

#define PARTITION_COMPUTE_BAD UINT8_MAX /* more than any device has: records that overlap */

/* One partition as a record tells it, for who does not know the device's table. */
struct partition_placement {
    char profile[PARTITION_NAME_MAX]; /* "" = no partition */
    uint8_t start, size;              /* memory slices */
    struct partition_use use;
};

/* An empty table with one reference. compute 0: their sum has no limit. */
struct partition_table *partition_table_new(unsigned slices, unsigned compute);
struct partition_table *partition_table_ref(struct partition_table *table);
void partition_table_unref(struct partition_table *table);
void partition_table_unref_pointer(struct partition_table **table);

/*
 * Append a profile. Only before sharing.
 *
 * return  NULL, or what is wrong with it: static text, "must have a name" say.
 */
const char *partition_table_add(struct partition_table *table,
                                const struct partition_profile *profile);

/* A profile of a class file. */
struct class_profile {
    char *name;
    uint64_t memory_mib;
    uint16_t cores;
    uint32_t width, compute, max, group; /* as in struct partition_profile */
    struct class_numbers starts;
};

struct class_profiles {
    struct class_profile *items;
    size_t count;
};

/* How devices of a product are divided. */
struct class_division {
    struct class_texts products; /* each: words of a product's name */
    uint32_t slices, compute;    /* as in struct partition_table */
    struct class_profiles profiles;
};

/*
 * The table of a division, with one reference.
 *
 * return   NULL when a profile cannot be; *out_fault is what is wrong then: static text.
 */
struct partition_table *partition_table_of(const struct class_division *division,
                                           const char **out_fault);

/*
 * A table of profiles alone: the device has as many slices as they reach, and as many compute
 * slices as the one that takes all of these; no limit to compute where there is none such.
 */
struct partition_table *partition_table_of_profiles(const struct partition_profile *profiles,
                                                    unsigned count, const char **out_fault);

/* How devices of a product are divided: the first that its words describe, or NULL. */
const struct class_division *division_for(const struct class_divisions *divisions,
                                          const char *product);

/* Both NULL, or the same content. */
bool partition_table_equal(const struct partition_table *a, const struct partition_table *b);

/*
 * Position of the first profile of a name, or -1. Case aside, and '+' and '.' are the same:
 * resources are called mig-1g.10gb.me where the profile is 1g.10gb+me.
 */
int partition_find(const struct partition_table *table, const char *name);

/* Are two names of profiles the same in that way? */
bool partition_name_equal(const char *a, const char *b);

/* Start of place `position` of a group, both from 0 in HAMi's and Volcano's ids; -1 for none. */
int partition_geometry_start(const struct partition_table *table, unsigned group,
                             unsigned position);

/* The compute slices that a name such as 3g.40gb tells: 3. 0 when it tells none. */
unsigned partition_name_compute(const char *name);

/* The memory that such a name tells, in MiB: 40960. 0 when it tells none. */
uint64_t partition_name_mib(const char *name);

/*
 * What a partition of a profile takes when it starts at a slice, beside what is taken already.
 *
 * return  slices 0 when it cannot be there.
 */
struct partition_use partition_at(const struct partition_table *table, struct partition_use taken,
                                  unsigned profile, unsigned start);

/* Both together. */
struct partition_use partition_add(struct partition_use taken, struct partition_use more);

/* How many of a profile can still be made at once, when nothing else is. */
unsigned partition_most(const struct partition_table *table, struct partition_use taken,
                        unsigned profile);

/* Do the facts of a record contradict what is taken, or the table (NULL: there is none)? */
bool partition_conflicts(const struct partition_table *table, struct partition_use taken,
                         struct partition_use more);

/*
 * Core units that a partition of a profile books on a device: those it serves, but no more than its
 * part of the compute slices. Whoever reports profiles may round up (17 for a sixth), and six
 * sixths are one device.
 */
uint16_t partition_cores(const struct partition_table *table, unsigned profile,
                         uint16_t device_cores);

/* The placement of a partition as records tell it. slices: from partition_at(). */
struct partition_placement partition_placement_of(const struct partition_table *table,
                                                  unsigned profile, unsigned start,
                                                  uint32_t slices);

/* As written by somebody who tells no more than this; compute as the name tells it. */
struct partition_placement partition_placement_made(const char *profile, unsigned start,
                                                    unsigned size);

#endif
