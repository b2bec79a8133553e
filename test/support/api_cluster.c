/* SPDX-License-Identifier: Apache-2.0 */
/* api_cluster - what tests do to the cluster of the API model, past its requests. */
#include "support/api_model_inside.h"

#include "topofit/mem.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_STANDARD 10
#define TEXT_MAX_BYTES (1u << 20)

/* --- nodes ----------------------------------------------------------------------------------- */

static char *inventory_text(const struct api_node_spec *spec)
{
    struct buf out = buf_with_max(TEXT_MAX_BYTES);

    buf_add_text(&out, "{\"devices\":[");
    for (unsigned i = 0; i < spec->devices; i++)
        buf_addf(&out,
                 "%s{\"id\":\"GPU-%s-%u\",\"index\":%u,\"class\":\"nvidia\",\"memoryMiB\":%" PRIu64
                 ",\"slots\":%u}",
                 i > 0 ? "," : "", spec->name, i, i, spec->memory_mib,
                 spec->slots > 0 ? spec->slots : SLOTS_STANDARD);
    buf_add_text(&out, "]}");
    return buf_steal(&out);
}

const struct api_object *api_model_put_node(struct api_model *model,
                                            const struct api_node_spec *spec)
{
    const struct api_object *old = api_model_find(model, API_NODE, "", spec->name);
    struct api_object *node =
        old != NULL ? api_object_copy(old) : api_object_new(API_NODE, "", spec->name);
    AUTO_FREE char *inventory = inventory_text(spec);
    unsigned count = spec->devices * (spec->slots > 0 ? spec->slots : SLOTS_STANDARD);

    free(node->labels);
    node->labels = xasprintf("{\"kubernetes.io/hostname\":\"%s\"}", spec->name);
    free(node->rest);
    node->rest = xasprintf(",\"spec\":{},\"status\":{\"allocatable\":{\"cpu\":\"96\",\"memory\":"
                           "\"512Gi\",\"nvidia.com/gpu\":\"%u\",\"pods\":\"110\"},\"conditions\":"
                           "[{\"type\":\"Ready\",\"status\":\"True\"}]}",
                           count);
    api_object_annotate(node, "topofit.io/inventory", spec->devices > 0 ? inventory : NULL);
    api_object_annotate(node, "topofit.io/topology", spec->topology);
    api_object_annotate(node, "topofit.io/device-plugin", spec->plugin);
    return old != NULL ? api_store_update(model, node) : api_store_add(model, node);
}

bool api_model_remove_node(struct api_model *model, const char *name)
{
    const struct api_object *node = api_model_find(model, API_NODE, "", name);

    if (node == NULL)
        return false;
    api_store_remove(model, node);
    return true;
}

/* --- making pods ----------------------------------------------------------------------------- */

static char *amounts_text(const struct api_pod_spec *spec)
{
    struct buf out = buf_with_max(TEXT_MAX_BYTES);

    buf_add_text(&out, "{\"cpu\":\"1\"");
    if (spec->devices > 0)
        buf_addf(&out, ",\"nvidia.com/gpu\":\"%u\"", spec->devices);
    if (spec->devices > 0 && spec->cores > 0)
        buf_addf(&out, ",\"nvidia.com/gpucores\":\"%u\"", spec->cores);
    if (spec->devices > 0 && spec->memory_mib > 0)
        buf_addf(&out, ",\"nvidia.com/gpumem\":\"%" PRIu64 "\"", spec->memory_mib);
    buf_add_byte(&out, '}');
    return buf_steal(&out);
}

static struct api_object *make_pod(const struct api_pod_spec *spec, const char *namespace)
{
    struct api_object *pod = api_object_new(API_POD, namespace, spec->name);
    AUTO_FREE char *amounts = amounts_text(spec);

    free(pod->spec);
    pod->spec = xasprintf(",\"containers\":[{\"name\":\"main\",\"image\":\"x\",\"resources\":{"
                          "\"limits\":%s,\"requests\":%s}}],\"restartPolicy\":\"Always\","
                          "\"terminationGracePeriodSeconds\":30,\"priority\":0",
                          amounts, amounts);
    api_object_set(&pod->scheduler_name, spec->scheduler != NULL ? spec->scheduler : API_SCHEDULER);
    api_object_set(&pod->phase, "Pending");
    api_object_set(&pod->status, ",\"qosClass\":\"Burstable\"");
    if (spec->node != NULL)
        api_object_set(&pod->node_name, spec->node);
    if (spec->gated)
        api_object_set(&pod->gates, "[{\"name\":\"example.com/wait\"}]");
    if (spec->annotation_key != NULL)
        api_object_annotate(pod, spec->annotation_key, spec->annotation_value);
    return pod;
}

const struct api_object *api_model_create_pod(struct api_model *model,
                                              const struct api_pod_spec *spec)
{
    const char *namespace = spec->namespace != NULL ? spec->namespace : "default";

    if (api_model_find(model, API_POD, namespace, spec->name) != NULL)
        return NULL;
    return api_store_add(model, make_pod(spec, namespace));
}

static const char *text_of(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));

    return text != NULL ? text : "";
}

const struct api_object *api_model_create(struct api_model *model, enum api_kind kind,
                                          const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    const json_t *meta = json_object_get(json, "metadata");
    const char *namespace = text_of(meta, "namespace");
    const struct api_object *stored = NULL;
    struct api_object *object;

    assert(json != NULL && text_of(meta, "name")[0] != '\0');
    if (!api_resources[kind].has_namespace)
    namespace = "";
    else if (namespace[0] == '\0') namespace = "default";
    if (api_model_find(model, kind, namespace, text_of(meta, "name")) == NULL) {
        object = api_object_new(kind, namespace, text_of(meta, "name"));
        api_object_take_json(object, json);
        stored = api_store_add(model, object);
    }
    json_decref(json);
    return stored;
}

/* --- what happens to them -------------------------------------------------------------------- */

bool api_model_remove_pod(struct api_model *model, const char *namespace, const char *name)
{
    const struct api_object *pod = api_model_find(model, API_POD, namespace, name);

    if (pod == NULL)
        return false;
    api_store_remove(model, pod);
    return true;
}

bool api_model_delete_pod(struct api_model *model, const char *namespace, const char *name,
                          unsigned grace_s)
{
    const struct api_object *pod = api_model_find(model, API_POD, namespace, name);
    struct api_object *next;

    if (pod == NULL || pod->node_name[0] == '\0' || grace_s == 0)
        return api_model_remove_pod(model, namespace, name);
    if (pod->deleting)
        return true;
    next = api_object_copy(pod);
    next->deleting = true;
    next->grace_s = grace_s;
    api_time_text(model, next->deleted);
    api_store_update(model, next);
    return true;
}

bool api_model_set_phase(struct api_model *model, const char *namespace, const char *name,
                         const char *phase)
{
    const struct api_object *pod = api_model_find(model, API_POD, namespace, name);
    struct api_object *next;

    if (pod == NULL)
        return false;
    next = api_object_copy(pod);
    api_object_set(&next->phase, phase);
    api_store_update(model, next);
    return true;
}

bool api_model_ungate_pod(struct api_model *model, const char *namespace, const char *name)
{
    const struct api_object *pod = api_model_find(model, API_POD, namespace, name);
    struct api_object *next;

    if (pod == NULL)
        return false;
    next = api_object_copy(pod);
    api_object_set(&next->gates, NULL);
    api_store_update(model, next);
    return true;
}

bool api_model_bind_elsewhere(struct api_model *model, const char *namespace, const char *name,
                              const char *node)
{
    const struct api_object *pod = api_model_find(model, API_POD, namespace, name);
    struct api_object *next;

    if (pod == NULL || pod->node_name[0] != '\0' || pod->deleting || pod->gates != NULL)
        return false;
    next = api_object_copy(pod);
    api_object_set(&next->node_name, node);
    api_store_update(model, next);
    return true;
}

static void drop_written(struct api_object *pod)
{
    for (size_t i = pod->annotation_count; i > 0; i--) {
        AUTO_FREE char *key = xstrdup(pod->annotations[i - 1].key);

        if (strcmp(key, "topofit.io/allocation") == 0 ||
            strncmp(key, "hami.io/bind-", strlen("hami.io/bind-")) == 0 ||
            strncmp(key, "devices.topofit.io/", strlen("devices.topofit.io/")) == 0)
            api_object_annotate(pod, key, NULL);
    }
}

const struct api_object *api_model_recreate_pod(struct api_model *model, const char *namespace,
                                                const char *name)
{
    const struct api_object *pod = api_model_find(model, API_POD, namespace, name);
    struct api_object *next;

    if (pod == NULL)
        return NULL;
    next = api_object_copy(pod);
    drop_written(next);
    next->deleting = false;
    api_object_set(&next->node_name, "");
    api_object_set(&next->phase, "Pending");
    api_object_set(&next->conditions, NULL);
    api_store_remove(model, pod);
    return api_store_add(model, next);
}

bool api_model_annotate(struct api_model *model, enum api_kind kind, const char *namespace,
                        const char *name, const char *key, const char *value)
{
    const struct api_object *object = api_model_find(model, kind, namespace, name);
    struct api_object *next;

    if (object == NULL)
        return false;
    next = api_object_copy(object);
    api_object_annotate(next, key, value);
    api_store_update(model, next);
    return true;
}
