/* SPDX-License-Identifier: Apache-2.0 */
/*
 * annotation_budget - how many bytes of annotations a pod may have, and who may write how many.
 *
 * The API server takes 256 KiB of annotations of one object, keys and values. It does not count
 * when it binds, but whenever the pod is written later: one beyond that would never get a status.
 * So all who write to a pod have a share, and what would not fit is refused before anything is
 * booked, locked or sent. No state.
 * source: k8s.io/apimachinery pkg/api/validation, TotalAnnotationSizeLimitB
 */
#ifndef TOPOFIT_ANNOTATION_BUDGET_H
#define TOPOFIT_ANNOTATION_BUDGET_H

#include <stddef.h>

#include "topofit/error.h"
#include "topofit/kube_object.h"

#define ANNOTATIONS_BYTES_MAX ((size_t)256 * 1024)
#define ANNOTATIONS_OWN_BYTES_MAX ((size_t)64 * 1024) /* of the pod, before it is placed */
#define ANNOTATIONS_LOCK_BYTES_MAX ((size_t)256)      /* what goes with a node lock */

/* What all dialects together write of a placement. */
#define ANNOTATIONS_RECORD_BYTES_MAX \
    (ANNOTATIONS_BYTES_MAX - ANNOTATIONS_OWN_BYTES_MAX - ANNOTATIONS_LOCK_BYTES_MAX)

/*
 * Lines of a record, a line a container and device: more than that do not fit in any spelling, so
 * such a pod is refused by what it asks for.
 */
#define RECORD_LINES_MAX 448

/* Bytes of keys and values, as the API server counts. */
size_t annotations_bytes(const struct kube_pairs *annotations);

/*
 * Does what a pod has leave room for its record? Does a record fit?
 *
 * errors  ERR_LIMIT, with both sizes.
 */
int annotations_check_own(const struct kube_pairs *annotations, struct error *err);
int annotations_check_record(const struct kube_pairs *annotations, struct error *err);

#endif
