/* SPDX-License-Identifier: Apache-2.0 */
/* rank_facts - what ranking looks at on a node besides its devices. */
#include "topofit/rank_facts.h"

#define HOUR_S 3600

bool rank_facts_equal(const struct rank_facts *a, const struct rank_facts *b)
{
    return host_equal(a->host_used, b->host_used) && a->settled_0_7 == b->settled_0_7;
}

unsigned settled_0_7(uint64_t since_s, uint64_t now_s)
{
    uint64_t hours = since_s > 0 && now_s > since_s ? (now_s - since_s) / HOUR_S : 0;
    unsigned settled = 0;

    while (settled < SETTLED_MAX && hours + 1 >= UINT64_C(2) << settled)
        settled++;
    return settled;
}
