/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease_json - a coordination.k8s.io/v1 Lease as bytes, and as the record that leader election
 * reads and writes.
 *
 * Times are opaque text: they are for people, and sent back as they came. Whatever others put into
 * the object survives being read and written again, also what nobody here has heard of. Their texts
 * are cut where they are too long for us, and never a reason not to read the Lease: whoever wrote
 * them could else keep everybody from leading.
 *
 * source  Kubernetes API reference, Lease v1 coordination.k8s.io
 */
#ifndef TOPOFIT_LEASE_JSON_H
#define TOPOFIT_LEASE_JSON_H

#include <stddef.h>

#include "topofit/buf.h"
#include "topofit/error.h"
#include "topofit/kube_object.h"

/* Who asks the holder to hand over: its identity. */
#define LEASE_WANTED_BY "topofit.io/wanted-by"

#define LEASE_TEXT_MAX 1024 /* bytes of one text of a record; what is longer is cut */

struct json_t; /* of jansson */

/* All strings are owned and never NULL ("" when absent) once initialised. */
struct lease_record {
    struct kube_meta meta;
    char *holder;         /* "" when nobody holds it */
    char *wanted_by;      /* the annotation */
    long long duration_s; /* as written, may be absurd; 0 when absent */
    char *acquire_time, *renew_time;
    long long transitions; /* 0 when absent */
    struct json_t *object; /* all that was read; NULL when nothing was */
};

/* init: an empty record on the caller's storage. clear: accepts zeroed memory. */
void lease_record_init(struct lease_record *record);
void lease_record_clear(struct lease_record *record);

/*
 * Read a Lease. What *out held before is freed on success: it must be initialised or zeroed.
 *
 * errors  ERR_INVALID for what is not JSON, not a Lease, or without a name or resourceVersion;
 *         ERR_LIMIT for a name, uid or version longer than LEASE_TEXT_MAX.
 */
int lease_json_read(const char *bytes, size_t length, struct lease_record *out, struct error *err);

/* A Lease as it is to be written. Everything is borrowed. */
struct lease_view {
    const struct json_t *object; /* what is written over; NULL: nothing */
    const char *name, *namespace, *uid, *resource_version;
    const char *holder;    /* NULL: as it is in the object, and so are the times */
    const char *wanted_by; /* takes the place of the annotation */
    long long duration_s;
    const char *acquire_time, *renew_time;
    long long transitions;
};

/* The record as it is, texts that were cut included. Borrows from it. */
struct lease_view lease_record_view(const struct lease_record *record);

/*
 * Write a Lease; members that are "" or a duration of 0 are left as they are, but for the holder.
 * With a uid the API server refuses to make it anew when it was deleted, with a resourceVersion
 * when it was changed (409).
 *
 * The times need exactly six digits behind the second, see moment_write().
 */
void lease_json_write(struct buf *out, const struct lease_view *lease);

/* No record that lease_json_read() gave, written with names of common length, is longer. */
#define LEASE_JSON_MAX_BYTES (8u << 20)

#endif
