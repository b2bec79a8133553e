/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quota_admission - may a pod that is being created be placed within its namespace's quota at all?
 *
 * The same arithmetic as at filter and bind: exact as far as the pod asks for MiB; percentages and
 * whole devices count as on the smallest device of the class that any node has, so a pod is never
 * refused that would fit somewhere. Two pods created at the same time may both pass: the second one
 * then waits. Any thread.
 */
#ifndef TOPOFIT_QUOTA_ADMISSION_H
#define TOPOFIT_QUOTA_ADMISSION_H

#include <stddef.h>

#include "topofit/cluster.h"

/*
 * namespace  of the pod; in an AdmissionReview that of the request, which the pod need not state.
 * request    without a problem; without asks it is admitted.
 * text       size bytes; receives why not, and what to do. Untouched when it is admitted.
 * return     QUOTA_KEPT or QUOTA_DEPENDS: admit. QUOTA_EXCEEDED: others of the namespace would have
 *            to go. QUOTA_TOO_BIG: the pod alone is more than the limit, so it can never be placed.
 */
enum quota_answer quota_admission(struct cluster *cluster, const char *namespace,
                                  const struct request *request, char *text, size_t size);

#endif
