/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hami_list - HAMi's device list: what the containers of a pod have of one vendor's devices.
 *
 *     pod = { container ";" }   container = { device ":" }   device = id "," type "," MiB "," cores
 *
 * Containers stand by position, init containers first; one without devices is an empty text before
 * its ";". No state, no knowledge of any vendor. For the dialects only.
 */
#ifndef TOPOFIT_HAMI_LIST_H
#define TOPOFIT_HAMI_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "topofit/buf.h"
#include "topofit/error.h"

#define HAMI_NO_TEMPLATE (-1)

/* One device of one container. */
struct hami_line {
    char *id; /* without the suffix of a partition */
    char *type;
    uint64_t memory_mib; /* up to INT32_MAX, as HAMi has it */
    uint32_t cores;
    /*
     * The suffix "[2-0]" that HAMi up to 2.9 puts behind the id of a device cut into partitions:
     * number of the layout, and of the partition in it. HAMI_NO_TEMPLATE without one.
     */
    int template_index, slot_index;
};

/* What one container has. */
struct hami_slot {
    struct hami_line *lines;
    size_t count;
};

struct hami_list {
    struct hami_slot *slots; /* one a container */
    size_t count;
};

/*
 * Read a list. Fields behind the fourth are not looked at.
 *
 * out     the caller clears it; "" is an empty list.
 * errors  ERR_INVALID with the number of container and device (from 0): a field missing, empty or
 *         no whole number; a device or container without its end, as of a list that was cut short;
 *         ERR_LIMIT for more containers or devices than a pod can have.
 */
int hami_list_read(const char *text, struct hami_list *out, struct error *err);

/* Append a slot; append a line to the last slot. Borrowed until the next one is added. */
struct hami_slot *hami_list_add_slot(struct hami_list *list);
struct hami_line *hami_list_add_line(struct hami_list *list, const char *id, const char *type);

/* How many lines all slots have. */
size_t hami_list_lines(const struct hami_list *list);

void hami_list_write(const struct hami_list *list, struct buf *out);

/* Accepts zeroed memory. */
void hami_list_clear(struct hami_list *list);

#endif
