/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputopo_clique - a group of devices in which each is near every other.
 *
 * Deepest first over bit masks. Devices that are not near each other share a colour, and a group
 * has at most one device of a colour, so only devices beyond the first need - 1 colours are worth
 * starting from. The recursion is at most DEVICE_MAX deep.
 * source: E. Tomita and T. Seki, "An efficient branch-and-bound algorithm for finding a maximum
 * clique" (2003).
 */
#include "gputopo_inside.h"

/* Devices with fewer than need - 1 neighbours cannot take part. */
static device_mask drop_stranded(const device_mask near[DEVICE_MAX], device_mask open,
                                 unsigned need)
{
    for (device_mask left = open; left != 0; left &= left - 1) {
        unsigned device = mask_first(left);

        if (mask_count(near[device] & open) + 1 < need)
            open &= ~mask_of(device);
    }
    return open;
}

/* What so many colours do not suffice for. */
static device_mask beyond_colours(const device_mask near[DEVICE_MAX], device_mask open,
                                  unsigned colours)
{
    for (; colours > 0 && open != 0; colours--) {
        for (device_mask left = open; left != 0;) {
            unsigned device = mask_first(left);

            open &= ~mask_of(device);
            left &= ~(near[device] | mask_of(device));
        }
    }
    return open;
}

enum gputopo_answer gputopo_clique_find(const device_mask near[DEVICE_MAX], device_mask open,
                                        unsigned need, struct gputopo_budget *budget,
                                        device_mask *found)
{
    if (mask_count(open) < need)
        return GPUTOPO_NONE;
    if (need <= 1) {
        *found = mask_lowest(open, need);
        return GPUTOPO_FOUND;
    }
    if (!gputopo_spend(budget, 1))
        return GPUTOPO_UNKNOWN;
    open = drop_stranded(near, open, need);
    for (device_mask starts = beyond_colours(near, open, need - 1); starts != 0;
         starts &= starts - 1) {
        unsigned device = mask_first(starts);
        enum gputopo_answer answer;

        answer = gputopo_clique_find(near, open & near[device], need - 1, budget, found);
        if (answer == GPUTOPO_FOUND)
            *found |= mask_of(device);
        if (answer != GPUTOPO_NONE)
            return answer;
        open &= ~mask_of(device);
    }
    return GPUTOPO_NONE;
}

static unsigned best_connected(const device_mask near[DEVICE_MAX], device_mask open)
{
    unsigned best = mask_first(open), most = 0;

    for (device_mask left = open; left != 0; left &= left - 1) {
        unsigned neighbours = mask_count(near[mask_first(left)] & open);

        if (neighbours > most) {
            most = neighbours;
            best = mask_first(left);
        }
    }
    return best;
}

bool gputopo_clique_grow(const device_mask near[DEVICE_MAX], device_mask open, unsigned need,
                         device_mask *found)
{
    for (device_mask starts = open; starts != 0; starts &= starts - 1) {
        unsigned device = mask_first(starts), grown = 0;
        device_mask group = 0, left = open;

        for (;; device = best_connected(near, left)) {
            group |= mask_of(device);
            left &= near[device];
            if (++grown == need) {
                *found = group;
                return true;
            }
            if (mask_count(left) < need - grown)
                break;
        }
    }
    return false;
}
