/* SPDX-License-Identifier: Apache-2.0 */
#include "support/decide_plainly.h"

enum reason decide_plainly(const struct node *node, const struct node_use *use,
                           const struct request *request, struct plan *plan)
{
    struct decide_policy policy = decide_policy_default();
    struct verdict verdict;

    decide_node(node, use, request, &policy, NULL, plan, &verdict);
    return verdict.reason;
}
