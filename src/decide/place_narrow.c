/* SPDX-License-Identifier: Apache-2.0 */
/* place_narrow - the places that the rule of a class has, narrowed to what its limits allow. */
#include "place_inside.h"

/* Keep the places that pass, in order. */
static void filter_places(struct set_places *places,
                          bool (*narrow)(const struct placing *placing,
                                         struct topology_place *place),
                          const struct placing *placing)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < places->count; i++) {
        struct topology_place place = places->items[i];

        if (!narrow(placing, &place))
            continue;
        places->items[kept] = place;
        places->keys[kept++] = places->keys[i];
    }
    places->count = kept;
}

/* Of two numbers of tenants the first counts most. */
static unsigned online_load(const struct placing *placing, unsigned position)
{
    const struct device_use *use = &placing->problem->use->devices[position];

    return use->online * (UINT8_MAX + 1u) + use->offline;
}

/* Online pods go where the fewest of them are: those below the threshold, then those at it. */
static bool narrow_online(const struct placing *placing, struct topology_place *place)
{
    device_mask below = place->required, at = 0;

    while (mask_count(below | at) < placing->wanted->count) {
        device_mask left = place->within & ~(below | at);
        unsigned least = UINT32_MAX;

        if (left == 0)
            return false;
        below |= at;
        at = 0;
        for (device_mask m = left; m != 0; m &= m - 1) {
            unsigned load = online_load(placing, mask_first(m));

            if (load < least)
                at = 0;
            if (load <= least)
                at |= mask_of(mask_first(m));
            least = load < least ? load : least;
        }
    }
    *place = (struct topology_place){.within = below | at, .required = below};
    return true;
}

/* At most as many devices are split anew as there are handles for. */
static bool narrow_handles(const struct placing *placing, struct topology_place *place)
{
    unsigned left = gpufit_handles_left(&placing->question), most = 0, may_split;
    device_mask split_already = 0;

    for (device_mask m = place->within; m != 0; m &= m - 1) {
        unsigned i = mask_first(m);
        unsigned added = gpufit_handles_added(&placing->question, i, &placing->own[i]);

        split_already |= added == 0 ? mask_of(i) : 0;
        most = added > most ? added : most;
    }
    may_split = most > 0 ? left / most : DEVICE_MAX;
    if (placing->wanted->count <= may_split)
        return true;
    if (mask_count(split_already) >= placing->wanted->count) {
        place->within = split_already;
        return (place->required & ~split_already) == 0;
    }
    place->required |= split_already;
    return mask_count(split_already) + may_split >= placing->wanted->count;
}

/* Another ask's devices, all of them where the ask wants more than they are. */
static bool narrow_shared(const struct placing *placing, struct topology_place *place)
{
    device_mask shared = place_shared_devices(placing->problem, placing->plan, placing->ask);

    if (mask_count(shared) >= placing->wanted->count) {
        place->within &= shared;
        return mask_count(place->within) >= placing->wanted->count &&
               (place->required & ~shared) == 0;
    }
    place->required |= shared;
    return (shared & ~place->within) == 0 && mask_count(place->required) <= placing->wanted->count;
}

void place_list(const struct placing *placing, device_mask candidates, struct set_places *out)
{
    struct set_question question = place_set_question(placing->problem, placing->ask, candidates);
    const struct set_rule *rule = placing->rule;

    bool is_online =
        rule->match_service && placing->problem->request->application == APPLICATION_ONLINE;

    /* Whoever is waited for goes where there is room, whatever the zone. */
    question.is_whole = question.is_whole && !is_online;
    set_places_list(&question, out);
    if (is_online)
        filter_places(out, narrow_online, placing);
    if (rule->handles_max > 0)
        filter_places(out, narrow_handles, placing);
    if (rule->same_devices)
        filter_places(out, narrow_shared, placing);
}
