/* SPDX-License-Identifier: Apache-2.0 */
/*
 * placement_record - records and inventories as placement_checker reads them.
 *
 * source  docs/reference/annotations.md, docs/concepts/requests.md#phases
 */
#ifndef TOPOFIT_TEST_PLACEMENT_RECORD_H
#define TOPOFIT_TEST_PLACEMENT_RECORD_H

#include "support/api_model.h"

#define PLACEMENT_DEVICES_MAX 64
#define PLACEMENT_ID_MAX 129

/* What a device has, or what a pod holds of it. */
struct placement_amounts {
    char id[PLACEMENT_ID_MAX];
    uint64_t memory_mib;
    uint64_t cores, slots;
    char mode[16]; /* of a holding; "mixed" is never written by anybody */
};

struct placement_amounts *placement_find(struct placement_amounts *list, size_t count,
                                         const char *id);

/* The devices of a node's inventory. return how many; 0 when there is none that can be read. */
size_t placement_read_inventory(const struct api_object *node, struct placement_amounts *out);

/* Does a pod ask for devices? */
bool placement_asks_devices(const struct api_object *pod);

/*
 * What a bound pod holds by its record, the greatest of its phases for each device.
 *
 * out_count  0 for a pod without a record.
 * return     what is wrong with the record (the caller frees it), or NULL.
 */
char *placement_read_record(const struct api_object *pod, struct placement_amounts *out,
                            size_t *out_count);

#endif
