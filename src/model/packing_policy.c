/* SPDX-License-Identifier: Apache-2.0 */
/* packing_policy - what matters between nodes that meet a pod's demands alike. */
#include "topofit/packing_policy.h"

#include "topofit/text.h"

static const char *const names[PACKING_POLICY_COUNT + 1] = {
#define X(name, policy) [policy] = name,
    PACKING_POLICIES(X)
#undef X
};

const char *const *packing_policy_names(void)
{
    return names;
}

const char *packing_policy_name(enum packing_policy policy)
{
    return names[policy];
}

bool packing_policy_find(const char *name, enum packing_policy *out)
{
    for (unsigned i = 0; i < PACKING_POLICY_COUNT; i++) {
        if (text_equal_nocase(names[i], name)) {
            *out = (enum packing_policy)i;
            return true;
        }
    }
    return false;
}
