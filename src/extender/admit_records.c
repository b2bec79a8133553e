/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admit_records - a pod that is being created was given nothing yet, whatever it says.
 *
 * Annotations that tell what a pod has come with copied manifests, and with forged ones: they would
 * be believed by us and by node plugins once the pod is bound.
 */
#include "admit_inside.h"

#include "topofit/buf.h"
#include "topofit/dialect.h"
#include "topofit/mem.h"

#define NAMED_BYTES_MAX 120 /* of the keys in the warning */

static json_t *find_records(const struct admission *admission, const json_t *annotations)
{
    json_t *found = json_array();
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)annotations, key, value)
    {
        if (dialect_is_record_key(admission->classes, key))
            json_array_append_new(found, json_string(key));
    }
    return found;
}

static void warn(struct admission *admission, enum admit_rule rule, const json_t *keys)
{
    AUTO(buf_clear) struct buf named = buf_with_max(NAMED_BYTES_MAX);

    for (size_t i = 0; i < json_array_size(keys); i++)
        buf_addf(&named, "%s%s", i > 0 ? ", " : "", json_string_value(json_array_get(keys, i)));
    admit_warn(admission, rule, "removed annotations of devices that no scheduler has given: %s%s",
               buf_text(&named), named.overflowed ? " and others" : "");
}

enum admit_step admit_records(struct admission *admission, enum admit_rule rule)
{
    json_t *annotations =
        json_object_get(json_object_get(admission->pod, "metadata"), "annotations");
    json_auto_t *keys = find_records(admission, annotations);

    for (size_t i = 0; i < json_array_size(keys); i++)
        json_object_del(annotations, json_string_value(json_array_get(keys, i)));
    if (json_array_size(keys) > 0)
        warn(admission, rule, keys);
    return ADMIT_GO_ON;
}
