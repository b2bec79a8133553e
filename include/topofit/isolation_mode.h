/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isolation_mode - how the tenants of one device are kept apart.
 *
 * At any time the tenants of a device all have the same mode (ledger invariant).
 */
#ifndef TOPOFIT_ISOLATION_MODE_H
#define TOPOFIT_ISOLATION_MODE_H

/* One byte: each device and each line of a record has one. */
enum __attribute__((packed)) isolation_mode {
    ISOLATION_NONE = 0,    /* nobody on the device, or nothing asked */
    ISOLATION_SOFT,        /* fractions, held by a limiter library */
    ISOLATION_HARD,        /* fractions, held by hard limits */
    ISOLATION_PARTITIONED, /* partitions of the hardware (MIG, vNPU) */
    ISOLATION_SHARED,      /* the whole device for one tenant, no limiter */
};

/* "soft", "hard", "partitioned", "shared"; "" for ISOLATION_NONE. Static storage. */
const char *isolation_mode_name(enum isolation_mode mode);

/* The mode of a name, or ISOLATION_NONE when it is not one. */
enum isolation_mode isolation_mode_parse(const char *name);

#endif
