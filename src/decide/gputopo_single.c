/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputopo_single - one device, taken where it does least damage.
 *
 * A device that somebody uses already can form no group, so taking it costs nothing. Of the idle
 * ones the best is the one whose loss leaves the most groups, and then the one that is linked to
 * the others least.
 */
#include "gputopo_inside.h"

#include <string.h>

/* Greater is better, most important first. */
enum {
    FIRST_PREFERENCE, /* only when the question puts it first */
    IN_USE,
    GROUPS_LEFT,   /* that the idle rest can form without it */
    WITHOUT_GOOD,  /* it has no good pair with another idle candidate */
    LINKS_LEFT,    /* what the idle rest is worth without its pairs */
    NODE_LINKS,    /* the same over all devices of the node */
    NOTHING_KNOWN, /* neither a link nor a NUMA node: no future group can want it */
    PREFERENCE,
    ORDER,
    VALUE_COUNT,
};

struct single {
    const struct gputopo_field *field;
    const struct topology_question *question;
    const struct topology_rule *rule;
    struct gputopo_work *work;
    struct gputopo_groups groups;
};

static uint64_t node_links(const struct single *single, unsigned position)
{
    const struct peer_graph *graph = single->question->graph;
    uint64_t sum = 0;

    for (unsigned other = 0; other < graph->n; other++)
        sum += gputopo_worth(graph, single->rule->source, position, other);
    return sum;
}

/* All kinds of groups in one number, the most important on top. */
static uint64_t count_groups(const struct single *single, device_mask rest)
{
    uint64_t counts = 0;

    for (unsigned kind = 0; kind < GPUTOPO_GROUP_KINDS; kind++)
        counts =
            counts << 8 | gputopo_groups_count(&single->groups, kind, rest, &single->work->ties);
    return counts;
}

static void weigh_damage(const struct single *single, unsigned device, uint64_t *values)
{
    const struct gputopo_field *field = single->field;
    device_mask rest = field->idle & ~mask_of(device);
    unsigned position = field->position[device];
    uint64_t links = 0, all_links = node_links(single, position);

    for (device_mask left = rest; left != 0; left &= left - 1)
        links += field->worth[device][mask_first(left)];
    values[GROUPS_LEFT] = count_groups(single, rest);
    values[WITHOUT_GOOD] = single->groups.graphs[TIER_NUMA].near[device] == 0;
    values[LINKS_LEFT] = UINT64_MAX - links;
    values[NODE_LINKS] = UINT64_MAX - all_links;
    values[NOTHING_KNOWN] = all_links == 0 && single->question->graph->numa[position] < 0;
}

static void weigh(const struct single *single, unsigned device, uint64_t values[VALUE_COUNT])
{
    uint64_t preference = single->field->preference[device];

    memset(values, 0, VALUE_COUNT * sizeof(*values));
    values[FIRST_PREFERENCE] = single->question->preference_first ? preference : 0;
    values[PREFERENCE] = preference;
    values[ORDER] = UINT64_MAX - single->field->position[device];
    if (!single->rule->least_damage)
        return;
    values[IN_USE] = !mask_has(single->field->idle, device);
    if (!values[IN_USE])
        weigh_damage(single, device, values);
}

static bool is_better(const uint64_t a[VALUE_COUNT], const uint64_t b[VALUE_COUNT])
{
    unsigned i = 0;

    while (i + 1 < VALUE_COUNT && a[i] == b[i])
        i++;
    return a[i] > b[i];
}

device_mask gputopo_single(const struct gputopo_field *field,
                           const struct topology_question *question,
                           const struct topology_rule *rule, struct gputopo_work *work)
{
    struct single single = {.field = field, .question = question, .rule = rule, .work = work};
    uint64_t best[VALUE_COUNT], values[VALUE_COUNT];
    unsigned chosen = field->n;

    if (field->required != 0)
        return field->required;
    if (rule->least_damage)
        gputopo_groups_init(&single.groups, field, &work->ties);
    for (unsigned device = 0; device < field->n; device++) {
        if (!mask_has(field->within, device))
            continue;
        weigh(&single, device, values);
        if (chosen < field->n && !is_better(values, best))
            continue;
        chosen = device;
        memcpy(best, values, sizeof(best));
    }
    return mask_of(chosen);
}
