/* SPDX-License-Identifier: Apache-2.0 */
/* set_places - where a set may lie by the rule of its class, and in which order. */
#include "set_places.h"

#include "set_zones.h"

#include <string.h>

#define KEY_LAST UINT16_MAX

bool set_rule_allows_count(const struct set_rule *rule, unsigned count)
{
    for (size_t i = 0; i < rule->counts.count; i++) {
        if (rule->counts.items[i] == count)
            return true;
    }
    return rule->counts.count == 0;
}

/* --- indices --------------------------------------------------------------------------------- */

/* The devices of a mask whose index lies in a range of `count` from `first` on. */
static device_mask in_range(const struct set_question *question, device_mask of, unsigned first,
                            unsigned count)
{
    device_mask found = 0;

    for (; of != 0; of &= of - 1) {
        unsigned index = question->node->devices[mask_first(of)].index;

        if (index >= first && index - first < count)
            found |= mask_of(mask_first(of));
    }
    return found;
}

static device_mask with_index(const struct set_question *question, device_mask of, uint64_t index)
{
    return in_range(question, of, (unsigned)index, 1);
}

/* One more than the highest index of the class, whatever state its devices are in. */
static unsigned index_end(const struct set_question *question)
{
    unsigned end = 0;

    for (unsigned i = 0; i < question->node->device_count; i++) {
        const struct device *device = &question->node->devices[i];

        if (device->class == question->class && device->index >= end)
            end = device->index + 1;
    }
    return end;
}

/* --- lists of places ------------------------------------------------------------------------- */

void set_places_add(struct set_places *out, struct topology_place place, unsigned key)
{
    unsigned at = out->count;

    if (at == SET_PLACES_MAX) {
        out->cut_short = true;
        return;
    }
    for (; at > 0 && out->keys[at - 1] > key; at--) {
        out->items[at] = out->items[at - 1];
        out->keys[at] = out->keys[at - 1];
    }
    out->items[at] = place;
    out->keys[at] = (uint16_t)(key < KEY_LAST ? key : KEY_LAST);
    out->count++;
}

static void add_within(const struct set_question *question, device_mask within, unsigned key,
                       struct set_places *out)
{
    if (mask_count(within) >= question->count)
        set_places_add(out, (struct topology_place){.within = within}, key);
}

/* --- runs ------------------------------------------------------------------------------------ */

/* The run of the count that begins with an index; fewer devices where some are missing. */
static device_mask run_from(const struct set_question *question, device_mask of, unsigned first)
{
    device_mask run = in_range(question, of, first, question->count);
    unsigned end = index_end(question);

    if (question->rule->wraps && first + question->count > end)
        run |= in_range(question, of, 0, first + question->count - end);
    return run;
}

static bool may_begin(const struct set_question *question, unsigned first)
{
    if (question->rule->wraps && question->count > index_end(question))
        return false;
    return !question->rule->is_aligned || first % question->count == 0;
}

static void list_runs(const struct set_question *question, struct set_places *out)
{
    for (device_mask left = question->candidates; left != 0; left &= left - 1) {
        unsigned first = question->node->devices[mask_first(left)].index;
        device_mask run = run_from(question, question->candidates, first);

        if (may_begin(question, first) && mask_count(run) == question->count)
            set_places_add(out, (struct topology_place){.within = run}, 0);
    }
}

static bool is_run(const struct set_question *question, device_mask set)
{
    for (device_mask left = set; left != 0; left &= left - 1) {
        unsigned first = question->node->devices[mask_first(left)].index;

        if (may_begin(question, first) && run_from(question, set, first) == set)
            return true;
    }
    return false;
}

/* --- wings ----------------------------------------------------------------------------------- */

/* The devices of a mask in the wing or module of a device. */
static device_mask part_of(const struct set_question *question, device_mask of, unsigned position)
{
    unsigned width = question->rule->width;
    unsigned first = question->node->devices[position].index / width * width;

    return in_range(question, of, first, width);
}

/* The devices of a mask that a crossing lists; 0 when one is missing. */
static device_mask crossing_of(const struct set_question *question, device_mask of, size_t crossing)
{
    const struct class_numbers *devices = &question->rule->crossings.items[crossing].devices;
    device_mask set = 0;

    for (size_t i = 0; i < devices->count; i++) {
        device_mask device = with_index(question, of, devices->items[i]);

        if (device == 0)
            return 0;
        set |= device;
    }
    return set;
}

/*
 * The tightest wing first. An odd number of devices breaks a pair in a wing where an even number
 * is free: such wings come after those where it does not.
 */
static unsigned wing_key(const struct set_question *question, device_mask wing)
{
    bool breaks_pair = question->count % 2 == 1 && mask_count(wing) % 2 == 0;

    return mask_count(wing) + (breaks_pair ? DEVICE_MAX + 1 : 0);
}

static void list_wings(const struct set_question *question, struct set_places *out)
{
    for (device_mask left = question->candidates; left != 0;) {
        device_mask wing = part_of(question, question->candidates, mask_first(left));

        add_within(question, wing, wing_key(question, wing), out);
        left &= ~wing;
    }
    for (size_t i = 0; i < question->rule->crossings.count; i++) {
        device_mask set = crossing_of(question, question->candidates, i);

        if (mask_count(set) == question->count)
            set_places_add(out, (struct topology_place){.within = set}, KEY_LAST);
    }
}

static bool is_in_wings(const struct set_question *question, device_mask set)
{
    if (part_of(question, set, mask_first(set)) == set)
        return true;
    for (size_t i = 0; i < question->rule->crossings.count; i++) {
        if (crossing_of(question, set, i) == set)
            return true;
    }
    return false;
}

/* --- modules --------------------------------------------------------------------------------- */

/* The devices of modules that are all candidates, or of all others. */
static device_mask in_modules(const struct set_question *question, bool whole)
{
    device_mask found = 0;

    for (device_mask left = question->candidates; left != 0;) {
        device_mask module = part_of(question, question->candidates, mask_first(left));

        if ((mask_count(module) == question->rule->width) == whole)
            found |= module;
        left &= ~module;
    }
    return found;
}

/* Add each way to complete a set with whole modules. */
static void add_modules(const struct set_question *question, device_mask set, device_mask left,
                        struct set_places *out)
{
    if (mask_count(set) == question->count)
        set_places_add(out, (struct topology_place){.within = set}, 0);
    while (mask_count(set) + mask_count(left) >= question->count &&
           mask_count(set) < question->count && !out->cut_short) {
        device_mask module = part_of(question, left, mask_first(left));

        left &= ~module;
        add_modules(question, set | module, left, out);
    }
}

static void list_modules(const struct set_question *question, struct set_places *out)
{
    if (question->count > 1) {
        if (question->count % question->rule->width == 0)
            add_modules(question, 0, in_modules(question, true), out);
        return;
    }
    add_within(question, in_modules(question, false), 0, out);
    add_within(question, in_modules(question, true), 1, out);
}

static bool is_of_modules(const struct set_question *question, device_mask set)
{
    if (question->count == 1)
        return true;
    for (device_mask left = set; left != 0; left &= left - 1) {
        if (mask_count(part_of(question, set, mask_first(left))) != question->rule->width)
            return false;
    }
    return true;
}

/* --- all kinds ------------------------------------------------------------------------------- */

static void list_all(const struct set_question *question, struct set_places *out)
{
    add_within(question, question->candidates, 0, out);
}

static void list_zones(const struct set_question *question, struct set_places *out)
{
    struct set_zones zones;

    if (!set_zones_find(question, &zones)) {
        list_all(question, out);
        return;
    }
    for (unsigned i = 0; i < zones.count; i++) {
        unsigned size = mask_count(zones.masks[i]);

        add_within(question, zones.masks[i],
                   question->rule->zone_order == ZONES_LARGEST ? DEVICE_MAX - size : size, out);
    }
    if (mask_count(question->candidates) < question->count)
        return;
    /* No zone holds it. */
    if (out->count == 0)
        set_zones_mix(question, &zones, out);
    /* Zones come first, but a set that the pod's demands rule out there may be anywhere. */
    add_within(question, question->candidates, KEY_LAST, out);
}

static bool is_any(const struct set_question *question, device_mask set)
{
    (void)question;
    (void)set;
    return true;
}

static const struct {
    void (*list)(const struct set_question *question, struct set_places *out);
    bool (*allows)(const struct set_question *question, device_mask set);
} kinds[] = {
    [SET_PEERS] = {list_all, is_any},
    [SET_RUNS] = {list_runs, is_run},
    [SET_WINGS] = {list_wings, is_in_wings},
    [SET_ZONES] = {list_zones, is_any},
    [SET_MODULES] = {list_modules, is_of_modules},
};

void set_places_list(const struct set_question *question, struct set_places *out)
{
    out->count = 0;
    out->cut_short = false;
    if (set_rule_allows_count(question->rule, question->count))
        kinds[question->rule->kind].list(question, out);
}

bool set_is_allowed(const struct set_question *question, device_mask set)
{
    return set_rule_allows_count(question->rule, question->count) &&
           kinds[question->rule->kind].allows(question, set);
}
