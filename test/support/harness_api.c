/* SPDX-License-Identifier: Apache-2.0 */
/* harness_api - the made-up API server of the harness: its nodes and pods, and what it shows. */
#include "support/harness.h"

#include "topofit/dialect.h"
#include "topofit/kube_json.h"

#include <ctype.h>
#include <stdlib.h>

#define WORD_MAX 256

/* --- showing --------------------------------------------------------------------------------- */

static void read_object(const json_t *json, enum kube_kind kind, struct kube_object *out)
{
    AUTO_FREE char *text = json_dumps(json, JSON_COMPACT);
    struct error err = {0};

    assert_non_null(text);
    kube_object_init(out, kind);
    assert_ok(kube_json_read_object(kind, text, strlen(text), out, &err), &err);
}

static struct node *read_node(const struct harness *harness, const json_t *json)
{
    AUTO(kube_object_clear) struct kube_object object;

    read_object(json, KUBE_NODE, &object);
    return dialect_node(&object.node, &harness->classes);
}

static struct pod *read_pod(const struct harness *harness, const json_t *json)
{
    AUTO(kube_object_clear) struct kube_object object;

    read_object(json, KUBE_POD, &object);
    return dialect_pod(&object.pod, &harness->classes);
}

void watch_node(struct harness *harness, const char *name)
{
    cluster_put_node(harness->cluster, read_node(harness, api_node_json(harness, name)));
}

void watch_pod(struct harness *harness, const char *pod)
{
    cluster_put_pod(harness->cluster, read_pod(harness, api_pod_json(harness, pod)));
}

static const char *meta(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(json_object_get(object, "metadata"), key));
}

void watch_gone(struct harness *harness, const json_t *pod)
{
    cluster_remove_pod(harness->cluster, meta(pod, "namespace"), meta(pod, "name"),
                       meta(pod, "uid"));
}

void relist_nodes(struct harness *harness)
{
    struct node **nodes = xcalloc(json_object_size(harness->nodes), sizeof *nodes);
    const char *name;
    json_t *json;
    size_t count = 0;

    json_object_foreach(harness->nodes, name, json) nodes[count++] = read_node(harness, json);
    cluster_replace_nodes(harness->cluster, nodes, count);
    free(nodes);
}

void relist_pods(struct harness *harness)
{
    struct pod **pods = xcalloc(json_object_size(harness->pods), sizeof *pods);
    const char *name;
    json_t *json;
    size_t count = 0;

    cluster_announce_pod_list(harness->cluster);
    json_object_foreach(harness->pods, name, json) pods[count++] = read_pod(harness, json);
    cluster_replace_pods(harness->cluster, pods, count);
    free(pods);
}

/* --- nodes ----------------------------------------------------------------------------------- */

static int given_or(int given, int standard)
{
    if (given == 0)
        return standard;
    return given < 0 ? 0 : given;
}

/* Is a number among the words of "0 3"? */
static bool lists_number(const char *words, unsigned number)
{
    char *end;

    while (words != NULL && *words != '\0') {
        if (strtoul(words, &end, 10) == number && end != words)
            return true;
        words = end + strspn(end, " ");
    }
    return false;
}

static json_t *device_json(const struct node_spec *spec, unsigned i)
{
    AUTO_FREE char *id = xasprintf("GPU-%s-%u", spec->name, i);
    uint64_t mib = spec->memory_each != NULL ? spec->memory_each[i] : spec->memory_mib;
    json_t *device =
        json_pack("{s:s,s:i,s:s,s:I,s:i,s:i,s:b}", "id", id, "index", (int)i, "class",
                  spec->class != NULL ? spec->class : "nvidia", "memoryMiB", (json_int_t)mib,
                  "slots", given_or(spec->slots, 10), "cores", given_or(spec->cores, 100),
                  "healthy", !lists_number(spec->unhealthy, i));

    if (spec->product != NULL)
        json_object_set_new(device, "product", json_string(spec->product));
    if (spec->numa != NULL)
        json_object_set_new(device, "numa", json_integer(spec->numa[i]));
    return device;
}

static char *inventory_text(const struct node_spec *spec)
{
    json_t *devices = json_array();
    json_t *root = json_pack("{s:o}", "devices", devices);
    char *text;

    for (unsigned i = 0; i < spec->count; i++)
        json_array_append_new(devices, device_json(spec, i));
    text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    return text;
}

/* "0-2 1-3" */
static bool lists_pair(const char *pairs, unsigned a, unsigned b)
{
    AUTO_FREE char *all = xasprintf(" %s ", pairs);
    AUTO_FREE char *pair = xasprintf(" %u-%u ", a, b);

    return strstr(all, pair) != NULL;
}

static char *links_text(const struct node_spec *spec)
{
    json_t *links = json_array();
    json_t *root = json_pack("{s:o}", "links", links);
    char *text;

    for (unsigned a = 0; a < spec->count; a++) {
        for (unsigned b = a + 1; b < spec->count; b++)
            json_array_append_new(links,
                                  json_pack("{s:i,s:i,s:s}", "a", (int)a, "b", (int)b, "type",
                                            lists_pair(spec->links, a, b) ? "NV12" : "SYS"));
    }
    text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    return text;
}

static json_t *annotations_json(const struct node_spec *spec)
{
    AUTO_FREE char *inventory = inventory_text(spec);
    AUTO_FREE char *links = spec->links != NULL ? links_text(spec) : NULL;
    const char *topology = links != NULL ? links : spec->topology;
    json_t *annotations = json_object();

    if (spec->count > 0)
        json_object_set_new(annotations, "topofit.io/inventory", json_string(inventory));
    if (topology != NULL)
        json_object_set_new(annotations, "topofit.io/topology", json_string(topology));
    if (spec->cordoned != NULL)
        json_object_set_new(annotations, "topofit.io/cordoned-devices",
                            json_string(spec->cordoned));
    if (spec->plugin != NULL)
        json_object_set_new(annotations, "topofit.io/device-plugin", json_string(spec->plugin));
    return annotations;
}

void harness_put_node(struct harness *harness, const struct node_spec *spec)
{
    AUTO_FREE char *uid = xasprintf("uid-%s", spec->name);
    json_t *node =
        json_pack("{s:{s:s,s:s,s:{s:s},s:o},s:{},s:{s:{s:s}}}", "metadata", "name", spec->name,
                  "uid", uid, "labels", "kubernetes.io/hostname", spec->name, "annotations",
                  annotations_json(spec), "spec", "status", "allocatable", "cpu", "96");

    assert_non_null(node);
    json_object_set_new(harness->nodes, spec->name, node);
    watch_node(harness, spec->name);
}

json_t *api_node_json(const struct harness *harness, const char *name)
{
    json_t *node = json_object_get(harness->nodes, name);

    if (node == NULL)
        fail_msg("the test has no node %s", name);
    return node;
}

void api_delete_node(struct harness *harness, const char *name)
{
    cluster_remove_node(harness->cluster, name);
    json_object_del(harness->nodes, name);
}

/* --- pods ------------------------------------------------------------------------------------ */

/* One of the words that pods are written with, and what it stands for. */
static const struct {
    const char *word, *resource;
} resources[] = {
    {"gpu", "nvidia.com/gpu"},
    {"mem", "nvidia.com/gpumem"},
    {"pct", "nvidia.com/gpumem-percentage"},
    {"cores", "nvidia.com/gpucores"},
    {"cpu", "cpu"},
};

static void add_limit(json_t *limits, const char *word, const char *amount)
{
    if (strchr(word, '/') != NULL) {
        json_object_set_new(limits, word, json_string(amount));
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
        if (strcmp(resources[i].word, word) == 0) {
            json_object_set_new(limits, resources[i].resource, json_string(amount));
            return;
        }
    }
    fail_msg("\"%s\" is no word of pod_spec.wants", word);
}

/* "gpu 2, mem 4000" */
static json_t *limits_json(const char *text)
{
    json_t *limits = json_object();
    char item[WORD_MAX];

    while (text_next_item(&text, item, sizeof item)) {
        char *amount = item + strcspn(item, " ");

        if (strcmp(item, "none") == 0)
            continue;
        if (*amount != '\0')
            *amount++ = '\0';
        add_limit(limits, item, amount + strspn(amount, " "));
    }
    return limits;
}

static bool take_word(char **text, const char *word)
{
    size_t length = strlen(word);

    if (strncmp(*text, word, length) != 0)
        return false;
    *text += length;
    return true;
}

static void add_container(json_t *spec, size_t number, char *text)
{
    AUTO_FREE char *name = xasprintf("c%zu", number);
    json_t *container = json_pack("{s:s,s:s}", "name", name, "image", "busybox");
    const char *list = "containers";
    json_t *limits;

    text += strspn(text, " ");
    if (take_word(&text, "init ")) {
        list = "initContainers";
    } else if (take_word(&text, "sidecar ")) {
        list = "initContainers";
        json_object_set_new(container, "restartPolicy", json_string("Always"));
    }
    limits = limits_json(text);
    json_object_set_new(container, "resources",
                        json_pack("{s:o,s:O}", "limits", limits, "requests", limits));
    json_array_append_new(json_object_get(spec, list), container);
}

static json_t *spec_json(const struct pod_spec *pod)
{
    json_t *spec = json_pack("{s:[],s:[]}", "initContainers", "containers");
    AUTO_FREE char *text = xstrdup(pod->wants);
    char *rest = NULL;
    size_t number = 0;

    for (char *at = strtok_r(text, ";", &rest); at != NULL; at = strtok_r(NULL, ";", &rest))
        add_container(spec, number++, at);
    if (pod->node != NULL)
        json_object_set_new(spec, "nodeName", json_string(pod->node));
    if (pod->priority != 0)
        json_object_set_new(spec, "priority", json_integer(pod->priority));
    return spec;
}

void harness_put_pod(struct harness *harness, const struct pod_spec *spec)
{
    AUTO_FREE char *uid = spec->uid != NULL ? xstrdup(spec->uid) : xasprintf("uid-%s", spec->name);
    json_t *annotations = json_object();
    json_t *pod;

    for (size_t i = 0; i + 1 < ARRAY_LEN(spec->annotations) && spec->annotations[i] != NULL; i += 2)
        json_object_set_new(annotations, spec->annotations[i],
                            json_string(spec->annotations[i + 1]));
    pod = json_pack("{s:{s:s,s:s,s:s,s:o},s:o,s:{s:s}}", "metadata", "name", spec->name,
                    "namespace", "default", "uid", uid, "annotations", annotations, "spec",
                    spec_json(spec), "status", "phase", "Pending");
    assert_non_null(pod);
    if (spec->started != NULL)
        json_object_set_new(json_object_get(pod, "status"), "startTime",
                            json_string(spec->started));
    json_object_set_new(harness->pods, spec->name, pod);
    if (!spec->unseen)
        watch_pod(harness, spec->name);
}

json_t *api_pod_json(const struct harness *harness, const char *name)
{
    json_t *pod = json_object_get(harness->pods, name);

    if (pod == NULL)
        fail_msg("the test has no pod %s", name);
    return pod;
}

void api_set_phase(struct harness *harness, const char *pod, const char *phase)
{
    json_object_set_new(json_object_get(api_pod_json(harness, pod), "status"), "phase",
                        json_string(phase));
    watch_pod(harness, pod);
}

void api_set_deleting(struct harness *harness, const char *pod)
{
    json_t *metadata = json_object_get(api_pod_json(harness, pod), "metadata");

    json_object_set_new(metadata, "deletionTimestamp", json_string("2026-11-30T07:00:00Z"));
    json_object_set_new(metadata, "deletionGracePeriodSeconds", json_integer(600));
    watch_pod(harness, pod);
}

void api_set_nominated(struct harness *harness, const char *pod, const char *node)
{
    json_t *status = json_object_get(api_pod_json(harness, pod), "status");

    json_object_del(status, "nominatedNodeName");
    if (node != NULL)
        json_object_set_new(status, "nominatedNodeName", json_string(node));
    watch_pod(harness, pod);
}

/* A container's status: running, or ended with exit code 0. */
static json_t *status_json(const json_t *container, bool ended)
{
    json_t *state =
        ended ? json_pack("{s:{s:i,s:s}}", "terminated", "exitCode", 0, "reason", "Completed")
              : json_pack("{s:{s:s}}", "running", "startedAt", "2026-11-30T07:00:00Z");

    return json_pack("{s:O,s:o}", "name", json_object_get(container, "name"), "state", state);
}

void api_finish_init(struct harness *harness, const char *pod)
{
    json_t *object = api_pod_json(harness, pod);
    json_t *status = json_object_get(object, "status");
    json_t *inits = json_array(), *apps = json_array();
    const json_t *spec = json_object_get(object, "spec");
    const json_t *container;
    size_t i;

    json_array_foreach(json_object_get(spec, "initContainers"), i, container)
    {
        bool is_sidecar = json_object_get(container, "restartPolicy") != NULL;

        json_array_append_new(inits, status_json(container, !is_sidecar));
    }
    json_array_foreach(json_object_get(spec, "containers"), i, container)
        json_array_append_new(apps, status_json(container, false));
    json_object_set_new(status, "initContainerStatuses", inits);
    json_object_set_new(status, "containerStatuses", apps);
    api_set_phase(harness, pod, "Running");
}

json_t *api_take_pod(struct harness *harness, const char *pod)
{
    json_t *object = json_incref(api_pod_json(harness, pod));

    json_object_del(harness->pods, pod);
    return object;
}

void api_delete_pod(struct harness *harness, const char *pod)
{
    json_t *object = api_take_pod(harness, pod);

    watch_gone(harness, object);
    json_decref(object);
}
