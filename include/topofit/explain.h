/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain - what would happen to a pod now, on every node, without doing it.
 *
 * From any thread: it works on a snapshot of its own.
 */
#ifndef TOPOFIT_EXPLAIN_H
#define TOPOFIT_EXPLAIN_H

#include <stddef.h>

#include "topofit/buf.h"
#include "topofit/extender.h"
#include "topofit/kube_object.h"
#include "topofit/views.h"

/* What the table has for each node. A document has both. */
enum explain_columns {
    EXPLAIN_ANSWERS = 0, /* the worst link, and why not */
    EXPLAIN_CRITERIA,    /* what it is worth by each criterion of the pod's packing policy */
};

/*
 * Explain one pod: nodes that could take it, best first, with the devices it would get; then the
 * others with the reason. What looks misspelt on the pod is remarked upon.
 *
 * extender  borrowed for the call, as the pod.
 * out       a JSON document or a table is appended.
 * return    how many nodes could take it; none when it asks for no device and a resource is
 * misspelt.
 */
size_t explain_pod(struct extender *extender, const struct kube_pod *pod, struct moment now,
                   enum view_format format, enum explain_columns columns, struct buf *out);

#endif
