/* SPDX-License-Identifier: Apache-2.0 */
/* annotation_budget - how many bytes of annotations a pod may have, and who may write how many. */
#include "topofit/annotation_budget.h"

#include <string.h>

size_t annotations_bytes(const struct kube_pairs *annotations)
{
    size_t bytes = 0;

    for (size_t i = 0; i < annotations->count; i++)
        bytes += strlen(annotations->items[i].key) + strlen(annotations->items[i].value);
    return bytes;
}

int annotations_check_own(const struct kube_pairs *annotations, struct error *err)
{
    size_t bytes = annotations_bytes(annotations);

    if (bytes <= ANNOTATIONS_OWN_BYTES_MAX)
        return 0;
    return error_set(err, ERR_LIMIT,
                     "the pod's annotations leave no room for the record of its devices: %zu bytes "
                     "of %zu",
                     bytes, ANNOTATIONS_OWN_BYTES_MAX);
}

int annotations_check_record(const struct kube_pairs *annotations, struct error *err)
{
    size_t bytes = annotations_bytes(annotations);

    if (bytes <= ANNOTATIONS_RECORD_BYTES_MAX)
        return 0;
    return error_set(err, ERR_LIMIT,
                     "the record of the pod's devices is too big for its annotations: %zu bytes of "
                     "%zu; ask for fewer devices, or in fewer containers",
                     bytes, ANNOTATIONS_RECORD_BYTES_MAX);
}
