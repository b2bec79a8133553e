/* SPDX-License-Identifier: Apache-2.0 */
/* set_rule - in which sets devices of a kind are given out, and who may share one. */
#include "topofit/set_rule.h"

#include "topofit/device_class.h"
#include "topofit/mem.h"
#include "topofit/node.h"
#include "topofit/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- which rule ------------------------------------------------------------------------------ */

static bool contains_nocase(const char *text, const char *part)
{
    size_t length = strlen(part);

    for (; strlen(text) >= length; text++) {
        if (strncasecmp(text, part, length) == 0)
            return true;
    }
    return false;
}

static bool label_meets(const struct set_rule *rule, const struct node *node)
{
    const char *value = node_label(node, rule->label);

    return value != NULL && (rule->contains == NULL || contains_nocase(value, rule->contains));
}

static bool product_meets(const struct set_rule *rule, const struct device_class *class,
                          const struct node *node)
{
    for (unsigned i = 0; i < node->device_count; i++) {
        if (node->devices[i].class == class)
            return text_has_words(node->devices[i].product->chars, rule->product);
    }
    return false;
}

const struct set_rule *set_rule_for(const struct device_class *class, const struct node *node)
{
    static const struct set_rule any_set;

    for (size_t i = 0; class != NULL && i < class->sets.count; i++) {
        const struct set_rule *rule = &class->sets.items[i];

        if ((rule->label == NULL || label_meets(rule, node)) &&
            (rule->product == NULL || product_meets(rule, class, node)))
            return rule;
    }
    return &any_set;
}

/* --- faults ---------------------------------------------------------------------------------- */

static bool has_number(const struct class_numbers *numbers, uint64_t number)
{
    for (size_t i = 0; i < numbers->count; i++) {
        if (numbers->items[i] == number)
            return true;
    }
    return false;
}

/* Is a crossing a set, of a count that may be asked for? */
static bool crossings_are_right(const struct set_rule *rule)
{
    for (size_t i = 0; i < rule->crossings.count; i++) {
        const struct class_numbers *devices = &rule->crossings.items[i].devices;

        if (devices->count < 2 || devices->count > DEVICE_MAX ||
            (rule->counts.count > 0 && !has_number(&rule->counts, devices->count)))
            return false;
        for (size_t k = 1; k < devices->count; k++) {
            if (devices->items[k] <= devices->items[k - 1])
                return false;
        }
    }
    return true;
}

const char *set_rule_problem(const struct set_rule *rule)
{
    bool has_width = rule->kind == SET_WINGS || rule->kind == SET_MODULES;

    if (rule->contains != NULL && rule->label == NULL)
        return "\"contains\" needs a \"label\"";
    if (has_width != (rule->width > 0))
        return "wings and modules have a width, and nothing else has one";
    if (rule->kind != SET_RUNS && (rule->is_aligned || rule->wraps))
        return "only runs are aligned or wrap around";
    if (rule->is_aligned && rule->wraps)
        return "an aligned run cannot wrap around";
    if (rule->kind != SET_WINGS && rule->crossings.count > 0)
        return "only wings have crossings";
    if (!crossings_are_right(rule))
        return "a crossing lists indices, ascending, as many as may be asked for";
    if (rule->kind != SET_ZONES && (rule->whole_only || rule->zone_order != ZONES_SMALLEST))
        return "only zones have an order, or are for whole devices only";
    return NULL;
}
