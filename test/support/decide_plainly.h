/* SPDX-License-Identifier: Apache-2.0 */
/* decide_plainly - a plan with the default policy and no memo. */
#ifndef TOPOFIT_TEST_DECIDE_PLAINLY_H
#define TOPOFIT_TEST_DECIDE_PLAINLY_H

#include "topofit/decide.h"

enum reason decide_plainly(const struct node *node, const struct node_use *use,
                           const struct request *request, struct plan *plan);

#endif
