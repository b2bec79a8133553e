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

/* Zones in order, and at their end the devices outside, whose pairs are worth nothing. */
struct mixture {
    const struct set_question *question;
    const struct set_zones *zones;
    struct set_places *places;
    /* [z][n]: the most that n devices of the first z zones are worth; IMPOSSIBLE: too many */
    int16_t best[DEVICE_MAX + 2][DEVICE_MAX + 1];
};

#define IMPOSSIBLE INT16_MIN

static device_mask zone_at(const struct mixture *mixture, unsigned z)
{
    return z < mixture->zones->count ? mixture->zones->masks[z] : mixture->zones->outside;
}

static int worth_at(const struct mixture *mixture, unsigned z, unsigned n)
{
    return z < mixture->zones->count ? worth_of(mask_count(zone_at(mixture, z)), n) : 0;
}

/* With the zone at z added to those before it. */
static void fill_best(struct mixture *mixture, unsigned z)
{
    unsigned size = mask_count(zone_at(mixture, z));

    for (unsigned wanted = 0; wanted <= mixture->question->count; wanted++) {
        int best = IMPOSSIBLE;

        for (unsigned n = 0; n <= size && n <= wanted; n++) {
            int rest = mixture->best[z][wanted - n];

            if (rest != IMPOSSIBLE && rest + worth_at(mixture, z, n) > best)
                best = rest + worth_at(mixture, z, n);
        }
        mixture->best[z + 1][wanted] = (int16_t)best;
    }
}

/* Each best way to take the rest of the first z zones, and any of what is taken in part. */
static void add_mixtures(const struct mixture *mixture, unsigned z, unsigned left,
                         struct topology_place place)
{
    device_mask zone;

    if (z == 0) {
        set_places_add(mixture->places, place, 0);
        return;
    }
    zone = zone_at(mixture, z - 1);
    for (unsigned n = 0; n <= mask_count(zone) && n <= left; n++) {
        int rest = mixture->best[z - 1][left - n];
        struct topology_place with = place;

        if (rest == IMPOSSIBLE || rest + worth_at(mixture, z - 1, n) != mixture->best[z][left])
            continue;
        with.within |= n > 0 ? zone : 0;
        with.required |= n == mask_count(zone) ? zone : 0;
        add_mixtures(mixture, z - 1, left - n, with);
        if (mixture->places->cut_short)
            return;
    }
}

/*
 * Taking more of a zone is worth ever more, so of a best mixture at most one zone, or the devices
 * outside, is taken in part.
 */
void set_zones_mix(const struct set_question *question, const struct set_zones *zones,
                   struct set_places *out)
{
    struct mixture mixture = {.question = question, .zones = zones, .places = out};

    if (question->rule->zone_order == ZONES_LARGEST) {
        set_places_add(out, take_largest(question, zones), 0);
        return;
    }
    for (unsigned n = 1; n <= DEVICE_MAX; n++)
        mixture.best[0][n] = IMPOSSIBLE;
    for (unsigned z = 0; z <= zones->count; z++)
        fill_best(&mixture, z);
    add_mixtures(&mixture, zones->count + 1, question->count, (struct topology_place){0});
}
