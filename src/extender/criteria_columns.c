/* SPDX-License-Identifier: Apache-2.0 */
/* criteria_columns - what a node is worth by each criterion, as columns for people. */
#include "criteria_columns.h"

#include <stdio.h>

#define GROUP_BITS 3 /* of each kind in a number of gputopo_groups_lost() */
#define GROUP_MASK ((1u << GROUP_BITS) - 1)

/* How a value is written: a plain number, in thousandths or in groups. */
enum form { PLAIN, PERCENT, HUNDREDTHS, PER_MILLE, WHOLE_OF_MILLI, TWO_GROUPS, ALL_GROUPS };

static const struct {
    const char *header;
    enum form form;
} columns[CRITERION_COUNT] = {
    [CRITERION_TIER] = {"TIER", PLAIN},
    [CRITERION_QUALITY] = {"LINKS", PERCENT},
    [CRITERION_LINKED_EIGHTS] = {"EIGHTS", PLAIN},
    [CRITERION_LINKED_FOURS] = {"FOURS,PAIRS", TWO_GROUPS},
    [CRITERION_GROUPS] = {"GROUPS", ALL_GROUPS},
    [CRITERION_SETTLED] = {"SETTLED", PLAIN},
    [CRITERION_WASTE] = {"WASTE", HUNDREDTHS},
    [CRITERION_BROKEN] = {"BROKEN", PLAIN},
    [CRITERION_FULL] = {"LEFT", WHOLE_OF_MILLI},
    [CRITERION_EMPTY] = {"IN USE", PER_MILLE},
};

const char *criterion_header(enum criterion criterion)
{
    return columns[criterion].header;
}

/* Of the kinds in a number the one at a place from its end. */
static unsigned groups_at(unsigned groups, unsigned place)
{
    return groups >> place * GROUP_BITS & GROUP_MASK;
}

void criterion_describe(const struct worth *worth, enum criterion criterion,
                        char text[CRITERION_TEXT_MAX])
{
    const double value = worth_value(worth, criterion);
    const unsigned whole = value > 0 ? (unsigned)value : 0;

    switch (columns[criterion].form) {
    case PLAIN:
        snprintf(text, CRITERION_TEXT_MAX, "%u", whole);
        break;
    case PERCENT:
        snprintf(text, CRITERION_TEXT_MAX, "%u%%", whole);
        break;
    case HUNDREDTHS:
        snprintf(text, CRITERION_TEXT_MAX, "%.2f", value);
        break;
    case PER_MILLE:
        snprintf(text, CRITERION_TEXT_MAX, "%u.%u%%", whole / 10, whole % 10);
        break;
    case WHOLE_OF_MILLI:
        snprintf(text, CRITERION_TEXT_MAX, "%u.%03u", whole / 1000, whole % 1000);
        break;
    case TWO_GROUPS:
        snprintf(text, CRITERION_TEXT_MAX, "%u,%u", groups_at(whole, 1), groups_at(whole, 0));
        break;
    case ALL_GROUPS:
        snprintf(text, CRITERION_TEXT_MAX, "%u/%u,%u/%u,%u/%u", groups_at(whole, 5),
                 groups_at(whole, 4), groups_at(whole, 3), groups_at(whole, 2), groups_at(whole, 1),
                 groups_at(whole, 0));
        break;
    }
}
