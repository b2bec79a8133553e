/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain - what would happen to a pod now, on every node, without doing it.
 */
#ifndef TOPOFIT_EXPLAIN_H
#define TOPOFIT_EXPLAIN_H

#include <stddef.h>

#include "topofit/buf.h"
#include "topofit/extender.h"
#include "topofit/kube_object.h"
#include "topofit/views.h"

/*
 * Explain one pod: nodes that could take it, best first, with the devices it would get; then the
 * others with the reason.
 *
 * out     a JSON document or a table.
 * return  how many nodes could take it.
 */
size_t explain_pod(struct extender *extender, const struct kube_pod *pod, struct moment now,
                   enum view_format format, struct buf *out);

#endif
