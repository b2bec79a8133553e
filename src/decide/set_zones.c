/* SPDX-License-Identifier: Apache-2.0 */
/* set_zones - candidates by the zone that the node reports of them. */
#include "set_zones.h"

#define PAIR_TAKEN 10 /* against a pair that is broken */

static device_mask in_zone(const struct set_question *question, int zone)
{
    device_mask found = 0;

    for (device_mask left = question->candidates; left != 0; left &= left - 1) {
        if (question->node->devices[mask_first(left)].zone == zone)
            found |= mask_of(mask_first(left));
    }
    return found;
}

bool set_zones_find(const struct set_question *question, struct set_zones *out)
{
    device_mask left;

    *out = (struct set_zones){.outside = in_zone(question, ZONE_UNKNOWN)};
    if (question->rule->whole_only && !question->is_whole)
        return false;
    for (left = question->candidates & ~out->outside; left != 0;) {
        device_mask zone = in_zone(question, question->node->devices[mask_first(left)].zone);
        unsigned at = out->count++;

        for (; at > 0 && mask_count(out->masks[at - 1]) > mask_count(zone); at--)
            out->masks[at] = out->masks[at - 1];
        out->masks[at] = zone;
        left &= ~zone;
    }
    return out->count > 0 && (question->rule->zone_order == ZONES_SMALLEST || out->outside == 0);
}

/* Zones in turn, from the last on, each whole; of the one that is too many any part. */
static struct topology_place take_largest(const struct set_question *question,
                                          const struct set_zones *zones)
{
    struct topology_place place = {0};

    for (unsigned i = zones->count; i-- > 0;) {
        place.within |= zones->masks[i];
        if (mask_count(place.within) >= question->count)
            break;
        place.required = place.within;
    }
    return place;
}

/* --- the best mixture ------------------------------------------------------------------------ */

/* What taking n of a zone of so many is worth. */
static int worth_of(unsigned size, unsigned n)
{
    return PAIR_TAKEN * (int)(n * (n - 1) / 2) - (int)(n * (size - n));
}

struct mixture {
    int best[DEVICE_MAX + 1];                      /* of so many devices of the zones so far */
    uint8_t taken[DEVICE_MAX + 1][DEVICE_MAX + 1]; /* [zone][devices]: of that zone then */
};

#define IMPOSSIBLE INT32_MIN

static void add_zone(struct mixture *mixture, unsigned zone, unsigned size, unsigned count,
                     bool has_pairs)
{
    for (unsigned wanted = count + 1; wanted-- > 0;) {
        int best = IMPOSSIBLE;

        for (unsigned n = 0; n <= size && n <= wanted; n++) {
            int rest = mixture->best[wanted - n];
            int worth = has_pairs ? worth_of(size, n) : 0;

            if (rest == IMPOSSIBLE || (best != IMPOSSIBLE && rest + worth <= best))
                continue;
            best = rest + worth;
            mixture->taken[zone][wanted] = (uint8_t)n;
        }
        mixture->best[wanted] = best;
    }
}

/*
 * Taking more of a zone is worth ever more, so of the best mixture at most one zone, or the
 * devices outside, is taken in part.
 */
struct topology_place set_zones_compose(const struct set_question *question,
                                        const struct set_zones *zones)
{
    struct mixture mixture = {.best = {0}};
    struct topology_place place = {0};
    unsigned left = question->count;

    if (question->rule->zone_order == ZONES_LARGEST)
        return take_largest(question, zones);
    for (unsigned i = 1; i <= DEVICE_MAX; i++)
        mixture.best[i] = IMPOSSIBLE;
    for (unsigned z = 0; z < zones->count; z++)
        add_zone(&mixture, z, mask_count(zones->masks[z]), question->count, true);
    add_zone(&mixture, zones->count, mask_count(zones->outside), question->count, false);
    for (unsigned z = zones->count + 1; z-- > 0;) {
        device_mask zone = z < zones->count ? zones->masks[z] : zones->outside;
        unsigned n = mixture.taken[z][left];

        left -= n;
        if (n > 0)
            place.within |= zone;
        if (n == mask_count(zone))
            place.required |= zone;
    }
    return place;
}
