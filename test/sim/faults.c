/* SPDX-License-Identifier: Apache-2.0 */
/* faults - what goes wrong, and how often. */
#include "faults.h"

#include "topofit/mem.h"

#include <string.h>

static const struct {
    unsigned most;
    const char *what;
} kinds[FAULT_KINDS] = {
#define X(name, most, what) {most, what},
    FAULTS(X)
#undef X
};

/* Now and then one of the network's faults is the rule and not the exception. */
static unsigned draw(size_t kind, struct jitter *chance)
{
    unsigned most = kinds[kind].most;

    if (kind <= FAULT_CUT_ANSWER && chance_hits(chance, 1000))
        most *= 20;
    return (unsigned)chance_between(chance, 1, most);
}

/*
 * Many faults at once hide each other: one round in five is fierce, and two have little but changes
 * of the lead.
 */
void faults_draw(struct faults *faults, struct jitter *chance)
{
    static const unsigned shares[] = {1500, 5000, 9000, 300, 300};
    unsigned share = shares[chance_pick(chance, ARRAY_LEN(shares))];

    for (size_t i = 0; i < FAULT_KINDS; i++)
        faults->parts[i] = chance_hits(chance, share) ? draw(i, chance) : 0;
    if (share == shares[3])
        faults->parts[FAULT_TURNOVER] = draw(FAULT_TURNOVER, chance);
}

void faults_stop(struct faults *faults)
{
    memset(faults->parts, 0, sizeof faults->parts);
}

const char *fault_text(enum fault fault)
{
    return kinds[fault].what;
}
