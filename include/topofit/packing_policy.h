/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packing_policy - what matters between nodes that meet a pod's demands alike.
 *
 * source  docs/concepts/scoring.md
 */
#ifndef TOPOFIT_PACKING_POLICY_H
#define TOPOFIT_PACKING_POLICY_H

#include <stdbool.h>

enum packing_policy {
    PACKING_PACK = 0,       /* leave as much as can be for the pods that this cluster runs */
    PACKING_SPREAD,         /* use what is idle first */
    PACKING_TOPOLOGY_FIRST, /* as pack, and before it: leave groups of linked devices whole */
};
#define PACKING_POLICY_COUNT 3

/* Their names, for tables: X(name, policy). */
#define PACKING_POLICIES(X) \
    X("pack", PACKING_PACK) X("spread", PACKING_SPREAD) X("topology-first", PACKING_TOPOLOGY_FIRST)

/* All names, for asking which are allowed; NULL behind the last. */
const char *const *packing_policy_names(void);

/* "pack", "spread", "topology-first". Static storage. */
const char *packing_policy_name(enum packing_policy policy);

/* The policy of a name, case aside. return false when there is none. */
bool packing_policy_find(const char *name, enum packing_policy *out);

#endif
