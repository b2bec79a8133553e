/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputopo_clique - a group of devices in which each is near every other.
 *
 * Deepest first over bit masks. The recursion is at most DEVICE_MAX deep.
 */
#include "gputopo_inside.h"

/* Devices with fewer than need - 1 neighbours cannot take part; dropping one may strand others. */
static device_mask drop_stranded(const device_mask near[DEVICE_MAX], device_mask open,
                                 unsigned need)
{
    device_mask before;

    do {
        before = open;
        for (device_mask left = open; left != 0; left &= left - 1) {
            unsigned device = mask_first(left);

            if (mask_count(near[device] & open) + 1 < need)
                open &= ~mask_of(device);
        }
    } while (open != before);
    return open;
}

bool gputopo_clique_find(const device_mask near[DEVICE_MAX], device_mask open, unsigned need,
                         struct gputopo_budget *budget, device_mask *found)
{
    if (need <= 1) {
        *found = mask_lowest(open, need);
        return mask_count(open) >= need;
    }
    if (!gputopo_spend(budget))
        return false;
    open = drop_stranded(near, open, need);
    while (mask_count(open) >= need) {
        unsigned device = mask_first(open);

        open &= open - 1;
        if (gputopo_clique_find(near, open & near[device], need - 1, budget, found)) {
            *found |= mask_of(device);
            return true;
        }
    }
    return false;
}
