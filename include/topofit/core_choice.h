/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core_choice - which cores of a device a container has, where its runtime addresses them singly.
 *
 * Decisions count cores; which they are matters to nobody but the runtime (AWS Neuron). So they are
 * chosen when a plan becomes a record, from what is free then: the lowest. A record that does not
 * say which it has may have any: its device gets no other tenant.
 */
#ifndef TOPOFIT_CORE_CHOICE_H
#define TOPOFIT_CORE_CHOICE_H

#include "topofit/grant.h"

#define CORES_ADDRESSED_MAX 32 /* of one device; those of larger ones are not chosen */

/* What is known of the cores that a tenant has on a device. */
enum core_naming {
    CORES_COUNTED = 0, /* how many: more is not asked of this device */
    CORES_NAMED,       /* which; none at all, too */
    CORES_UNNAMED,     /* how many, and not which of the device's own */
};

/* cores, core_mask: what the tenant has on the device. */
enum core_naming core_naming(const struct device *device, uint16_t cores, uint32_t core_mask);

/*
 * Set core_mask of all devices of an allocation whose class addresses cores (cores.addressed).
 * Containers that run together get cores of their own; use is of the others.
 *
 * return  false when a device has fewer free ones than the allocation takes there; it is then of no
 *         use. What is counted as free is free by name, so that is a record that is no plan of
 * ours.
 */
bool cores_choose(struct allocation *allocation, const struct node *node,
                  const struct node_use *use);

#endif
